//! Locks in virtual time: the real engine and the real quorum over stores in memory, behind links that fail, all of it decided
//! by one seed.
//!
//! A run of minutes takes milliseconds, and a seed that fails fails again: `scripts/simulate --seed N` prints its history.
//! With one member the store is that member itself, as any store with leases.
//!
//! | file | concept |
//! |---|---|
//! | `store` | what the locks are in |
//! | `plan` | what a seed decides |
//! | `world` | members, their clocks, and the links to them |
//! | `served`, `steps` | locks in a server in memory: what differs from one to another; what it has done |
//! | `redis`, `zookeeper`, `etcd` | a Redis, a ZooKeeper and an etcd server in memory |
//! | `wires` | connections to such servers |
//! | `member` | a member that can be restarted |
//! | `ledger` | who holds what, and what is wrong with it |
//! | `run` | several processes, what happens to their store, and what is left in the end |
//! | `task`, `nested` | a task that asks and holds; that locks again what it holds |
//! | `calm`, `line` | the end of a run, where nothing goes wrong: who waits for how long, and in which order |
//! | `ask` | the ways to ask for a name |
//! | `many` | many seeds on all cores, and what they have come to |
//! | `crowd` | many clients that want one name, over slow links |
//! | `appends` | several processes that swap one note |
//! | `unpolled` | futures that are polled once, never or late |

mod appends;
mod ask;
mod calm;
mod crowd;
#[cfg(feature = "etcd-in-memory")]
mod etcd;
mod ledger;
mod line;
mod many;
mod member;
mod nested;
mod plan;
#[cfg(feature = "redis-in-memory")]
mod redis;
mod run;
mod served;
mod steps;
mod store;
mod task;
mod unpolled;
#[cfg(feature = "in-memory")]
mod wires;
mod world;
#[cfg(feature = "zookeeper-in-memory")]
mod zookeeper;

pub use appends::{Appends, Log};
pub use crowd::Crowd;
pub use ledger::Ledger;
pub use many::{Failure, Totals, many};
pub use plan::{Plan, Trouble, What};
#[cfg(feature = "redis-in-memory")]
pub use redis::RedisMode;
pub use run::{Outcome, replay, simulate};
pub use steps::Steps;
pub use store::Store;
pub use unpolled::{Stories, Story, many_unpolled, unpolled};
#[cfg(feature = "zookeeper-in-memory")]
pub use zookeeper::ZooKeeperDialect;

use std::future::Future;

/// Runs work whose randomness follows from a seed, in virtual time.
///
/// # Panics
/// When the runtime cannot be made.
fn in_virtual_time<T>(seed: u64, work: impl Future<Output = T>) -> T {
    cotter::conformance::repeat_random(Some(seed));
    // Without I/O, a runtime that has nothing to do until the next timer asks the system for nothing.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    // Whom a channel wakes first is random, unless the runtime is told otherwise.
    #[cfg(tokio_unstable)]
    runtime.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
    let runtime = runtime.enable_time().start_paused(true).build();
    let result = runtime.expect("a runtime").block_on(work);
    cotter::conformance::repeat_random(None);
    result
}
