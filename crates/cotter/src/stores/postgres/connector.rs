//! Opening connections.

use super::SCHEME;
use super::address::{ConnectParams, Endpoint};
use super::errors::{explain, missing, unreachable};
use super::listening::Listening;
use super::live::{Bound, Driving, Live};
use super::options::Options;
use super::shedlock;
use super::socket;
use crate::stores::shared::net::{
    self, Found, Hosts, Load, Open, Password, Pooled, Stream, one_server, read_only, timed_out,
};
use crate::stores::shared::sql::Mode;
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::types::Type;
use tokio_postgres::{CancelToken, Client, Connection, NoTls, SimpleQueryMessage};

/// Opens connections to the server that takes writes, with the same settings.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) params: ConnectParams,
    options: Arc<Options>,
    /// Whether the role has been able to write before.
    was_writable: Arc<AtomicBool>,
    /// Those of the URL.
    hosts: Arc<Hosts>,
}

/// The current connection, and what it takes to make the next one.
pub(super) type Link = net::Link<Connector>;

/// The connections of one runtime.
pub(super) type Pool = net::Pool<Connector>;

/// A driver that was not started yet.
pub(super) type Driver = Connection<Box<dyn Stream>, NoTlsStream>;

/// One attempt to connect, to whichever of the servers.
#[derive(Clone)]
pub(super) struct Visit {
    /// Whether the tables are there already.
    has_tables: bool,
    password: Option<String>,
}

/// Asked once on each connection.
const CHECK: &str = "select pg_is_in_recovery(), current_setting('transaction_isolation'), \
    current_setting('transaction_read_only') = 'on', to_regclass($1) is not null, to_regnamespace($2) is not null, \
    pg_backend_pid()";

impl Open for Connector {
    type Live = Live;

    const SCHEME: &'static str = SCHEME;

    async fn open(&self) -> Result<Live> {
        self.first_good(true).await
    }

    fn timeout(&self) -> Duration {
        self.options.common.timeout
    }

    fn awaits(&self) -> Option<&'static str> {
        Password::awaits(self.params.password.as_ref())
    }
}

impl Pooled for Connector {
    fn connections(&self) -> usize {
        self.options.common.connections
    }

    fn load(live: &Live) -> &Load {
        live.load()
    }
}

/// Shows no password.
impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("instance", &self.options.common.instance).finish_non_exhaustive()
    }
}

impl Connector {
    pub(super) fn new(params: ConnectParams, options: &Options) -> Self {
        let hosts = Hosts::new(params.endpoints.len());
        Self { params, options: Arc::new(options.clone()), was_writable: Arc::default(), hosts }
    }

    /// Opens a connection to create tables with.
    pub(super) async fn open_before_migration(&self) -> Result<Live> {
        self.first_good(false).await
    }

    /// The time limit for opening a connection.
    pub(super) fn connect_timeout(&self) -> Duration {
        self.options.common.connect_timeout
    }

    /// The hosts of the URL that have a port.
    pub(super) fn tcp_hosts(&self) -> Vec<(String, u16)> {
        let tcp = |endpoint: &Endpoint| match endpoint {
            Endpoint::Tcp(host) => Some((host.name.clone(), host.port)),
            Endpoint::Unix(_) => None,
        };
        self.params.endpoints.iter().filter_map(tcp).collect()
    }

    /// The first server that can be reached and takes writes. The error is that of the last one.
    async fn first_good(&self, has_tables: bool) -> Result<Live> {
        let (mut last, visit) = (None, self.visit(has_tables).await?);
        for host in self.hosts.order() {
            let at = self.hosts.at(host);
            match self.try_host(&self.params.endpoints[host], &visit).await {
                Ok(live) => return Ok(live.at(at)),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::Config, "the URL names no host")))
    }

    /// The password is asked for once, however many servers are tried.
    pub(super) async fn visit(&self, has_tables: bool) -> Result<Visit> {
        let password = Password::of(self.params.password.as_ref(), self.connect_timeout()).await;
        Ok(Visit { has_tables, password: password.map_err(|e| e.with_backend(SCHEME))? })
    }

    /// The server that a name leads to.
    async fn try_host(&self, endpoint: &Endpoint, visit: &Visit) -> Result<Live> {
        let places = self.places(endpoint).await?;
        match (endpoint, &*places) {
            (_, [place]) => self.try_one(place, visit).await,
            (Endpoint::Tcp(host), _) => {
                let found = one_server(&host.name, places, |place| {
                    let (connector, visit) = (self.clone(), visit.clone());
                    async move { connector.primary_at(&place, &visit).await }
                });
                found.await.map_err(|e| e.with_backend(SCHEME))
            }
            (Endpoint::Unix(_), _) => self.try_one(endpoint, visit).await,
        }
    }

    /// The addresses that a host has now.
    pub(super) async fn places(&self, endpoint: &Endpoint) -> Result<Vec<Endpoint>> {
        let Endpoint::Tcp(host) = endpoint else { return Ok(vec![endpoint.clone()]) };
        let limit = self.options.common.connect_timeout;
        match timeout(limit, host.each()).await {
            Ok(found) => Ok(found.map_err(unreachable)?.into_iter().map(Endpoint::Tcp).collect()),
            Err(_) => Err(timed_out("looking up the host", limit).with_backend(SCHEME)),
        }
    }

    /// A connection to one of several servers, if it takes writes, and what tells it from any other: no two are started in
    /// the same microsecond, and one that was promoted has the system identifier of the one that it replaces.
    pub(super) async fn primary_at(&self, place: &Endpoint, visit: &Visit) -> Result<Found<Live>> {
        let live = self.try_one(place, visit).await?;
        let rows = live.rows("select pg_postmaster_start_time()::text", &[]).await;
        let identity = rows.ok().and_then(|rows| rows.first()?.try_get(0).ok());
        Ok((live, identity))
    }

    async fn try_one(&self, place: &Endpoint, visit: &Visit) -> Result<Live> {
        let limit = self.options.common.connect_timeout + self.options.common.timeout;
        let tried = timeout(limit, self.open_at(place, visit)).await;
        tried.unwrap_or_else(|_| Err(timed_out("the connection", limit).with_backend(SCHEME)))
    }

    async fn open_at(&self, endpoint: &Endpoint, visit: &Visit) -> Result<Live> {
        let (client, driver) = self.connect(endpoint, visit).await?;
        let (ends, ended) = watch::channel(());
        let task = tokio::spawn(async move {
            // Whoever waits for an answer is told by the client.
            let _ = driver.await;
            drop(ends);
        });
        let driver = Driving { task: task.abort_handle(), ended, endpoint: endpoint.clone() };
        let live = Live::new(client, self.options.common.timeout, driver);
        self.check(&live, visit.has_tables).await?;
        Ok(live)
    }

    async fn connect(&self, endpoint: &Endpoint, visit: &Visit) -> Result<(Client, Driver)> {
        let stream = timeout(self.options.common.connect_timeout, socket::open(&self.params, endpoint)).await;
        let limit = self.options.common.connect_timeout;
        let stream = stream.map_err(|_| timed_out("the connection", limit).with_backend(SCHEME))?;
        let stream = stream.map_err(unreachable)?;
        let mut login = self.params.login.clone();
        if let Some(password) = &visit.password {
            login.password(password);
        }
        let connected = login.connect_raw(stream, NoTls).await.map_err(|e| explain(e, false));
        Password::judge(self.params.password.as_ref(), connected)
    }

    /// Refuses a server that cannot be worked with, and says what to do about it.
    async fn check(&self, live: &Live, has_tables: bool) -> Result<()> {
        let (schema, mode) = (self.options.schema(), self.options.common.mode);
        let (table, nothing) = self.options.needed();
        let bound: [Bound<'_>; 2] = [(&table, Type::TEXT), (&schema, Type::TEXT)];
        let rows = live.rows(CHECK, &bound).await?;
        let row = rows.first().ok_or_else(|| super::errors::unexpected("no row"))?;
        if row.get(0) {
            return Err(read_only(SCHEME, "; put the primary, or all servers, into the URL"));
        }
        if row.get(2) {
            let why = "transactions are read-only for this role, on this database or on this server: \
                       set default_transaction_read_only = off";
            // Of a database that has become read-only, because its disk is full for example, that is not the last word.
            let may_change = self.was_writable.load(Ordering::Relaxed);
            return Err(Error::new(ErrorKind::Config, why).with_backend(SCHEME).with_retryable(may_change));
        }
        self.was_writable.store(true, Ordering::Relaxed);
        let needs_session = matches!(mode, Mode::Row | Mode::Advisory);
        if process_id(live.cancel_token().1).await == Some(row.get(5))
            || needs_session && is_pgpool(live).await
        {
            live.set_direct();
        }
        // The default may change while the session is open.
        if live.is_direct() || row.get::<_, &str>(1) != "read committed" {
            self.read_committed(live).await?;
        }
        match (has_tables, row.get(3), row.get(4)) {
            (true, false, false) if mode != Mode::ShedLock => {
                Err(missing(&format!("there is no schema {schema}")))
            }
            (true, false, _) => Err(missing(&nothing)),
            (true, true, _) if mode != Mode::Lease => {
                self.check_commits(live).await?;
                if mode == Mode::ShedLock { shedlock::check(live, &table).await } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Changes the isolation level of the session, unless it may be somebody else's.
    async fn read_committed(&self, live: &Live) -> Result<()> {
        if live.is_direct() {
            return live
                .run("set session characteristics as transaction isolation level read committed")
                .await;
        }
        let why = "transactions are not \"read committed\" for this role, and behind a pooler that cannot be changed for one client: \
                   alter role … set default_transaction_isolation = 'read committed'";
        Err(Error::new(ErrorKind::Config, why).with_backend(SCHEME))
    }

    /// Refuses what opens transactions of its own for statements that write, and leaves them open: what is answered would not be
    /// committed. The second statement is alone in its transaction, which has begun with it, or it follows the first one. The
    /// functions of `mode=lease` are called by statements that do not look as if they wrote.
    async fn check_commits(&self, live: &Live) -> Result<()> {
        let write = self.options.write_nothing();
        let asked = "select now() = statement_timestamp()";
        let (written, told) = tokio::join!(live.rows(&write, &[]), live.texts(asked));
        written?;
        let is_alone = told?.iter().any(
            |answer| matches!(answer, SimpleQueryMessage::Row(row) if row.get(0).is_some_and(|alone| alone == "t")),
        );
        if is_alone {
            return Ok(());
        }
        let why = "something in between, such as pgpool in raw mode, opens transactions of its own and leaves them open, so that \
                   nothing that is written is committed; put the address of the server itself into the URL, or use mode=lease";
        Err(Error::new(ErrorKind::Config, why).with_backend(SCHEME))
    }

    /// Opens a connection that listens on a channel of the first server that allows it: replicas do not. `None` behind a pooler that
    /// gives statements to several sessions: what is left in one of them would stay there.
    pub(super) async fn listen(&self, channel: &str) -> Result<Option<Listening>> {
        let (mut last, visit) = (None, self.visit(true).await?);
        for host in self.hosts.order() {
            for place in self.places(&self.params.endpoints[host]).await.unwrap_or_default() {
                match self.listen_at(&place, channel, &visit).await {
                    Ok(made) => return Ok(made),
                    Err(e) => last = Some(e),
                }
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::Unavailable, "no host of the URL has an address")))
    }

    async fn listen_at(&self, place: &Endpoint, channel: &str, visit: &Visit) -> Result<Option<Listening>> {
        let limit = self.options.common.connect_timeout + self.options.common.timeout;
        let listening = timeout(limit, async {
            let listening = self.connect_to_listen(place, visit).await?;
            if listening.is_pooled() && self.changes_sessions(place, &listening, visit).await? {
                return Ok(None);
            }
            listening.listen(channel).await?;
            Ok(Some(listening))
        });
        listening.await.unwrap_or_else(|_| Err(timed_out("the subscription", limit).with_backend(SCHEME)))
    }

    async fn connect_to_listen(&self, place: &Endpoint, visit: &Visit) -> Result<Listening> {
        let (client, driver) = self.connect(place, visit).await?;
        Listening::start(client, driver).await
    }

    /// If the pooler has no session for a second client, this is not known, and it is taken to change them.
    async fn changes_sessions(&self, place: &Endpoint, listening: &Listening, visit: &Visit) -> Result<bool> {
        let asking = async {
            let other = self.connect_to_listen(place, visit).await?;
            listening.changes_sessions(&other).await
        };
        timeout(self.options.common.timeout / 2, asking).await.unwrap_or(Ok(true))
    }
}

/// Whether this is pgpool, which has a session on the primary for each of its clients, and names that of any of its servers in the
/// message that cancels a statement. A server, which does not know the setting, is not asked: it would log that.
async fn is_pgpool(live: &Live) -> bool {
    let told = live.texts("show pool_version").await;
    told.is_ok_and(|told| told.iter().any(|answer| matches!(answer, SimpleQueryMessage::Row(_))))
}

/// The process id in the message that cancels a statement: the server's own, unless something else has made it.
pub(super) async fn process_id(token: CancelToken) -> Option<i32> {
    let (ours, mut theirs) = tokio::io::duplex(64);
    token.cancel_query_raw(ours, NoTls).await.ok()?;
    let mut message = [0; 16];
    theirs.read_exact(&mut message).await.ok()?;
    message[8..12].try_into().ok().map(i32::from_be_bytes)
}
