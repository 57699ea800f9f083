//! The parts that differ between operating systems.
//!
//! Each file of `linux/` has a twin of the same name in `portable/` with the same interface, made from what every
//! system has. The Linux files are quicker and tell more; the rest of the crate does not notice which of the two it
//! got. `--cfg cotter_portable` selects the portable files on Linux as well, so that the tests can run with them.
//!
//! | file | concept |
//! |---|---|
//! | `alarm` | waking the engine's thread at a moment of the boot clock |
//! | `clock` | the boot clock |
//! | `filesystem` | which file system a directory is on, and whether other hosts share it |
//! | `file_id` | the identity of a file |
//! | `gate` | a second lock that belongs to a locked file |
//! | `holders` | which processes hold a lock |
//! | `host` | the name of this host |
//! | `identity` | which process this is, in spite of forks |
//! | `net` | sockets |
//! | `process` | other processes |
//! | `ticket` | the file that a waiter keeps locked, and signals through it |
//! | `unshared` | descriptors that a fork closes |
//! | `users` | user numbers that stand for nobody in particular |
//! | `watch` | a hint when a directory changes |
//! | `linux/`, `portable/` | the twins |

mod host;
mod net;

#[cfg(all(target_os = "linux", not(cotter_portable)))]
#[path = "linux/mod.rs"]
mod system;
#[cfg(not(all(target_os = "linux", not(cotter_portable))))]
#[path = "portable/mod.rs"]
mod system;

pub(crate) use host::host_name;
#[cfg(any(feature = "redis", feature = "etcd", feature = "postgres", feature = "zookeeper"))]
pub(crate) use net::limit_unacknowledged;
pub(crate) use net::register_a_socket;
#[cfg(any(feature = "redis", feature = "postgres"))]
pub(crate) use net::unix_socket;
pub(crate) use system::identity::Identity;
pub(crate) use system::{alarm, clock};

#[cfg(all(feature = "file", unix))]
mod file_id;
#[cfg(all(feature = "file", unix))]
pub(crate) mod filesystem;
#[cfg(all(feature = "file", unix))]
mod unshared;
#[cfg(all(feature = "file", unix))]
pub(crate) mod users;

#[cfg(all(feature = "file", unix))]
pub(crate) use file_id::FileId;
#[cfg(all(feature = "file", unix))]
pub(crate) use system::{gate, holders, process, ticket, watch};
#[cfg(all(feature = "file", unix))]
pub(crate) use unshared::{Unshared, leave_to_parent};

/// No descriptor carries a lock.
#[cfg(not(all(feature = "file", unix)))]
pub(crate) fn leave_to_parent() {}
