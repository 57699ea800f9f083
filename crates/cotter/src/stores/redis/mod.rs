//! Locks in a Redis or Valkey server.
//!
//! | `mode=` | protocol |
//! |---|---|
//! | `native` (default) | cotter's own: fencing tokens, order of arrival, one message for each hand-over |
//! | `plain` | `SET name value NX PX` and compare-and-delete, as used by most hand-written code and small libraries |
//! | `getset` | `SETNX` and `GETSET` of an expiry in client time: the oldest protocol, with [three flaws](Protocol::GetSet) |
//! | `redisson` | that of Redisson's `RLock`, to exclude and wake Java services that use it |
//!
//! | file | concept |
//! |---|---|
//! | `options`, `address`, `settings` | the options and the address in a URL; setting options in code |
//! | `announced` | `announce=`: where to connect to a server that announces an address for others |
//! | `aliases` | what other clients write into the URL of such a server |
//! | `socket`, `given` | the socket to the server; a driver's client that opens it itself |
//! | `tracked` | the stream below a driver: what is on its way, and small requests that are written together |
//! | `connector`, `live`, `connection` | opening a connection; one connection; single commands over it |
//! | `identity` | which server an address leads to, where one name has several |
//! | `sentinel/` | the master of a service that sentinels watch |
//! | `cluster/` | the masters of a cluster, and which of them has a name |
//! | `errors`, `foreign` | translating errors of the server and the driver; finding the key of another program |
//! | `script`, `lua/` | running Lua scripts, and their sources |
//! | `names`, `state`, `sharers` | the keys of a name; parsing strings of the scripts; parsing the list of its sharers |
//! | `backend` | the contract in native mode |
//! | `acquire`, `met`, `renewal`, `batch` | acquire requests; names where others were met; extending grants; running requests concurrently |
//! | `waiting`, `waiters`, `wake` | waiting in a queue; the claims that wait; the subscription that wakes them |
//! | `adopt` | passing a grant from one claim to another |
//! | `replicated`, `acknowledged` | `replicas=`: what replicas have not acknowledged does not count; requesting acknowledgement |
//! | `member`, `voting` | being a member of a quorum; what each request to a member carries |
//! | `acceptor` | being a member whose notes are swapped |
//! | `notes`, `watched` | notes; the notes that are watched for changes |
//! | `admin`, `doctor`, `rights` | listing and evicting; diagnosing a server; what its user may do |
//! | `proxied` | the servers behind a proxy that forwards little |
//! | `older/` | the protocols `plain` and `getset` |
//! | `redisson/` | the protocol of Redisson |

mod acceptor;
mod acknowledged;
mod acquire;
mod address;
mod admin;
mod adopt;
mod aliases;
mod announced;
mod backend;
mod batch;
mod cluster;
mod connection;
mod connector;
mod doctor;
mod errors;
mod foreign;
#[cfg(target_os = "linux")]
mod given;
mod identity;
mod live;
mod member;
mod met;
mod names;
mod notes;
mod older;
mod options;
mod proxied;
mod redisson;
mod renewal;
mod replicated;
mod rights;
mod script;
mod sentinel;
mod settings;
mod sharers;
mod socket;
mod state;
mod tracked;
mod voting;
mod waiters;
mod waiting;
mod wake;
mod watched;

pub use options::Protocol;
pub use redisson::Recipe;

use crate::Result;
use crate::backend::inflight::InFlight;
use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::net::Listening;
use async_trait::async_trait;
use older::{GetSet, Issued, Older, Plain};
use options::Options;
use std::fmt;
use std::sync::Arc;

/// The scheme that errors and `info()` name, whatever the URL began with.
const SCHEME: &str = "redis";

/// A Redis or Valkey server, and the protocol to use with it.
///
/// Clones share the state of their claims, and so do all clients built on them: one may release what another has
/// acquired.
///
/// ```no_run
/// # use cotter::{redis, Client};
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = redis::Store::from_url("redis://cache.internal/0")?.with_timeout(Duration::from_millis(500));
/// let client = Client::builder().connect_to(store).await?;
/// let guard = client.mutex("orders:cleanup").lock().await?;
/// println!("held with token {}", guard.token());
/// guard.finish().await?;
/// # Ok(()) }
/// ```
///
/// With [`Protocol::Plain`], it excludes code that locks with `SET … NX PX`:
///
/// ```no_run
/// # use cotter::{redis, Client};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = redis::Store::from_url("redis://cache.internal/0?mode=plain")?;
/// let client = Client::builder().connect_to(store).await?;
/// if let Some(guard) = client.mutex("lock:orders").try_lock().await? {
///     guard.finish().await?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Store(Arc<Shared>);

/// The state that all connections of a store share.
struct Shared {
    server: socket::Server,
    options: Options,
    in_flight: Arc<InFlight>,
    waiters: Arc<waiters::Waiters>,
    issued: Arc<Issued>,
    /// Identifies this store in Redisson's locks.
    uuid: redisson::Uuid,
    /// `None` if the server is used alone.
    voting: Option<voting::Voting>,
    /// Empty, unless the server is a cluster.
    masters: cluster::Masters,
}

impl Store {
    /// Parses the URL of a store. Nothing is sent yet.
    ///
    /// The URL is `redis://[user[:password]@]host[:port][/db]`, `rediss://…` for TLS, or `unix:///path`; or
    /// `redis+sentinel://[user[:password]@]sentinel[:port],sentinel[:port],…/service[/db]` for the master of a service that
    /// these sentinels watch, `rediss+sentinel://…` for TLS; or `redis+cluster://[user[:password]@]node[:port],node[:port],…` for
    /// the cluster that these nodes belong to, `rediss+cluster://…` for TLS. Any of these options may be in its query:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `mode` | the [protocol](Protocol): `native`, `plain`, `getset` or `redisson` | `native` |
    /// | `recipe` | with `mode=redisson`: the [lock of Redisson](Recipe), `lock`, `fenced`, `fair`, `rwlock` or `permits` | `lock` |
    /// | `prefix` | the prefix of native keys and channels | `cotter` |
    /// | `retain` | how long the server remembers a name after its last release | `1m` |
    /// | `retry` | the pause between two attempts of a waiter in `plain` and `getset`; up to ten times shorter in the first second | `50ms`, `10ms` |
    /// | `replicas` | the number of replicas that must acknowledge each grant, renewal and note (`WAIT`) | `0` |
    /// | `connect_timeout` | the time limit for opening a connection | `2s` |
    /// | `timeout` | the time limit for the answer to a request | `2s` |
    /// | `ca` | a PEM file of trusted authorities, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `client_name` | the name that `CLIENT LIST` shows | `cotter` |
    /// | `request_id` | in `plain`: the value to store, instead of a new one for each attempt; claims of several clients are then indistinguishable | |
    /// | `password_file` | a file that contains the password, instead of a password in the URL | |
    /// | `db` | the database number, for `unix:` | `0` |
    /// | `announce` | with `redis+cluster:` and `redis+sentinel:`, `FROM=TO`: where to connect to a server that is announced with the address `FROM`; several are separated by commas, or given one by one | |
    /// | `sentinel_user`, `sentinel_password`, `sentinel_password_file` | the credentials for the sentinels, which are not those of the servers | |
    ///
    /// User name, password, path and options are percent-decoded.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid part of the URL. It never contains the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (server, options) = options::parse(url.as_ref())?;
        Ok(Self::new(server, options))
    }

    /// Uses the server of a client of the `redis` crate, with the native protocol and the default options of
    /// [`from_url`](Self::from_url) unless they are set with the methods below. Only the client's address and
    /// credentials are used: timeouts, retries and connections are cotter's own. A client that uses TLS needs a
    /// process-wide rustls provider, installed by the application; the settings of its sockets are used, with a keepalive
    /// after 5 s and 10 s for unacknowledged data where it sets none (Linux).
    ///
    /// This is the only function that exposes the `redis` crate; the crate's next major version will change its signature.
    pub fn from_client(client: redis::Client) -> Self {
        let instance = address::instance(&client);
        Self::new(socket::Server::of(client), Options::new(instance))
    }

    /// Refuses a URL with a user and no password, unless that was set otherwise.
    pub(crate) fn check_login(&self) -> Result<()> {
        self.0.server.check_login()
    }

    fn new(server: socket::Server, options: Options) -> Self {
        let (in_flight, waiters, issued) = (Arc::default(), Arc::default(), Arc::default());
        let (voting, masters) = (voting::Voting::of(&options), cluster::Masters::default());
        let uuid = redisson::Uuid::random();
        Self(Arc::new(Shared { server, options, in_flight, waiters, issued, uuid, voting, masters }))
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let Shared { server, options, .. } = &*self.0;
        if options.protocol == Protocol::GetSet && host.is_engine() {
            older::warn_of_getset(&options.instance);
        }
        self.check_login()?;
        if server.endpoint.seeds().is_some() {
            return cluster::connect(&self.0, host).await;
        }
        match connection::open(server, options, host).await {
            Ok(link) => Ok(backend_on(link, self.0.clone())),
            Err(e) => {
                let at = server.endpoint.host().map(|host| (host.name.clone(), host.port));
                let e = Listening::Redis.instead(e, at).await;
                Err(e.with_backend(SCHEME).with_server(&options.instance))
            }
        }
    }
}

/// The backend that sends its requests over a link.
fn backend_on(link: Arc<connection::Link>, shared: Arc<Shared>) -> Arc<dyn Backend> {
    let (carrier, replicas) = (link.clone(), shared.options.replicas);
    let backend: Arc<dyn Backend> = match shared.options.protocol {
        Protocol::Native => Arc::new(backend::Native::new(link, shared)),
        Protocol::Plain => Arc::new(Older::<Plain>::new(link, shared)),
        Protocol::GetSet => Arc::new(Older::<GetSet>::new(link, shared)),
        Protocol::Redisson => Arc::new(redisson::Redisson::new(link, shared)),
    };
    match replicas {
        0 => backend,
        replicas => Arc::new(replicated::Replicated::new(backend, carrier, replicas)),
    }
}

/// Shows no password.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}
