//! Opening connections.

use super::SCHEME;
use super::address::ConnectParams;
use super::checks;
use super::errors::unreachable;
use super::live::Live;
use super::options::Options;
use super::schema::Tables;
use crate::stores::shared::net::{
    self, AtHost, Found, Hosts, Load, Open, Password, Pooled, Surveyed, addresses, ask_all, one_server,
    timed_out,
};
use crate::{Clock, Error, ErrorKind, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, SslOpts};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// The servers of a store, and what is the same for all connections to them.
pub(super) struct Servers {
    pub(super) params: ConnectParams,
    pub(super) tables: Tables,
    options: Options,
    hosts: Arc<Hosts>,
}

/// Opens connections to the server that takes writes, with the same settings.
#[derive(Clone)]
pub(super) struct Connector {
    servers: Arc<Servers>,
    clock: Arc<dyn Clock>,
    /// Each session has a receiver until it has said goodbye to the server.
    sessions: Arc<watch::Sender<()>>,
}

/// One attempt to connect, to whichever of the servers.
#[derive(Clone)]
struct Visit {
    /// Whether the tables are there already.
    has_tables: bool,
    password: Option<String>,
}

/// The time for which the end of a client waits until its sessions have said goodbye. The server would log those that have not.
pub(super) const FAREWELL: Duration = Duration::from_millis(100);

/// The current connection, and what it takes to make the next one.
pub(super) type Link = net::Link<Connector>;

/// The connections of one runtime.
pub(super) type Pool = net::Pool<Connector>;

impl Open for Connector {
    type Live = Live;

    const SCHEME: &'static str = SCHEME;

    async fn open(&self) -> Result<Live> {
        let (conn, at) = self.servers.first_good(true).await?;
        Ok(Live::start(conn, self.clock.clone(), self.timeout(), at, self.sessions.subscribe()))
    }

    fn timeout(&self) -> Duration {
        self.servers.options.timeout
    }

    fn awaits(&self) -> Option<&'static str> {
        Password::awaits(self.servers.params.password.as_ref())
    }
}

impl Pooled for Connector {
    fn connections(&self) -> usize {
        self.servers.options.connections
    }

    fn load(live: &Live) -> &Load {
        live.load()
    }
}

impl Connector {
    /// Which server each address of the URL leads to, if there are several.
    pub(super) async fn survey(&self) -> Vec<Surveyed> {
        self.servers.survey().await
    }

    /// For requests that are timed by this clock.
    pub(super) fn new(servers: &Arc<Servers>, clock: &Arc<dyn Clock>) -> Self {
        Self { servers: servers.clone(), clock: clock.clone(), sessions: Arc::default() }
    }

    /// Waits a moment until the sessions that nobody uses any more have told the server that they end: a process that ends before
    /// would leave that to the server, which logs it.
    pub(super) async fn farewell(&self) {
        let _ = timeout(FAREWELL, self.sessions.closed()).await;
    }
}

impl Servers {
    pub(super) fn new(params: ConnectParams, options: &Options) -> Self {
        let hosts = Hosts::new(params.servers.len());
        Self { params, tables: Tables::new(options), options: options.clone(), hosts }
    }

    /// The beginning of the names of tables.
    pub(super) fn prefix(&self) -> &str {
        &self.options.prefix
    }

    /// Runs the statements that create tables, without a time limit.
    pub(super) async fn migrate(self: &Arc<Self>, statements: &str) -> Result<()> {
        let (mut conn, _) = self.first_good(false).await?;
        for statement in statements.split_inclusive(";\n").filter(|s| !s.trim().is_empty()) {
            conn.query_drop(statement).await.map_err(unreachable)?;
        }
        let _ = conn.disconnect().await;
        Ok(())
    }

    /// The hosts of the URL, unless it is a socket that is connected to.
    pub(super) fn tcp_hosts(&self) -> Vec<(String, u16)> {
        let tcp = self.params.servers.iter().filter(|server| server.socket().is_none());
        tcp.map(|server| (server.ip_or_hostname().to_owned(), server.tcp_port())).collect()
    }

    /// The first server that can be reached and takes writes. The error is that of the last one.
    pub(super) async fn first_good(self: &Arc<Self>, has_tables: bool) -> Result<(Conn, AtHost)> {
        let (mut last, visit) = (None, self.visit(has_tables).await?);
        for host in self.hosts.order() {
            let at = self.hosts.at(host);
            match self.try_host(&self.params.servers[host], &visit).await {
                Ok(conn) => return Ok((conn, at)),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::Config, "the URL names no host")))
    }

    /// The password is asked for once, however many servers are tried.
    async fn visit(&self, has_tables: bool) -> Result<Visit> {
        let password = Password::of(self.params.password.as_ref(), self.options.connect_timeout).await;
        Ok(Visit { has_tables, password: password.map_err(|e| e.with_backend(SCHEME))? })
    }

    /// The server that a name leads to.
    async fn try_host(self: &Arc<Self>, server: &Opts, visit: &Visit) -> Result<Conn> {
        let found = match self.addresses(server).await? {
            found if found.len() < 2 => return Ok(self.try_one(server, found, visit).await?.0),
            found => found,
        };
        let conn = one_server(server.ip_or_hostname(), found, |address| {
            let (servers, server, visit) = (self.clone(), server.clone(), visit.clone());
            async move { servers.try_one(&server, vec![address], &visit).await }
        });
        conn.await.map_err(|e| e.with_backend(SCHEME))
    }

    /// Which server each address of the URL leads to, if there are several.
    async fn survey(&self) -> Vec<Surveyed> {
        let mut places = Vec::new();
        for server in &self.params.servers {
            let host = format!("{}:{}", server.ip_or_hostname(), server.tcp_port());
            match self.addresses(server).await {
                Ok(found) if found.is_empty() => {
                    places.push((host.clone(), Ok((host, (server, Vec::new())))))
                }
                Ok(found) => places.extend(
                    found.into_iter().map(|at| (host.clone(), Ok((at.to_string(), (server, vec![at]))))),
                ),
                Err(e) => places.push((host, Err(e))),
            }
        }
        ask_all(places, |(server, addresses)| self.who_is_at(server, addresses)).await
    }

    async fn who_is_at(&self, server: &Opts, addresses: Vec<SocketAddr>) -> Result<Option<String>> {
        let (conn, identity) = self.try_one(server, addresses, &self.visit(true).await?).await?;
        let _ = conn.disconnect().await;
        Ok(identity)
    }

    /// The addresses of a host. The driver would panic where there is no thread to look for them.
    async fn addresses(&self, server: &Opts) -> Result<Vec<SocketAddr>> {
        if server.socket().is_some() || server.resolved_ips().is_some() {
            return Ok(Vec::new());
        }
        let limit = self.options.connect_timeout;
        let found = timeout(limit, addresses(server.ip_or_hostname(), server.tcp_port())).await;
        let found = found.map_err(|_| timed_out("looking up the host", limit).with_backend(SCHEME))?;
        found.map_err(|e| unreachable(e.into()))
    }

    /// The settings for a server, with the password as it is now.
    fn login(&self, server: &Opts, addresses: Vec<SocketAddr>, visit: &Visit) -> Opts {
        let mut login = OptsBuilder::from_opts(server.clone());
        if !addresses.is_empty() {
            login = login.resolved_ips(Some(addresses.iter().map(SocketAddr::ip).collect::<Vec<_>>()));
        }
        if let Some(password) = &visit.password {
            login = login.pass(Some(password));
        }
        // Servers cannot compare a token in any other way. Only one that was verified can read it.
        if self.params.sends_tokens && server.ssl_opts().is_some_and(verifies) {
            login = login.enable_cleartext_plugin(true);
        }
        login.into()
    }

    async fn try_one(&self, server: &Opts, addresses: Vec<SocketAddr>, visit: &Visit) -> Result<Found<Conn>> {
        let limit = self.options.connect_timeout + self.options.timeout;
        // A connection that is given up half-way is never used: it is closed.
        let tried = timeout(limit, self.open_at(server, addresses, visit)).await;
        tried.unwrap_or_else(|_| Err(timed_out("the connection", limit).with_backend(SCHEME)))
    }

    async fn open_at(&self, server: &Opts, addresses: Vec<SocketAddr>, visit: &Visit) -> Result<Found<Conn>> {
        let limit = self.options.connect_timeout;
        let opened = timeout(limit, Conn::new(self.login(server, addresses, visit))).await;
        let opened = opened.map_err(|_| timed_out("the connection", limit).with_backend(SCHEME))?;
        let mut conn = Password::judge(self.params.password.as_ref(), opened.map_err(unreachable))?;
        let identity = checks::prepare(&mut conn).await?;
        if visit.has_tables {
            conn.query_drop(&self.tables.check).await.map_err(unreachable)?;
        }
        Ok((conn, identity))
    }
}

fn verifies(tls: &SslOpts) -> bool {
    !tls.accept_invalid_certs() && !tls.skip_domain_validation()
}

#[cfg(test)]
mod tests;
