//! Where tasks and pauses are made.

use super::source::{Package, sources};
use std::collections::BTreeSet;

/// Where tasks and pauses are made outside of the engine, which has its own clock and its own runtime.
const TIMED: &[&str] = &[
    // A client and its guards start work on the engine.
    "api/builder/connecting.rs",
    "api/client.rs",
    "api/guard/release.rs",
    "api/guard/rest.rs",
    "api/signal.rs",
    // The polling loop, and the place where backends put tasks.
    "backend/host.rs",
    "backend/poll.rs",
    "clock/",
    "stores/shared/net/link.rs",
    "stores/shared/net/one_server.rs",
    "stores/shared/net/tcp.rs",
    // A file, which may be on a file system that does not answer, and the addresses of a host.
    "stores/shared/net/blocking.rs",
    // The threads of an application's callback.
    "stores/shared/net/callback.rs",
    // The thread that owns the connection to a database.
    "stores/sqlite/connection.rs",
    "sys/",
    "conformance/",
    // The kernel's queue, and looking again at what is held.
    "stores/file/acquire.rs",
    "stores/file/count_gate.rs",
    "stores/file/semaphore.rs",
    "stores/file/flock/backend.rs",
    "stores/file/kernel_queue.rs",
    "stores/file/recheck.rs",
    // The connection to a cluster, and the stream of its watches.
    "stores/etcd/connection.rs",
    "stores/etcd/connector.rs",
    "stores/etcd/live.rs",
    "stores/etcd/watches.rs",
    // Members of a quorum: how long to wait for them, and looking for those that are silent.
    "stores/quorum/proposer.rs",
    "stores/quorum/seats.rs",
    "stores/quorum/silence.rs",
    "stores/quorum/waiting.rs",
    "api/url/redlock.rs",
    // Questions to whatever listens at a port.
    "stores/shared/net/listening.rs",
    // The connection to a server, and its subscription.
    "stores/redis/connector.rs",
    "stores/redis/live.rs",
    "stores/redis/rights.rs",
    // Asking sentinels, and listening to them.
    "stores/redis/sentinel/",
    // Looking for the master of a name, and following it.
    "stores/redis/cluster/",
    "stores/redis/wake.rs",
    "stores/redis/watched.rs",
    // The connection to an ensemble, and the session that goes on over several of them.
    "stores/zookeeper/connector.rs",
    "stores/zookeeper/link.rs",
    "stores/zookeeper/live.rs",
    "stores/zookeeper/session.rs",
    "stores/mysql/bell.rs",
    "stores/mysql/bells.rs",
    "stores/mysql/connector.rs",
    "stores/mysql/live.rs",
    "stores/mysql/session.rs",
    // The sessions that hold locks, and the tasks that keep them alive.
    "stores/mysql/sessions/",
    "stores/postgres/connector.rs",
    "stores/postgres/listening.rs",
    "stores/postgres/live.rs",
    "stores/postgres/sessions/",
    "stores/shared/sql/sessions/",
    "stores/postgres/wake.rs",
];

#[test]
fn tasks_and_pauses_are_made_in_known_places_only() {
    let calls = ["sleep(", "sleep_until(", "spawn(", "spawn_blocking(", "interval(", "timeout("];
    // These only say how long: `link.timeout()`, and options of a session, a socket and a driver.
    let only_say = [
        ".timeout()",
        ".wait_timeout(",
        ".get_connect_timeout()",
        ".user_timeout()",
        ".set_user_timeout(",
        ".with_interval(",
    ];
    let ours = |line: &str| only_say.iter().fold(line.to_owned(), |line, call| line.replace(call, ""));
    let makes = |code: &str| {
        calls.iter().any(|c| code.lines().any(|line| ours(line).contains(c) && !line.contains("fn ")))
    };
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources(&Package::LIBRARY).into_iter().filter(|s| s.module() != "engine" && makes(&s.code))
    {
        match TIMED.iter().find(|place| source.path.starts_with(**place)) {
            Some(place) => _ = used.insert(*place),
            None => wrong.push(source.path),
        }
    }
    assert!(wrong.is_empty(), "use poll::until, Host::spawn or the engine instead: {wrong:?}");
    let unused: Vec<_> = TIMED.iter().filter(|place| !used.contains(*place)).collect();
    // Without a feature its files are read all the same.
    assert!(unused.is_empty(), "strike these from the list: {unused:?}");
}
