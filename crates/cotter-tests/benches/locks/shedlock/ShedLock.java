import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * ShedLock on a database: each line "THREADS MILLIS" is answered with pairs of lock and unlock per second. Each thread has a connection
 * and a name of its own, and keeps both for all rounds, as an application with a pool would.
 */
public class ShedLock {
    public static void main(String[] args) throws Exception {
        List<LockProvider> providers = new ArrayList<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            String[] order = line.split(" ");
            int threads = Integer.parseInt(order[0]);
            while (providers.size() < threads) {
                var connection = new SingleConnectionDataSource(args[0], args[1], args[2], true);
                var configuration = JdbcTemplateLockProvider.Configuration.builder();
                configuration.withJdbcTemplate(new JdbcTemplate(connection)).usingDbTime();
                providers.add(new JdbcTemplateLockProvider(configuration.build()));
            }
            AtomicLong done = new AtomicLong();
            long start = System.nanoTime(), end = start + Long.parseLong(order[1]) * 1_000_000;
            List<Thread> running = new ArrayList<>();
            for (int n = 0; n < threads; n++) {
                LockProvider provider = providers.get(n);
                String name = "shedlock " + n;
                Thread thread = new Thread(() -> {
                    while (System.nanoTime() < end) {
                        var lock = new LockConfiguration(Instant.now(), name, Duration.ofSeconds(30), Duration.ZERO);
                        provider.lock(lock).orElseThrow().unlock();
                        done.incrementAndGet();
                    }
                });
                thread.start();
                running.add(thread);
            }
            for (Thread thread : running) {
                thread.join();
            }
            System.out.println(done.get() * 1e9 / (System.nanoTime() - start));
        }
    }
}
