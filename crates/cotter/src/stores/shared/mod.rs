//! What several stores need.
//!
//! | module | concept |
//! |---|---|
//! | `lock_state` | a lock as a state, and its changes: for stores that keep one as a whole |
//! | `net/` | connections to servers |
//! | `queue/` | queues of nodes or keys in order of arrival |
//! | `queued` | the places of claims that are not waited for yet |
//! | `soon` | what is worth its price for a lock that is held for a while |
//! | `sql/` | rows, modes and sessions of databases |

pub(crate) mod lock_state;
#[cfg(any(feature = "server", feature = "sqlite"))]
pub(crate) mod net;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) mod queue;
#[cfg(any(feature = "etcd", feature = "mysql"))]
pub(crate) mod queued;
#[cfg(any(feature = "etcd", feature = "zookeeper"))]
pub(crate) mod soon;
#[cfg(any(feature = "postgres", feature = "mysql", all(feature = "sqlite", unix)))]
pub(crate) mod sql;
