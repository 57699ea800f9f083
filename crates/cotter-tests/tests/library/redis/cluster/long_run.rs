//! Many failovers, and many slots that move, while clients count.

use super::{PATIENT, SILENCE, connect, replaced};
use crate::counting::Counting;
use cotter_testkit::servers::RedisCluster;
use cotter_testkit::timing::eventually;
use std::time::Duration;

const TIMES: usize = 20;
const CLIENTS: usize = 8;
const TTL: Duration = Duration::from_secs(2);
/// What one failover may take: its replica has to be there, and a lease may have to end.
const BACK: Duration = Duration::from_secs(15);

/// With a replica that has each grant, no write is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_counter_is_exact_over_many_failovers() {
    let (mut cluster, folder) = (RedisCluster::start(SILENCE), tempfile::tempdir().unwrap());
    let mut counting = Counting::open(folder.path(), TTL);
    for _ in 0..CLIENTS {
        counting.join(connect(&cluster, TTL, "replicas=1&timeout=1s").await);
    }
    let slot = cluster.slot("counter");
    for time in 0..TIMES {
        let seen_by = (cluster.master_of(slot, 0) + 1) % 3;
        let old = cluster.master_of(slot, seen_by);
        match time % 3 {
            0 => cluster.nodes[old].stop(),
            1 => cluster.nodes[old].kill(),
            _ => cluster.fail_over((old + 3) % 6),
        }
        replaced(&cluster, slot, old).await;
        // There is one replica, and nothing is granted without it.
        match time % 3 {
            0 => cluster.nodes[old].go_on(),
            1 => cluster.restart(old),
            _ => {}
        }
        counting.goes_on(&format!("failover {time}"), BACK).await;
        eventually("the old master follows", || cluster.follows(old)).await;
    }
    counting.end().await;
}

/// Whoever holds the lock, and whoever waits for it, goes with its slot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_counter_is_exact_while_its_slot_moves() {
    let (cluster, folder) = (RedisCluster::start(PATIENT), tempfile::tempdir().unwrap());
    let mut counting = Counting::open(folder.path(), TTL);
    for _ in 0..CLIENTS {
        counting.join(connect(&cluster, TTL, "").await);
    }
    let slot = cluster.slot("counter");
    let mut from = cluster.master_of(slot, 0);
    for time in 0..2 * TIMES {
        let to = (from + 1) % 3;
        cluster.begin_move(slot, from, to);
        if time % 2 == 0 {
            cluster.move_keys(slot, from, to, 1);
            tokio::time::sleep(TTL / 4).await;
        }
        cluster.end_move(slot, from, to);
        counting.goes_on(&format!("move {time}"), BACK).await;
        from = to;
    }
    counting.end().await;
}
