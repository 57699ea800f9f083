//! Opening connections.

use super::SCHEME;
use super::errors::Failure;
use super::live::Live;
use super::messages::{AuthenticateRequest, AuthenticateResponse, StatusRequest, StatusResponse};
use super::options::Options;
use crate::backend::Host;
use crate::stores::shared::net::{ConnectAttempt, HostPort, Password, any_member};
use crate::{Error, ErrorKind, Result};
use hyper::client::conn::http2;
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::body::Body;

/// The members of a cluster, and how to log in.
#[derive(Clone, Default)]
pub(super) struct Cluster {
    pub(super) hosts: Vec<(String, u16)>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
}

/// Opens connections to the members of one cluster.
pub(super) struct Connector {
    cluster: Cluster,
    host: Host,
    connect_timeout: Duration,
    timeout: Duration,
    /// True once the connections are to end.
    closed: watch::Receiver<bool>,
}

/// The period at which a connection with open requests is checked. A server drops a client that does it more often than
/// every 5 seconds.
const PING_PERIOD: Duration = Duration::from_secs(6);
const PING_TIMEOUT: Duration = Duration::from_secs(2);
const STATUS: &str = "/etcdserverpb.Maintenance/Status";

impl Connector {
    pub(super) fn new(
        cluster: Cluster,
        options: &Options,
        host: Host,
        closed: watch::Receiver<bool>,
    ) -> Self {
        let Options { connect_timeout, timeout, .. } = *options;
        Self { cluster, host, connect_timeout, timeout, closed }
    }

    pub(super) fn hosts(&self) -> usize {
        self.cluster.hosts.len()
    }

    /// Connects to a member that answers and knows a leader: the first one from `first` on. The password is asked for once,
    /// however many members are tried.
    pub(super) async fn open(&self, first: usize) -> Result<Live> {
        let (limit, password) = (self.connect_timeout + self.timeout, self.password().await?);
        let password = &*password;
        let open = |host| async move {
            let opened = timeout(limit, self.open_one(host, password)).await;
            opened.unwrap_or_else(|_| Err(timed_out(self.connect_timeout)))
        };
        let opened = any_member(self.hosts(), first, open).await;
        Password::judge(self.cluster.password.as_ref(), opened)
    }

    /// Host and port of a member.
    pub(super) fn name(&self, host: usize) -> String {
        let (name, port) = &self.cluster.hosts[host];
        format!("{name}:{port}")
    }

    /// The status of one member, over a connection of its own.
    pub(super) async fn status(&self, host: usize) -> Result<StatusResponse> {
        let limit = self.connect_timeout + self.timeout * 2;
        let asking = async {
            let live = self.connect(host, &self.password().await?, &self.attempt()).await?;
            live.ask(STATUS, StatusRequest {}).await.map_err(Failure::error)
        };
        timeout(limit, asking).await.unwrap_or_else(|_| Err(timed_out(self.connect_timeout)))
    }

    /// The password as it is now; empty without one.
    async fn password(&self) -> Result<String> {
        let Cluster { user, password, .. } = &self.cluster;
        if user.is_none() && password.is_some() {
            return Err(crate::error::config("with_password_from needs a user name in the URL"));
        }
        let password = Password::of(password.as_ref(), self.connect_timeout).await;
        Ok(password.map_err(|e| e.with_backend(SCHEME))?.unwrap_or_default())
    }

    async fn open_one(&self, host: usize, password: &str) -> Result<Live> {
        let attempt = self.attempt();
        let opened = self.open_on(host, password, &attempt).await;
        opened.map_err(|e| attempt.explain().map_or(e, of_member))
    }

    async fn open_on(&self, host: usize, password: &str, attempt: &Arc<ConnectAttempt>) -> Result<Live> {
        let live = self.connect(host, password, attempt).await?;
        let status: StatusResponse = live.ask(STATUS, StatusRequest {}).await.map_err(Failure::error)?;
        // It must be asked: a server that stands still accepts connections.
        if status.leader == 0 {
            return Err(unreachable("it has no leader"));
        }
        if status.is_learner {
            return Err(unreachable("it is a learner, which does not serve clients"));
        }
        live.has_reached(status.header.map_or(0, |header| header.raft_term));
        Ok(live)
    }

    fn attempt(&self) -> Arc<ConnectAttempt> {
        ConnectAttempt::by_option(self.cluster.tls.as_ref())
    }

    async fn connect(&self, host: usize, password: &str, attempt: &Arc<ConnectAttempt>) -> Result<Live> {
        let (name, port) = &self.cluster.hosts[host];
        let (tls, place) = (self.cluster.tls.as_ref(), HostPort::new(name, *port));
        let stream = match timeout(self.connect_timeout, attempt.connect(tls, &place)).await {
            Ok(connected) => connected.map_err(unreachable)?,
            Err(_) => return Err(self.too_slow(attempt)),
        };
        let mut builder = http2::Builder::new(OnEngine(self.host.clone()));
        builder.timer(TokioTimer::new()).keep_alive_interval(PING_PERIOD).keep_alive_timeout(PING_TIMEOUT);
        let (sender, driver) = builder
            .handshake::<_, Body>(TokioIo::new(stream))
            .await
            .map_err(|e| unreachable(e.to_string()))?;
        let mut closed = self.closed.clone();
        self.host.spawn(async move {
            tokio::select! { _ = driver => {} _ = closed.wait_for(|closed| *closed) => {} }
        });
        let mut live = Live::new(sender, self.origin(host)?, host, self.timeout);
        self.log_in(&mut live, password).await?;
        Ok(live)
    }

    fn too_slow(&self, attempt: &ConnectAttempt) -> Error {
        attempt.explain_timeout().map_or_else(|| timed_out(self.connect_timeout), of_member)
    }

    fn origin(&self, host: usize) -> Result<http::Uri> {
        let (name, port) = &self.cluster.hosts[host];
        let scheme = if self.cluster.tls.is_some() { "https" } else { "http" };
        let authority =
            if name.contains(':') { format!("[{name}]:{port}") } else { format!("{name}:{port}") };
        let uri = http::Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build();
        uri.map_err(|e| crate::error::config(format!("invalid host name in the URL: {e}")))
    }

    async fn log_in(&self, live: &mut Live, password: &str) -> Result<()> {
        if let Some(name) = self.cluster.user.clone() {
            let question = AuthenticateRequest { name, password: password.to_owned() };
            let answer: AuthenticateResponse =
                live.ask("/etcdserverpb.Auth/Authenticate", question).await.map_err(Failure::error)?;
            live.log_in(answer.token.parse().map_err(|_| {
                unreachable("the server sent a login token that is not a valid header value")
            })?);
        }
        Ok(())
    }
}

fn unreachable(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the server cannot be reached: {why}")).with_backend(SCHEME)
}

/// What is wrong with one member is worth another try as long as there are others: they may be better.
fn of_member(e: Error) -> Error {
    e.with_backend(SCHEME).with_retryable(true)
}

fn timed_out(after: Duration) -> Error {
    let why = format!("the connection was not established within {after:?}");
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}

/// Runs the tasks of the driver on the engine.
#[derive(Clone)]
struct OnEngine(Host);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for OnEngine {
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}
