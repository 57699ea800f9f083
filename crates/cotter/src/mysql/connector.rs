//! Opening connections.

use super::SCHEME;
use super::address::ConnectParams;
use super::checks;
use super::errors::unreachable;
use super::live::Live;
use super::options::Options;
use super::schema::Tables;
use crate::net::{self, Load, Open, Password, Pooled, addresses, timed_out};
use crate::{Clock, Error, ErrorKind, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The servers of a store, and what is the same for all connections to them.
pub(super) struct Servers {
    pub(super) params: ConnectParams,
    pub(super) tables: Tables,
    options: Options,
}

/// Opens connections to the server that takes writes, with the same settings.
#[derive(Clone)]
pub(super) struct Connector {
    servers: Arc<Servers>,
    clock: Arc<dyn Clock>,
}

/// The current connection, and what it takes to make the next one.
pub(super) type Link = net::Link<Connector>;

/// The connections of one runtime.
pub(super) type Pool = net::Pool<Connector>;

impl Open for Connector {
    type Live = Live;

    const SCHEME: &'static str = SCHEME;

    async fn open(&self) -> Result<Live> {
        let conn = self.servers.first_good(true).await?;
        Ok(Live::start(conn, self.clock.clone(), self.timeout()))
    }

    fn timeout(&self) -> Duration {
        self.servers.options.timeout
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
    /// For requests that are timed by this clock.
    pub(super) fn new(servers: &Arc<Servers>, clock: &Arc<dyn Clock>) -> Self {
        Self { servers: servers.clone(), clock: clock.clone() }
    }
}

impl Servers {
    pub(super) fn new(params: ConnectParams, options: &Options) -> Self {
        Self { params, tables: Tables::new(options), options: options.clone() }
    }

    /// The beginning of the names of tables.
    pub(super) fn prefix(&self) -> &str {
        &self.options.prefix
    }

    /// Runs the statements that create tables, without a time limit.
    pub(super) async fn migrate(&self, statements: &str) -> Result<()> {
        let mut conn = self.first_good(false).await?;
        for statement in statements.split_inclusive(";\n").filter(|s| !s.trim().is_empty()) {
            conn.query_drop(statement).await.map_err(unreachable)?;
        }
        let _ = conn.disconnect().await;
        Ok(())
    }

    /// The first server that can be reached and takes writes. The error is that of the last one.
    pub(super) async fn first_good(&self, has_tables: bool) -> Result<Conn> {
        let limit = self.options.connect_timeout + self.options.timeout;
        let mut last = None;
        for server in &self.params.servers {
            // A connection that is given up half-way is never used: it is closed.
            let tried = timeout(limit, self.try_one(server, has_tables)).await;
            match tried.unwrap_or_else(|_| Err(timed_out("the connection", limit).with_backend(SCHEME))) {
                Ok(conn) => return Ok(conn),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(|| Error::new(ErrorKind::Config, "the URL names no host")))
    }

    /// The settings for a server, with its addresses and the password as they are now.
    async fn login(&self, server: &Opts) -> io::Result<Opts> {
        let mut login = OptsBuilder::from_opts(server.clone());
        if server.socket().is_none() && server.resolved_ips().is_none() {
            // The driver would panic where there is no thread to look for them.
            let found = addresses(server.ip_or_hostname(), server.tcp_port()).await?;
            login = login.resolved_ips(Some(found.iter().map(SocketAddr::ip).collect::<Vec<_>>()));
        }
        if let Some(password) = &self.params.password {
            login = login.pass(Some(password.current().await));
        }
        Ok(login.into())
    }

    async fn try_one(&self, server: &Opts, has_tables: bool) -> Result<Conn> {
        let limit = self.options.connect_timeout;
        let opening = async { Conn::new(self.login(server).await?).await };
        let opened = timeout(limit, opening).await;
        let opened = opened.map_err(|_| timed_out("the connection", limit).with_backend(SCHEME))?;
        let mut conn = Password::judge(self.params.password.as_ref(), opened.map_err(unreachable))?;
        checks::prepare(&mut conn).await?;
        if has_tables {
            conn.query_drop(&self.tables.check).await.map_err(unreachable)?;
        }
        Ok(conn)
    }
}
