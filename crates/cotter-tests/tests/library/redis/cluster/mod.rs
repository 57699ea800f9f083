//! Clusters of Redis servers.
//!
//! | file | concept |
//! |---|---|
//! | `contract`, `declared` | the contract on a cluster; the keys that scripts touch |
//! | `moves` | slots that move while their names are held and waited for |
//! | `failover` | masters that are replaced |
//! | `places` | names of several masters: listings, renewals, notes |
//! | `announced` | nodes that announce addresses which lead nowhere |
//! | `tls` | `rediss+cluster:` |
//! | `refusals`, `doctor` | what is wrong, and what is said of it |
//! | `single` | a node that is used as a single server |
//! | `long_run` | many moves and failovers |

mod announced;
mod contract;
mod declared;
mod doctor;
mod failover;
mod long_run;
mod moves;
mod places;
mod refusals;
mod single;
mod tls;

use cotter::{Client, Lease};
use cotter_testkit::servers::RedisCluster;
use cotter_testkit::timing::eventually;
use std::time::Duration;

/// Longer than it takes to replace a master.
const TTL: Duration = Duration::from_secs(6);
/// A master that is silent for so long is replaced.
const SILENCE: Duration = Duration::from_secs(1);
/// Nobody is replaced, however busy the machine is.
const PATIENT: Duration = Duration::from_secs(15);

async fn connect(cluster: &RedisCluster, ttl: Duration, options: &str) -> Client {
    let url = cluster.url(options);
    Client::builder().lease(Lease::renewed(ttl)).local_turns(false).connect(url).await.unwrap()
}

/// The replica of a node becomes the master of its slots; returns which one it is.
async fn replaced(cluster: &RedisCluster, slot: u16, old: usize) -> usize {
    let other = (old + 1) % 3;
    eventually("the replica is the master", || cluster.master_of(slot, other) != old).await;
    cluster.master_of(slot, other)
}
