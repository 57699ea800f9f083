//! Opening connections.

use super::SCHEME;
use super::errors::{Sent, explain, is_refused_login, refused_login, turned_away};
use super::identity::Question;
use super::live::Live;
use super::options::Options;
use super::script;
use super::sentinel::Sentinels;
use super::sentinel::role::Role;
use super::socket::{Endpoint, Server};
use super::tracked::{SocketState, TrackedStream};
use crate::stores::shared::net::{
    ConnectAttempt, Found, HostPort, Password, Surveyed, ask_all, one_server, timed_out,
};
use crate::sync::lock;
use crate::{Error, Result};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, Pipeline, RedisConnectionInfo, RedisError, RedisResult, Value};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Opens connections to one server with the same settings.
#[derive(Clone)]
pub(super) struct Connector {
    server: Server,
    /// Where the last connection for requests leads to: one address, of a host that has several.
    endpoint: Arc<Mutex<Endpoint>>,
    config: AsyncConnectionConfig,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) options: Arc<Options>,
    /// Whether its connections may listen to sentinels: the engine's are always driven.
    pub(super) listens: bool,
    /// Whether its connections ask for keys of slots that a node of a cluster does not have yet.
    asks: bool,
}

/// The number of requests that the driver's send buffer holds; further senders wait. It is small enough that the requests
/// of many tasks are written in several pieces: while the server answers one, the tasks that were woken by the last one
/// write the next.
const PIPELINE_BUFFER: usize = 16;

impl Connector {
    pub(super) fn new(server: &Server, options: &Options) -> Self {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(options.connect_timeout))
            .set_response_timeout(Some(options.timeout))
            .set_pipeline_buffer_size(PIPELINE_BUFFER);
        Self {
            server: server.clone(),
            endpoint: Arc::new(Mutex::new(server.endpoint.clone())),
            config,
            timeout: options.timeout,
            connect_timeout: options.connect_timeout,
            options: Arc::new(options.clone()),
            listens: false,
            asks: false,
        }
    }

    /// For the connections of the engine.
    pub(super) fn listening(self) -> Self {
        Self { listens: true, ..self }
    }

    /// For keys of slots that a node of a cluster does not have yet.
    pub(super) fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    /// The sentinels that are asked for the server, if there are any.
    pub(super) fn sentinels(&self) -> Option<&Arc<Sentinels>> {
        self.server.endpoint.sentinels()
    }

    /// Opens a connection for requests, to the master if there are several servers. The caller's runtime drives it.
    pub(super) async fn connect(&self) -> Result<Live> {
        if let Some(sentinels) = self.sentinels() {
            let (live, endpoint) = self.connect_to_master(sentinels).await?;
            *lock(&self.endpoint) = endpoint;
            return Ok(live);
        }
        let endpoint = &self.server.endpoint;
        let Some(host) = endpoint.host() else { return self.connect_to(endpoint).await };
        let (live, endpoint) = match self.addresses(host).await? {
            addresses if addresses.len() > 1 => {
                let question = Question::new(&self.options);
                let found = one_server(&host.name, addresses, |address| {
                    let (connector, endpoint, question) =
                        (self.clone(), endpoint.at(address), question.clone());
                    async move { connector.master_at(endpoint, question).await }
                });
                found.await.map_err(|e| e.with_backend(SCHEME))?
            }
            _ => (self.connect_to(endpoint).await?, endpoint.clone()),
        };
        *lock(&self.endpoint) = endpoint;
        Ok(live)
    }

    /// Whether its last connection led there.
    pub(super) fn was_at(&self, host: &HostPort) -> bool {
        lock(&self.endpoint).host() == Some(host)
    }

    /// The addresses that the host has now.
    async fn addresses(&self, host: &HostPort) -> Result<Vec<HostPort>> {
        match timeout(self.connect_timeout, host.each()).await {
            Ok(found) => found.map_err(|e| explain(e.into(), Sent::No)),
            Err(_) => Err(timed_out("looking up the host", self.connect_timeout).with_backend(SCHEME)),
        }
    }

    /// A connection to one of several servers, if it accepts writes, and what tells the server from any other.
    async fn master_at(&self, endpoint: Endpoint, question: Question) -> Result<Found<(Live, Endpoint)>> {
        let live = self.connect_to(&endpoint).await?;
        let identity = question.ask(&live).await?;
        Ok(((live, endpoint), identity))
    }

    /// Which server each address of the host leads to, if there are several.
    pub(super) async fn survey(&self) -> Vec<Surveyed> {
        let endpoint = &self.server.endpoint;
        let Some(host) = endpoint.host() else { return Vec::new() };
        // Whoever cannot look them up has no connection either, and everything else says so.
        let addresses = self.addresses(host).await.unwrap_or_default();
        let places = addresses.into_iter().map(|at| (host.to_string(), Ok((at.to_string(), at))));
        let question = Question::new(&self.options);
        let who_is_at = async |at| Ok(self.master_at(endpoint.at(at), question.clone()).await?.1);
        ask_all(places.collect(), who_is_at).await
    }

    /// Connects the socket, logs in and loads the scripts, in one round trip each.
    pub(super) async fn connect_to(&self, endpoint: &Endpoint) -> Result<Live> {
        let login = self.login().await?;
        let socket = Arc::<SocketState>::default();
        let (state, attempt) = (socket.clone(), endpoint.attempt());
        let connecting = async {
            match self.introduced(endpoint, &login, socket, &attempt).await {
                Err(e) if e.is_connection_dropped() && !state.was_turned_away() => {
                    let Some(made) = self.unintroduced(endpoint, &login).await else { return Err(e) };
                    // A server that was just restarted closes a connection once, such a proxy each time.
                    self.introduced(endpoint, &login, Arc::default(), &endpoint.attempt()).await.or(made)
                }
                made => made,
            }
        };
        let limit = self.connect_timeout + self.timeout;
        let made = match timeout(limit, connecting).await {
            Ok(made) => made.map_err(|e| match state.was_turned_away() {
                true => turned_away(),
                false => failed(&attempt, e),
            }),
            Err(_) => Err(timed_out("the connection", limit).with_backend(SCHEME)),
        };
        let live = Password::judge(self.server.password.as_ref(), made)?;
        if live.knows_scripts {
            return Ok(live);
        }
        let role = live.query(&redis::cmd("ROLE")).await.ok().and_then(Role::parse);
        role.and_then(|role| role.no_server()).map_or(Ok(live), |e| Err(e.with_backend(SCHEME)))
    }

    /// Connects to a server that runs no scripts, a sentinel, and sends these commands.
    pub(super) async fn connect_and_ask(
        &self,
        first: &mut Pipeline,
    ) -> Result<(Live, Vec<RedisResult<Value>>)> {
        let (socket, endpoint) = (Arc::<SocketState>::default(), &self.server.endpoint);
        let (login, attempt) = (self.login().await?, endpoint.attempt());
        let wired = self.wire(endpoint, &login, &socket, &attempt).await;
        let (wire, driver) = wired.map_err(|e| failed(&attempt, e))?;
        let live = Live::new(wire, false, socket, driver);
        let answers = live.pipeline(first).await.map_err(|e| failed(&attempt, e))?;
        Ok((live, answers))
    }

    /// The credentials, with the password as it is now.
    async fn login(&self) -> Result<RedisConnectionInfo> {
        self.server.login(self.connect_timeout).await.map_err(|e| e.with_backend(SCHEME))
    }

    /// What is waited for before there is a connection.
    pub(super) fn awaits(&self) -> Option<&'static str> {
        Password::awaits(self.server.password.as_ref())
    }

    async fn introduced(
        &self,
        endpoint: &Endpoint,
        login: &RedisConnectionInfo,
        socket: Arc<SocketState>,
        attempt: &Arc<ConnectAttempt>,
    ) -> RedisResult<Live> {
        let (wire, driver) = self.wire(endpoint, login, &socket, attempt).await?;
        let said = script::introduce(&wire, &self.options.client_name).await?;
        let mut live = Live::new(wire, said.legacy, socket, driver);
        (live.knows_scripts, live.asks) = (said.knows_scripts, self.asks);
        Ok(live)
    }

    /// Connects without `CLIENT` and `SCRIPT`: proxies such as twemproxy close a connection over which they are sent a command
    /// that they do not forward. `None` if there is no such proxy: nobody answers a script.
    async fn unintroduced(
        &self,
        endpoint: &Endpoint,
        login: &RedisConnectionInfo,
    ) -> Option<RedisResult<Live>> {
        // Only scripts and commands with keys are forwarded by every proxy.
        let needs_more =
            self.options.replicas > 0 || self.options.votes.is_some() || self.sentinels().is_some();
        if needs_more || matches!(endpoint, Endpoint::Driver(_)) {
            return None;
        }
        let socket = Arc::<SocketState>::default();
        let (wire, driver) = self.wire(endpoint, login, &socket, &endpoint.attempt()).await.ok()?;
        let mut live = Live::new(wire, false, socket, driver);
        live.through_proxy = true;
        match live.query(&script::probe()).await {
            Err(e) if matches!(e.code(), Some("NOAUTH" | "WRONGPASS")) => Some(Err(e)),
            Err(e) if e.code().is_none() => None,
            _ => Some(Ok(live)),
        }
    }

    async fn wire(
        &self,
        endpoint: &Endpoint,
        login: &RedisConnectionInfo,
        socket: &Arc<SocketState>,
        attempt: &Arc<ConnectAttempt>,
    ) -> RedisResult<(MultiplexedConnection, Option<AbortHandle>)> {
        if let Endpoint::Driver(client) = endpoint {
            let client = logging_in(client, login)?;
            return Ok((client.get_multiplexed_async_connection_with_config(&self.config).await?, None));
        }
        let opened = async {
            let stream = TrackedStream::new(endpoint.open(attempt).await?, socket.clone());
            let config = self.config.clone();
            MultiplexedConnection::new_with_config(login, stream, config).await
        };
        let elapsed = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
        let (wire, driver) = timeout(self.connect_timeout, opened).await.map_err(elapsed)??;
        let driver = tokio::spawn(socket.clone().watch(driver));
        Ok((wire, Some(driver.abort_handle())))
    }

    /// Opens a connection that is subscribed to a channel, on the server that takes the requests.
    pub(super) async fn subscribe(&self, channel: &str) -> Result<PubSub> {
        let endpoint = lock(&self.endpoint).clone();
        let (login, attempt) = (self.login().await?, endpoint.attempt());
        let opening = async {
            let mut connection = match &endpoint {
                Endpoint::Driver(client) => logging_in(client, &login)?.get_async_pubsub().await?,
                endpoint => {
                    let stream = endpoint.open(&attempt).await?;
                    PubSub::new(&login, stream).await?
                }
            };
            connection.subscribe(channel).await?;
            Ok(connection)
        };
        match timeout(self.connect_timeout, opening).await {
            Ok(opened) => opened.map_err(|e| failed(&attempt, e)),
            Err(_) => Err(timed_out("the subscription", self.connect_timeout).with_backend(SCHEME)),
        }
    }
}

/// The same client with these credentials.
fn logging_in(client: &redis::Client, login: &RedisConnectionInfo) -> RedisResult<redis::Client> {
    redis::Client::open(client.get_connection_info().clone().set_redis_settings(login.clone()))
}

/// The error for a connection that was not established.
fn failed(attempt: &ConnectAttempt, e: RedisError) -> Error {
    let refused = || refused_login(&attempt.first_line()).filter(|_| is_refused_login(&e));
    let known = attempt.explain().or_else(|| attempt.explain_timeout().filter(|_| e.is_timeout()));
    known.or_else(refused).map_or_else(|| explain(e, Sent::No), |known| known.with_backend(SCHEME))
}
