//! Locks in a PostgreSQL database.
//!
//! A name is a row with the holder, its token, and the end of its lease by the clock of the database. Each step is one
//! call of a function that `cotter migrate` has created: it locks the row of the name, so that it sees what others have
//! committed, and commits before it answers. No transaction stays open, and no session keeps anything but prepared
//! statements. Behind a pooler, nothing is prepared either.
//!
//! | file | concept |
//! |---|---|
//! | `options`, `address`, `settings` | the options and the address in a URL; setting options in code |
//! | `aliases` | what other programs write into the URL of such a server |
//! | `socket`, `connector`, `live` | the socket to the server, and TLS; opening a connection; one connection |
//! | `errors` | translating errors of the server and the driver |
//! | `schema`, `functions/` | creating the tables and the functions, and their sources |
//! | `statements` | the statements that call them |
//! | `backend` | the contract |
//! | `acquire`, `renewal` | acquire requests; extending grants |
//! | `waiting`, `waiters` | waiting in a queue; the claims that wait |
//! | `wake`, `listening` | the subscription that wakes them; its connection |
//! | `notes` | notes |
//! | `lock_in` | locking inside the caller's own transaction |
//! | `shedlock` | ShedLock's table and columns |
//! | `sessions` | the modes in which a lock lives with a session: `row` and `advisory` |
//! | `admin`, `doctor` | listing and evicting; diagnosing a server |
//! | `standbys` | whether a failover forgets locks |

mod acquire;
mod address;
mod admin;
mod aliases;
mod backend;
mod connector;
mod doctor;
mod errors;
mod listening;
mod live;
mod lock_in;
mod notes;
mod options;
mod renewal;
mod schema;
mod sessions;
mod settings;
mod shedlock;
mod socket;
mod standbys;
mod statements;
mod waiters;
mod waiting;
mod wake;

use crate::Result;
use crate::backend::inflight::InFlight;
use crate::backend::pace::Rests;
use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::net::{Certificates, Listening, clamp};
use crate::stores::shared::sql::Mode;
use address::{Address, ConnectParams};
use async_trait::async_trait;
use connector::{Connector, Pool};
use options::Options;
use shedlock::ShedLock;
use statements::Statements;
use std::fmt;
use std::sync::Arc;

/// The scheme that errors and `info()` name, whatever the URL began with.
const SCHEME: &str = "postgres";

/// A PostgreSQL database.
///
/// Clones share the state of their claims, and so do all clients built on them: one may release what another has
/// acquired.
///
/// ```no_run
/// # use cotter::{postgres, Client};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
/// let store = postgres::Store::from_url("postgres://app@db.internal/jobs?password_file=/run/secrets/db")?;
/// // Once, before the first use, by a role that may create tables; or `cotter migrate`.
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
    connector: Connector,
    options: Options,
    statements: Statements,
    in_flight: InFlight,
    waiters: Arc<waiters::Waiters>,
    rests: Rests,
}

impl Store {
    /// Parses the URL of a store. Nothing is sent yet.
    ///
    /// The URL is `postgres://user[:password]@host[:port][,host…]/database`, or `postgresql://…`. Of several hosts, the
    /// one that accepts writes is used. A host that begins with `%2F` is the directory of a socket. These options may
    /// follow in the query:
    ///
    /// | option | meaning | default |
    /// |---|---|---|
    /// | `schema` | the schema of the tables | `public` |
    /// | `prefix` | the beginning of the names of tables and functions | `cotter` |
    /// | `mode` | how locks are held: `lease`, `row`, `advisory` or `shedlock` | `lease` |
    /// | `session_timeout` | `row` and `advisory`: the time without a sign of life after which the server ends a session | `8s` |
    /// | `table`, `column` | `row`: the table whose rows are locked, and the column with the names | a table of the store |
    /// | `table` | `shedlock`: ShedLock's table | `shedlock` |
    /// | `sslmode` | `verify-full` or `disable` | `verify-full`; `disable` for sockets and this host |
    /// | `ca` | a PEM file of trusted authorities, instead of the system's | |
    /// | `cert`, `key` | PEM files of a client certificate and its key | |
    /// | `connections` | the maximum number of connections that one runtime has for requests; each takes one statement at a time | `4` |
    /// | `connect_timeout` | the time limit for opening a connection | `2s` |
    /// | `timeout` | the time limit for the answer to a request | `2s` |
    /// | `client_name` | the `application_name` of the sessions | `cotter` |
    /// | `host` | the directory of a socket | |
    /// | `password_file` | a file that contains the password, instead of a password in the URL | |
    ///
    /// User name, password, database and options are percent-decoded.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) names the invalid part of the URL. It never contains the password.
    pub fn from_url(url: impl AsRef<str>) -> Result<Self> {
        let (params, options) = options::parse(url.as_ref())?;
        Ok(Self::new(params, options))
    }

    /// Uses the servers and the credentials of an application's own driver settings, those from which it makes its
    /// connections or its pool. Everything else is as with [`from_url`](Self::from_url) without options;
    /// [`with_options`](Self::with_options) sets them. Nothing is sent yet.
    ///
    /// The connections are cotter's own and come on top of the application's: see `connections` for how many requests need,
    /// one more listens while somebody waits, and in `mode=row` and `mode=advisory` each lock that is held or waited for has
    /// one. None is borrowed from a pool: a lock would keep it for as long as it is held, and the pool could be empty
    /// when the holder needs it to go on. Inside a transaction on a connection of a pool, use
    /// [`lock_statement`](Self::lock_statement).
    ///
    /// Of the settings, hosts, ports, user, password, database, `options`, `application_name`, `connect_timeout` and the
    /// SSL mode are used: `Disable` goes without TLS, `Require` verifies the server, and `Prefer`, the default of the
    /// driver, does so unless all servers are on this host. The authorities are the system's, or those of the option
    /// `ca`.
    ///
    /// This function exposes the `tokio-postgres` crate; the crate's next major version will change its signature.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config): the settings name no host, or name one by `hostaddr`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use cotter::{Client, postgres::Store};
    ///
    /// let settings: tokio_postgres::Config = "host=db-1 user=app password=… dbname=shop".parse()?;
    /// let store = Store::from_config(settings.clone())?.with_options("mode=advisory")?;
    /// let client = Client::builder().connect_to(store).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_config(config: tokio_postgres::Config) -> Result<Self> {
        let (address, mut options) = (Address::of(&config)?, Options::new());
        options.common.instance = address.instance();
        options.common.connect_timeout =
            config.get_connect_timeout().copied().map_or(options.common.connect_timeout, clamp);
        let mut login = config;
        if login.get_application_name().is_none() {
            login.application_name(&options.common.client_name);
        }
        Ok(Self::new(address.connect_params_of(login, &Certificates::default())?, options))
    }

    fn new(params: ConnectParams, options: Options) -> Self {
        let (connector, statements) = (Connector::new(params, &options), Statements::new(&options));
        let (in_flight, waiters, rests) = (InFlight::default(), Arc::default(), Rests::default());
        Self(Arc::new(Shared { connector, options, statements, in_flight, waiters, rests }))
    }

    fn with(self, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = self.0.options.clone();
        change(&mut options);
        Self::new(self.0.connector.params.clone(), options)
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let Shared { connector, options, .. } = &*self.0;
        let pool = match Pool::open(connector, host.clock()).await {
            Ok(pool) => pool,
            Err(e) => {
                let e = Listening::Postgres.instead(e, connector.tcp_hosts()).await;
                return Err(e.with_backend(SCHEME).with_server(&options.common.instance));
            }
        };
        match options.common.mode {
            Mode::Lease => Ok(Arc::new(backend::Lease::new(pool, self.0.clone()))),
            Mode::ShedLock => Ok(Arc::new(ShedLock::new(pool, self.0.clone()))),
            Mode::Row | Mode::Advisory => {
                sessions::open(pool, &self.0, host).await.map_err(|e| e.with_server(&options.common.instance))
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
        let Shared { connector, options, .. } = &*self.0;
        let live =
            connector.open_before_migration().await.map_err(|e| e.with_server(&options.common.instance))?;
        let all_or_nothing = format!("begin;\n{}commit;\n", schema::statements(options));
        live.run(&all_or_nothing).await.map_err(|e| e.with_server(&options.common.instance))
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
