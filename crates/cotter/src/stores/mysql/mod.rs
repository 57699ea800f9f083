//! Locks in a MySQL or MariaDB database.
//!
//! A lock is a row with its holders, its queue and its last token. Each step reads the row together with the server's
//! clock, works out the next one, and replaces it by a single statement that does nothing if the row has changed in the
//! meantime. No transaction stays open between two statements, and nothing is created in the server but tables.
//!
//! Each connection belongs to its own task, which runs every statement to its end: otherwise, the driver would answer
//! the next statement with what is left of one whose future was dropped.
//!
//! | file | concept |
//! |---|---|
//! | `options`, `address`, `settings` | the options and the address in a URL; setting options in code |
//! | `aliases` | what other programs write into the URL of such a server |
//! | `connector`, `checks` | opening a connection; refusing unsuitable servers |
//! | `live`, `session`, `fate` | a connection and its task; its statements; whether the caller of a job is still waiting |
//! | `attempt` | requests, and when they are repeated |
//! | `errors` | translating errors of the server and the driver |
//! | `schema` | the tables, and the statements on them |
//! | `state` | the waiters in a row |
//! | `rows` | reading and replacing rows |
//! | `direct`, `recent` | names with no other user: steps without reading first; what is known of their rows |
//! | `backend`, `renewal` | the contract; extending grants |
//! | `waiting` | waiting in the queue of a name |
//! | `bells`, `bell` | waking waiters; the session that waits in the server's queue for one of them |
//! | `notes` | notes |
//! | `sessions` | locks that live with a session |
//! | `lock_in` | locking a name inside the caller's own transaction |
//! | `shedlock` | ShedLock's table and columns |
//! | `admin`, `doctor` | listing and evicting; diagnosing a server |
//! | `replicas` | whether a failover forgets locks |

mod address;
mod admin;
mod aliases;
mod attempt;
mod backend;
mod bell;
mod bells;
mod checks;
mod connector;
mod direct;
mod doctor;
mod errors;
mod fate;
mod live;
mod lock_in;
mod notes;
mod options;
mod recent;
mod renewal;
mod replicas;
mod rows;
mod schema;
mod session;
mod sessions;
mod settings;
mod shedlock;
mod state;
mod waiting;

use crate::Result;
use crate::backend::inflight::InFlight;
use crate::backend::pace::Rests;
use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::net::Listening;
use crate::stores::shared::queued::Queued;
use crate::stores::shared::sql::Mode;
use address::{Address, ConnectParams, connect_params_of};
use async_trait::async_trait;
use connector::{Connector, Pool, Servers};
use options::Options;
use recent::Recent;
use shedlock::ShedLock;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use waiting::Joined;

/// The scheme that errors and `info()` name, whatever the URL began with.
const SCHEME: &str = "mysql";

/// A MySQL or MariaDB database.
///
/// Clones share the state of their claims, and so do all clients built on them: one may release what another has
/// acquired.
///
/// ```no_run
/// # use cotter::{mysql, Client};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = mysql::Store::from_url("mysql://app@db.internal/jobs?password_file=/run/secrets/db")?;
/// // Once, before the first use, by a user that may create tables; or `cotter migrate`.
/// Client::builder().migrate_store(store.clone()).await?;
///
/// let client = Client::builder().connect_to(store).await?;
/// let guard = client.mutex("orders:cleanup").lock().await?;
/// guard.finish().await?;
/// # Ok(()) }
/// ```
///
/// In `mode=row`, a lock can also be taken inside a transaction of your own: see
/// [`lock_statement`](Self::lock_statement).
#[derive(Clone)]
pub struct Store(Arc<Shared>);

/// The state that all connections of a store share.
struct Shared {
    servers: Arc<Servers>,
    options: Options,
    in_flight: InFlight,
    kept: bells::Kept,
    recent: Recent,
    queued: Queued<Joined>,
    releases: AtomicU32,
    rests: Rests,
}

impl Store {
    /// Parses the URL of a store. Nothing is sent yet.
    ///
    /// The URL is `mysql://user[:password]@host[:port][,host…]/database`, or `mariadb://…`. Of several hosts, the first
    /// one that accepts writes is used. These options may follow in the query:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `prefix` | the beginning of the names of tables | `cotter` |
    /// | `mode` | how locks are held: `lease`, `row`, `advisory` or `shedlock` | `lease` |
    /// | `session_timeout` | `row` and `advisory`: the time without a sign of life after which the server ends a session, in its whole seconds | `8s` |
    /// | `table`, `column` | `row`: the table whose rows are locked, and the column with the names | a table of the store |
    /// | `table` | `shedlock`: ShedLock's table | `shedlock` |
    /// | `sslmode` | `verify-full` or `disable` | `verify-full`; `disable` for sockets and this host |
    /// | `ca` | a PEM file of trusted authorities, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `connections` | the maximum number of connections that one runtime has for requests; each takes one step at a time | `4` |
    /// | `connect_timeout` | the time limit for opening a connection | `2s` |
    /// | `timeout` | the time limit for the answer to a request | `2s` |
    /// | `client_name` | the `program_name` among the attributes of the sessions | `cotter` |
    /// | `socket` | the path of a socket, instead of host and port | |
    /// | `password_file` | a file that contains the password, instead of a password in the URL | |
    ///
    /// User name, password, database and options are percent-decoded.
    ///
    /// TLS uses the crypto provider that the application has installed with *rustls*. If it has installed none, *ring*
    /// becomes the provider of the process.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid part of the URL. It never contains the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (params, options) = options::parse(url.as_ref())?;
        Ok(Self::new(params, options))
    }

    /// Uses the server and the credentials of an application's own driver settings, those from which it makes its
    /// connections or its pool. Everything else is as with [`from_url`](Self::from_url) without options;
    /// [`with_options`](Self::with_options) sets them. Nothing is sent yet.
    ///
    /// The connections are cotter's own and come on top of the application's: see `connections` for how many requests need,
    /// up to 16 waiters have one each, and in `mode=row` and `mode=advisory` each lock that is held or waited for. None is
    /// borrowed from a pool: a lock would keep it for as long as it is held, and the pool could be empty when the holder
    /// needs it to go on. Inside a transaction on a connection of a pool, use [`lock_statement`](Self::lock_statement).
    ///
    /// Connections are made with these settings, TLS among them: without `ssl_opts` there is none. cotter sets what its
    /// statements depend on, such as `autocommit` and `sql_mode`, after whatever `init`, `setup` and `after_connect` do.
    /// `prefer_socket`, `client_found_rows`, `max_allowed_packet`, `stmt_cache_size` and the options of a pool are not used.
    ///
    /// This function exposes the `mysql_async` crate; the crate's next major version will change its signature.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the settings name no database.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use cotter::{Client, mysql::Store};
    ///
    /// let settings = mysql_async::Opts::from_url("mysql://app:…@db-1/shop")?;
    /// let pool = mysql_async::Pool::new(settings.clone());
    /// let store = Store::from_opts(settings)?.with_options("mode=advisory")?;
    /// let client = Client::builder().connect_to(store).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_opts(opts: impl Into<mysql_async::Opts>) -> Result<Self> {
        let opts = opts.into();
        let options = Options { instance: Address::of(&opts)?.instance(), ..Options::default() };
        Ok(Self::new(connect_params_of(&opts, &options), options))
    }

    fn new(params: ConnectParams, options: Options) -> Self {
        let servers = Arc::new(Servers::new(params, &options));
        let (in_flight, kept, releases) = (InFlight::default(), bells::Kept::default(), AtomicU32::new(0));
        let (recent, queued, rests) = (Recent::default(), Queued::default(), Rests::default());
        Self(Arc::new(Shared { servers, options, in_flight, kept, recent, queued, releases, rests }))
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.0.options.clone();
        change(&mut options);
        Self::new(self.0.servers.params.clone(), options)
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let Shared { servers, options, .. } = &*self.0;
        let pool = match Pool::open(&Connector::new(servers, host.clock()), host.clock()).await {
            Ok(pool) => pool,
            Err(e) => {
                let e = Listening::Mysql.instead(e, servers.tcp_hosts()).await;
                return Err(e.with_backend(SCHEME).with_server(&options.instance));
            }
        };
        match options.mode {
            Mode::ShedLock => {
                let opened = ShedLock::open(pool, self.0.clone()).await;
                Ok(Arc::new(opened.map_err(|e| e.with_server(&options.instance))?))
            }
            Mode::Lease => Ok(Arc::new(backend::Lease::new(pool, self.0.clone()))),
            Mode::Row | Mode::Advisory => {
                sessions::open(pool, &self.0, host).await.map_err(|e| e.with_server(&options.instance))
            }
        }
    }

    fn schema(&self) -> Option<String> {
        Some(schema::statements(&self.0.options))
    }

    fn drop_statements(&self) -> Option<String> {
        schema::drops(&self.0.options)
    }

    async fn migrate(&self) -> Result<()> {
        let Shared { servers, options, .. } = &*self.0;
        servers.migrate(&schema::statements(options)).await.map_err(|e| e.with_server(&options.instance))
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
