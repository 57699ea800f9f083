//! Many failovers, and a counter that is read and written in two steps by whoever holds the lock.

use super::Watched;
use crate::counting::Counting;
use cotter_testkit::timing::eventually;
use std::time::Duration;

const TIMES: usize = 20;
const CLIENTS: usize = 6;
const TTL: Duration = Duration::from_secs(2);
/// What one failover may take: the sentinels wait for twice their `failover-timeout` between two, and a lease may have to end.
const BACK: Duration = Duration::from_secs(12);

/// With a replica that has each grant, no write is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_counter_is_exact_over_many_failovers() {
    let (mut watched, folder) = (Watched::start(), tempfile::tempdir().unwrap());
    let mut counting = Counting::open(folder.path(), TTL);
    for _ in 0..CLIENTS {
        counting.join(watched.connect_for(TTL, "replicas=1&timeout=1s").await);
    }
    for time in 0..TIMES {
        let old = watched.master();
        match time % 3 {
            0 => watched.servers[old].stop(),
            1 => watched.servers[old].kill(),
            _ => eventually("they obey", || watched.sentinels.fail_over()).await,
        }
        watched.replaced(old).await;
        counting.goes_on(&format!("failover {time}"), BACK).await;
        match time % 3 {
            0 => watched.servers[old].go_on(),
            1 => {
                watched.servers[old].restart();
                super::allow(&watched.servers[old]);
            }
            _ => {}
        }
        watched.follows(old).await;
    }
    counting.end().await;
}
