// A program that locks with ShedLock on any database, told by its input what to do: `lock NAME MOST LEAST`, `extend NAME MOST`, `unlock NAME`, times
// in milliseconds. It answers each line with `yes` or `no`. The clock is that of the database, or its own.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

public class ShedLockPeer {
    public static void main(String[] args) throws Exception {
        var database = new JdbcTemplate(new DriverManagerDataSource(args[0], args[1], args[2]));
        var builder = JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(database);
        boolean own = args[3].equals("own");
        var provider = new JdbcTemplateLockProvider((own ? builder.forceUtcTimeZone() : builder.usingDbTime()).build());
        Map<String, SimpleLock> held = new HashMap<>();
        var input = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = input.readLine()) != null;) {
            String[] words = line.split(" ");
            String name = words[1];
            boolean done = switch (words[0]) {
                case "lock" -> {
                    var lock = provider.lock(new LockConfiguration(Instant.now(), name, ms(words[2]), ms(words[3])));
                    lock.ifPresent(l -> held.put(name, l));
                    yield lock.isPresent();
                }
                case "extend" -> {
                    Optional<SimpleLock> extended = held.remove(name).extend(ms(words[2]), Duration.ZERO);
                    extended.ifPresent(l -> held.put(name, l));
                    yield extended.isPresent();
                }
                default -> {
                    held.remove(name).unlock();
                    yield true;
                }
            };
            System.out.println(done ? "yes" : "no");
        }
    }

    private static Duration ms(String number) {
        return Duration.ofMillis(Long.parseLong(number));
    }
}
