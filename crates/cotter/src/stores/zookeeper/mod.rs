//! Locks in a ZooKeeper ensemble.
//!
//! Each claim is a separate node that is deleted with the session of this process: a process that dies takes its nodes
//! with it. The node with the smallest number holds the lock; each of the others waits for the end of the one before
//! it.
//!
//! | file | concept |
//! |---|---|
//! | `options`, `settings` | the options and the hosts in a URL; setting options in code |
//! | `records`, `messages`, `replies` | the protocol: its encoding, requests, answers |
//! | `connector`, `live` | opening a connection; one connection |
//! | `session`, `proofs`, `link` | a session and its connections; how long it exists; the session that follows it |
//! | `errors` | translating errors of the server |
//! | `names`, `layout` | the nodes of a name; how places in a queue are named, also by other clients |
//! | `watches` | notifications of changes to nodes |
//! | `backend` | the contract |
//! | `bare` | bare requests, for benchmarks |
//! | `acquire`, `waiting`, `renewal` | entering the queue; waiting in it; extending grants |
//! | `roll_call` | passing over waiters that give no sign of life |
//! | `permits` | permits |
//! | `notes` | notes |
//! | `admin`, `doctor` | listing and evicting; diagnosing an ensemble |
//! | `places`, `seats` | the nodes of claims; those that hold a lock |

mod acquire;
mod admin;
mod backend;
#[cfg(feature = "conformance")]
mod bare;
mod connector;
mod doctor;
mod errors;
mod layout;
mod link;
mod live;
mod messages;
mod names;
mod notes;
mod options;
mod permits;
mod places;
mod proofs;
mod records;
mod renewal;
mod replies;
mod roll_call;
mod seats;
mod session;
mod settings;
mod waiting;
mod watches;

#[cfg(feature = "conformance")]
#[doc(hidden)]
pub use bare::Bare;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::net::Listening;
use async_trait::async_trait;
use connector::Ensemble;
use options::Options;
use std::fmt;
use std::sync::Arc;

/// The scheme that errors and `info()` name.
const SCHEME: &str = "zookeeper";

/// A ZooKeeper ensemble.
///
/// Each client built on it has its own session, and loses its locks with that session.
///
/// ```no_run
/// # use cotter::{zookeeper, Client};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = zookeeper::Store::from_url("zookeeper://zk-0,zk-1,zk-2/locks")?;
/// let client = Client::builder().connect_to(store).await?;
/// let guard = client.mutex("orders:cleanup").lock().await?;
/// guard.finish().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Store {
    ensemble: Ensemble,
    options: Options,
}

impl Store {
    /// Parses the URL of a store. Nothing is sent yet.
    ///
    /// The URL is `zookeeper://[user:password@]host[:port][,host[:port]…][/path]`, with the members of one ensemble,
    /// any of which may be missing, the node below which everything is stored, and any of these options in its query:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `dialect` | the node layout of a lock: `own`, `curator` or `kazoo` | `own` |
    /// | `recipe` | with `dialect=curator`: `mutex` or `rwlock`, which do not exclude each other there | `mutex` |
    /// | `session` | the length of a session: the lock of a holder is free this long after its death | `10s` |
    /// | `prefix` | cotter's own node below the path | `cotter` |
    /// | `acl` | who may use the nodes: everyone (`open`), or only the user that created them (`creator`) | `creator` if there is a user |
    /// | `connect_timeout` | the time limit for opening a connection to one member | `2s` |
    /// | `tls` | `yes` for TLS with the authorities of the system | `yes` if a file is named |
    /// | `ca` | a PEM file of trusted authorities, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `password_file` | a file that contains the password, instead of a password in the URL | |
    ///
    /// With `dialect=curator` or `kazoo`, the nodes of a lock are in `/path/NAME`, and exclude users of the same recipe
    /// of that client: Curator's `InterProcessMutex` or `InterProcessReadWriteLock`, or kazoo's `WriteLock` and
    /// `ReadLock`.
    ///
    /// User name, password, path and options are percent-decoded. The servers allow sessions of 2 to 20 of their ticks,
    /// usually 4 to 40 seconds, and choose the nearest length that they allow.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid part of the URL. It never contains the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (ensemble, options) = options::parse(url.as_ref())?;
        Ok(Self { ensemble, options })
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        match backend::ZooKeeper::open(&self.ensemble, &self.options, host).await {
            Ok(opened) => Ok(Arc::new(opened)),
            Err(e) => {
                let e = Listening::ZooKeeper.instead(e, self.ensemble.hosts.clone()).await;
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
