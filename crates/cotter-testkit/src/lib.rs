//! How we know: holder processes, faults, and the history checker that the tests share.
//!
//! | module | concept |
//! |---|---|
//! | [`bare`] | a Redis store without the engine |
//! | [`history`] | what happened in a run, and whether it was right |
//! | [`faulty`] | a store that delays, loses and refuses |
//! | [`forgetful`] | a store that loses notes, or refuses to write one |
//! | [`late`] | a store whose notes are read from a copy that stands still |
//! | [`generous`] | stores that answer more time than they were asked for, grant everything, or lose answers to adoptions |
//! | [`sessions`] | a store whose grants live with a session |
//! | [`unkept`] | a store that keeps no name for those who have released it |
//! | [`skewed`] | a store whose clock is not this host's, and one without a clock |
//! | [`resource`] | what a lock guards: a counter that refuses stale holders, and one that does not |
//! | [`holder`] | the program of one holder process |
//! | [`replica`] | the program of one scheduler process |
//! | [`processes`] | many of them, paused and killed by plan |
//! | [`servers`] | real servers, and a proxy that loses, delays and cuts |
//! | [`etcd_in_memory`] | an etcd server for the simulation |
//! | [`redis_in_memory`] | a Redis server for the simulation |
//! | [`zookeeper_in_memory`] | a ZooKeeper server for the simulation |
//! | [`simulation`] | locks in virtual time, decided by one seed |
//! | [`timing`] | bounds in real time, and waits for what must happen |
//! | [`storm`] | a Redis server in trouble, and its queues watched meanwhile |
//! | [`waiter`] | a process that waits for a lock, and is killed, stopped or cut off |

mod actor;
mod altered;
mod clock;
mod deck;
mod length;
mod own_process;
#[cfg(feature = "servers")]
mod shifted_clock;
mod usage;

#[cfg(feature = "servers")]
pub mod bare;
#[cfg(feature = "etcd-in-memory")]
pub mod etcd_in_memory;
pub mod faulty;
pub mod forgetful;
pub mod generous;
pub mod history;
#[cfg(feature = "servers")]
pub mod holder;
pub mod late;
#[cfg(feature = "servers")]
pub mod processes;
#[cfg(feature = "redis-in-memory")]
pub mod redis_in_memory;
#[cfg(feature = "servers")]
pub mod replica;
#[cfg(feature = "servers")]
pub mod resource;
#[cfg(feature = "servers")]
pub mod servers;
pub mod sessions;
pub mod simulation;
pub mod skewed;
#[cfg(feature = "servers")]
pub mod storm;
pub mod timing;
pub mod unkept;
#[cfg(feature = "servers")]
pub mod waiter;
#[cfg(feature = "zookeeper-in-memory")]
pub mod zookeeper_in_memory;

pub use actor::{Actor, Played};
pub use clock::now;
pub use deck::Deck;
pub use length::{is_long, sized};
pub use own_process::in_own_process;
pub use usage::Usage;
