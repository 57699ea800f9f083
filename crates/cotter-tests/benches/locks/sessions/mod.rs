//! Stores whose locks live with a session, beside their usual clients and the bare requests of a lock, on one server.

mod contended;
mod others;
mod pairs;

pub(crate) use contended::{child as contender, etcd as etcd_contended, zookeeper as zookeeper_contended};
pub(crate) use pairs::{etcd as etcd_pairs, zookeeper as zookeeper_pairs};

use std::time::Duration;

const ROUND: Duration = Duration::from_secs(1);
