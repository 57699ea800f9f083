import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryOneTime;

/** Curator's locks, line by line: KIND HOW PATH is answered with "held", "busy" or "free". */
public class Curator {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 20_000, 5_000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        Map<String, InterProcessMutex> locks = new HashMap<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            String[] order = line.split(" ");
            InterProcessMutex lock = locks.computeIfAbsent(order[0] + order[2], key -> {
                InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, order[2]);
                switch (order[0]) {
                    case "read": return both.readLock();
                    case "write": return both.writeLock();
                    default: return new InterProcessMutex(client, order[2]);
                }
            });
            String answer = "free";
            if (order[1].equals("release")) {
                lock.release();
            } else {
                answer = lock.acquire(order[1].equals("try") ? 0 : 20_000, TimeUnit.MILLISECONDS) ? "held" : "busy";
            }
            System.out.println(answer);
        }
    }
}
