//! The link to a Redis server, and single commands over it.

use super::SCHEME;
use super::connector::Connector;
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use super::options::Options;
use super::socket::Server;
use crate::backend::Host;
use crate::stores::shared::net::{self, Open};
use crate::{Moment, Name, Result};
use redis::{Cmd, Value};
use std::sync::Arc;
use std::time::Duration;

/// The current connection, and what it takes to make the next one. The driver's own connection manager reconnects
/// silently, so it is not used.
pub(super) type Link = net::Link<Connector>;

impl Open for Connector {
    type Live = Live;

    const SCHEME: &'static str = SCHEME;

    async fn open(&self) -> Result<Live> {
        self.connect().await
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn awaits(&self) -> Option<&'static str> {
        self.awaits()
    }
}

/// Connects for the first time. The caller's runtime drives the connections from now on.
pub(super) async fn open(server: &Server, options: &Options, host: &Host) -> Result<Arc<Link>> {
    server.endpoint.check()?;
    let connector = Connector::new(server, options);
    let connector = if host.is_engine() { connector.listening() } else { connector };
    Link::open(connector, host.clock()).await
}

/// The link to a node of a cluster, which connects with its first request. `asks`: for keys of slots that the node does not have yet.
pub(super) fn link_later(server: &Server, options: &Options, host: &Host, asks: bool) -> Arc<Link> {
    let connector = Connector::new(server, options);
    Arc::new(Link::later(if asks { connector.asking() } else { connector }, host.clock()))
}

impl Link {
    /// Sends a command and waits for its answer. Also returns a time that is not later than its sending.
    pub(super) async fn query(&self, cmd: &Cmd) -> Result<(Value, Moment)> {
        let live = self.live().await?;
        let sent = self.now();
        let value = live.query(cmd).await.map_err(|e| explain(e, Sent::Yes))?;
        Ok((value, sent))
    }

    /// The value of a key.
    pub(super) async fn get(&self, key: &Name) -> Result<Option<Vec<u8>>> {
        match self.query(redis::cmd("GET").arg(&**key)).await.map_err(|e| e.with_name(key))?.0 {
            Value::BulkString(value) => Ok(Some(value)),
            Value::Nil => Ok(None),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }

    /// Opens a connection for a subscription.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<redis::aio::PubSub> {
        self.connector.subscribe(channel).await
    }
}
