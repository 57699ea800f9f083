//! Locks in an etcd cluster.
//!
//! Each claim is a separate entry, attached to a lease of this process: a process that dies takes its entries with it.
//! The entry that was created first holds the lock; each of the others waits for the end of the one before it.
//!
//! | file | concept |
//! |---|---|
//! | `options`, `settings` | the options and the hosts in a URL; setting options in code |
//! | `connector`, `live`, `connection` | opening a connection; one connection; the link that replaces it |
//! | `messages`, `requests` | the messages of etcd's API; building and reading them |
//! | `errors` | translating errors of the server and the driver |
//! | `names`, `key_pool` | the keys of a name; those that later claims take over |
//! | `leases`, `moving` | the leases of this process; moving entries from one to another |
//! | `watches`, `orders`, `numbers` | watching keys; what the stream is asked for; its numbers for them |
//! | `waiter` | what a waiter was told |
//! | `backend` | the contract |
//! | `bare` | bare requests, for benchmarks |
//! | `acquire`, `look`, `waiting`, `renewal` | entering the queue; looking at it; waiting in it; extending grants |
//! | `permits` | permits |
//! | `patience` | how long the lease of those who wait is |
//! | `notes` | notes |
//! | `admin`, `doctor` | listing and evicting; diagnosing a cluster |
//! | `seats`, `doubts` | the entries that hold a lock; the puts that may still be carried out |

mod acquire;
mod admin;
mod backend;
#[cfg(feature = "conformance")]
mod bare;
mod connection;
mod connector;
mod doctor;
mod doubts;
mod errors;
mod key_pool;
mod leases;
mod live;
mod look;
mod messages;
mod moving;
mod names;
mod notes;
mod numbers;
mod options;
mod orders;
mod patience;
mod permits;
mod renewal;
mod requests;
mod seats;
mod settings;
mod waiter;
mod waiting;
mod watches;

#[cfg(feature = "conformance")]
#[doc(hidden)]
pub use bare::Bare;
pub use options::Dialect;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::net::Listening;
use async_trait::async_trait;
use connector::Cluster;
use options::Options;
use std::fmt;
use std::sync::Arc;

/// The scheme that errors and `info()` name.
const SCHEME: &str = "etcd";

/// An etcd cluster.
///
/// Each client built on it has its own leases, and loses its locks when it cannot keep them alive.
///
/// ```no_run
/// # use cotter::{etcd, Client};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = etcd::Store::from_url("etcd://etcd-0,etcd-1,etcd-2?ca=/etc/etcd/ca.pem")?;
/// let client = Client::builder().connect_to(store).await?;
/// let guard = client.mutex("orders:cleanup").lock().await?;
/// guard.finish().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Store {
    cluster: Cluster,
    options: Options,
}

impl Store {
    /// Parses the URL of a store. Nothing is sent yet.
    ///
    /// The URL is `etcd://[user:password@]host[:port][,host[:port]…]`, with the members of one cluster, any of which may be
    /// missing, and with any of these options in its query:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `dialect` | where the entries of a lock are: [`own`](Dialect::Own) or [`concurrency`](Dialect::Concurrency) | `own` |
    /// | `prefix` | the prefix of all keys | `cotter` |
    /// | `connect_timeout` | the time limit for opening a connection to one member | `2s` |
    /// | `timeout` | the time limit for the answer to a request | `2s` |
    /// | `tls` | `yes` for TLS with the authorities of the system | `yes` if a file is named |
    /// | `ca` | a PEM file of trusted authorities, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `password_file` | a file that contains the password, instead of a password in the URL | |
    ///
    /// User name, password and options are percent-decoded.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid part of the URL. It never contains the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (cluster, options) = options::parse(url.as_ref())?;
        Ok(Self { cluster, options })
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        match backend::Etcd::open(&self.cluster, &self.options, host).await {
            Ok(opened) => Ok(Arc::new(opened)),
            Err(e) => {
                let e = Listening::Etcd.instead(e, self.cluster.hosts.clone()).await;
                Err(e.with_backend(SCHEME).with_server(&self.options.instance))
            }
        }
    }
}

/// Shows no password.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("options", &self.options).finish_non_exhaustive()
    }
}
