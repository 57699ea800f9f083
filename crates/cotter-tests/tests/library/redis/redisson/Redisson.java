import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's locks, line by line: KIND HOW NAME is answered with "held", "busy", "free" or "lost", or with what was asked for. The
 * argument is the address of a server. A lock of the kind "brief" has a lease of a second, and all others have one of an hour; the
 * watchdog extends both.
 */
public class Redisson {
    private static final Map<Long, RedissonClient> CLIENTS = new HashMap<>();
    private static final Deque<String> PERMITS = new ArrayDeque<>();

    public static void main(String[] args) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = orders.readLine()) != null; ) {
            String[] order = line.split(" ", 3);
            long lease = order[0].equals("brief") ? 1_000L : 3_600_000L;
            RedissonClient client = CLIENTS.computeIfAbsent(lease, ms -> client(args[0], ms));
            System.out.println(order[0].equals("permits")
                ? answer(client.getPermitExpirableSemaphore(order[2]), order[1])
                : answer(lock(client, order[0], order[2]), order[1]));
        }
        CLIENTS.values().forEach(RedissonClient::shutdown);
    }

    private static RedissonClient client(String address, long lease) {
        Config config = new Config().setLockWatchdogTimeout(lease);
        config.useSingleServer().setAddress(address);
        return org.redisson.Redisson.create(config);
    }

    private static RLock lock(RedissonClient client, String kind, String name) {
        return switch (kind) {
            case "fenced" -> client.getFencedLock(name);
            case "fair" -> client.getFairLock(name);
            case "spin" -> client.getSpinLock(name);
            case "write" -> client.getReadWriteLock(name).writeLock();
            case "read" -> client.getReadWriteLock(name).readLock();
            default -> client.getLock(name);
        };
    }

    /** Permits of the kind "brief" end after a second, and others never. The one that was taken last is released first. */
    private static String answer(RPermitExpirableSemaphore semaphore, String how) throws InterruptedException {
        String id = null;
        switch (how) {
            case "set2":
                return semaphore.trySetPermits(2) ? "held" : "busy";
            case "try":
                id = semaphore.tryAcquire();
                break;
            case "wait":
                id = semaphore.acquire();
                break;
            case "brief":
                id = semaphore.tryAcquire(1, 1, TimeUnit.SECONDS);
                break;
            case "count":
                return Integer.toString(semaphore.availablePermits());
            default:
                return semaphore.tryRelease(PERMITS.pop()) ? "free" : "lost";
        }
        if (id != null) {
            PERMITS.push(id);
        }
        return id == null ? "busy" : "held";
    }

    private static String answer(RLock lock, String how) throws InterruptedException {
        switch (how) {
            case "try":
                return lock.tryLock() ? "held" : "busy";
            case "wait":
                return lock.tryLock(1, TimeUnit.HOURS) ? "held" : "busy";
            case "draw":
                return ((RFencedLock) lock).lockAndGetToken().toString();
            case "count":
                return Integer.toString(lock.getHoldCount());
            case "force":
                return lock.forceUnlock() ? "free" : "nothing";
            default:
                try {
                    lock.unlock();
                    return "free";
                } catch (IllegalMonitorStateException e) {
                    return "lost";
                }
        }
    }
}
