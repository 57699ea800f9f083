//! How a connection is made.

use super::SCHEME;
use super::connection::Live;
use super::errors::{Sent, explain};
use super::options::Options;
use super::script;
use super::socket::{Gauge, Gauged, Server, Way};
use crate::{Error, ErrorKind, Result};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, RedisResult};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Everything that the next connection needs.
#[derive(Clone)]
pub(super) struct Maker {
    server: Server,
    config: AsyncConnectionConfig,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    name: String,
}

/// So many requests may stand before the driver before a sender has to wait. Few enough that the requests of many tasks go
/// out in several pieces: while the server answers one, the tasks that the last one woke write the next.
const BUFFER: usize = 32;

impl Maker {
    pub(super) fn new(server: &Server, options: &Options) -> Self {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            .set_response_timeout(Some(options.timeout))
            .set_pipeline_buffer_size(BUFFER);
        Self {
            server: server.clone(),
            config,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            name: options.client_name.clone(),
        }
    }

    /// A connection for requests: the socket, who we are, and the scripts, in one round trip each. The runtime of the
    /// caller drives it.
    pub(super) async fn make(&self) -> Result<Live> {
        let gauge = Arc::<Gauge>::default();
        let making = async {
            let (wire, driver) = self.wire(&gauge).await?;
            let legacy = script::introduce(&wire, &self.name).await?;
            Ok(Live::new(wire, legacy, gauge, driver))
        };
        let limit = self.connect_timeout + self.timeout;
        match timeout(limit, making).await {
            Ok(made) => made.map_err(|e| explain(e, Sent::No)),
            Err(_) => Err(too_late("the connection", limit)),
        }
    }

    async fn wire(&self, gauge: &Arc<Gauge>) -> RedisResult<(MultiplexedConnection, Option<AbortHandle>)> {
        if let Way::Theirs(client) = &self.server.way {
            return Ok((client.get_multiplexed_async_connection_with_config(&self.config).await?, None));
        }
        let opened = async {
            let stream = Gauged::new(self.server.way.open().await?, gauge.clone());
            let config = self.config.clone();
            MultiplexedConnection::new_with_config(&self.server.login, stream, config).await
        };
        let elapsed = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
        let (wire, driver) = timeout(self.connect_timeout, opened).await.map_err(elapsed)??;
        let driver = tokio::spawn(gauge.clone().watch(driver));
        Ok((wire, Some(driver.abort_handle())))
    }

    /// A connection for messages.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<PubSub> {
        let opening = async {
            let mut ears = match &self.server.way {
                Way::Theirs(client) => client.get_async_pubsub().await?,
                way => PubSub::new(&self.server.login, way.open().await?).await?,
            };
            ears.subscribe(channel).await?;
            Ok(ears)
        };
        match timeout(self.connect_timeout, opening).await {
            Ok(opened) => opened.map_err(|e| explain(e, Sent::No)),
            Err(_) => Err(too_late("the subscription", self.connect_timeout)),
        }
    }
}

pub(super) fn too_late(what: &str, after: Duration) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what} was not open after {after:?}")).with_backend(SCHEME)
}
