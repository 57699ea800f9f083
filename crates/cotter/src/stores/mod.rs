//! The stores. None imports another, nor anything that reaches the engine: each could become a crate of its own.
//!
//! | module | concept |
//! |---|---|
//! | `shared/` | what several of them need: connections, SQL, queues, a lock as a state |
//! | `memory/` | this process |
//! | `file/` | a directory of this host |
//! | `sqlite/` | a database file of this host |
//! | `redis/` | a Redis or Valkey server |
//! | `postgres/`, `mysql/` | a database server |
//! | `etcd/`, `zookeeper/` | a cluster with a log of its own |
//! | `quorum/` | a majority of several servers |

pub(crate) mod shared;

pub mod memory;
pub mod quorum;

#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(all(feature = "file", unix))]
pub mod file;
#[cfg(all(feature = "file", not(unix)))]
#[path = "file/unsupported.rs"]
pub mod file;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(all(feature = "sqlite", unix))]
pub mod sqlite;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;
