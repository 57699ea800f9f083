import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

/**
 * Curator's mutex: each line "KIND THREADS MILLIS" is answered with acquisitions per second. With KIND "pairs" all threads
 * share a session and each has a name of its own, with "contended" each has a session of its own and all want one name.
 */
public class Curator {
    public static void main(String[] args) throws Exception {
        List<CuratorFramework> clients = new ArrayList<>();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            String[] order = line.split(" ");
            boolean isContended = order[0].equals("contended");
            int threads = Integer.parseInt(order[1]);
            while (clients.size() < (isContended ? threads : 1)) {
                CuratorFramework client =
                    CuratorFrameworkFactory.newClient(args[0], 20_000, 5_000, new RetryOneTime(100));
                client.start();
                client.blockUntilConnected();
                clients.add(client);
            }
            AtomicLong done = new AtomicLong();
            long start = System.nanoTime(), end = start + Long.parseLong(order[2]) * 1_000_000;
            List<Thread> running = new ArrayList<>();
            for (int n = 0; n < threads; n++) {
                InterProcessMutex lock = new InterProcessMutex(
                    clients.get(isContended ? n : 0), isContended ? "/contended" : "/curator-" + n);
                Thread thread = new Thread(() -> {
                    try {
                        while (System.nanoTime() < end) {
                            lock.acquire();
                            lock.release();
                            done.incrementAndGet();
                        }
                    } catch (Exception e) {
                        throw new RuntimeException(e);
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
