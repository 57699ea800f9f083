//! Opening connections, and beginning sessions.

use super::SCHEME;
use super::errors::unreachable;
use super::messages::{AUTHENTICATE_XID, Head, Hello, Welcome, authenticate};
use super::options::Options;
use super::records::Reader;
use crate::backend::Host;
use crate::stores::shared::net::{ConnectAttempt, HostPort, Password, Stream, any_member};
use crate::{Clock, Error, ErrorKind, Moment, Result};
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// The members of an ensemble, and how to log in.
#[derive(Clone, Default)]
pub(super) struct Ensemble {
    pub(super) hosts: Vec<(String, u16)>,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) user: Option<String>,
    pub(super) password: Option<Password>,
}

/// Opens connections to the members of one ensemble.
pub(super) struct Connector {
    ensemble: Ensemble,
    clock: Arc<dyn Clock>,
    connect_timeout: Duration,
    /// The length that is asked for.
    session: Duration,
}

/// A connection over which a session goes on.
pub(super) struct Opened {
    pub(super) stream: Box<dyn Stream>,
    pub(super) welcome: Welcome,
    /// When the session was asked for.
    pub(super) asked: Moment,
    /// Which of the hosts it leads to.
    pub(super) host: usize,
}

/// The session that a connection goes on with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket<'a> {
    pub(super) id: i64,
    pub(super) password: &'a [u8],
    /// The newest state that it has seen.
    pub(super) seen: i64,
}

/// A message that is longer is none. The server's own limit for requests is 1 MiB, but answers may be longer.
pub(super) const LONGEST_MESSAGE: usize = 64 << 20;
const AUTH_FAILED: i32 = -115;

impl Connector {
    pub(super) fn new(ensemble: Ensemble, options: &Options, host: &Host) -> Self {
        let Options { connect_timeout, session, .. } = *options;
        Self { ensemble, clock: host.clock().clone(), connect_timeout, session }
    }

    pub(super) fn hosts(&self) -> usize {
        self.ensemble.hosts.len()
    }

    /// Host and port of a member.
    pub(super) fn name(&self, host: usize) -> String {
        let (name, port) = &self.ensemble.hosts[host];
        format!("{name}:{port}")
    }

    pub(super) fn session(&self) -> Duration {
        self.session
    }

    /// Connects to a member that answers: the first one from `first` on. With a ticket, the session goes on.
    pub(super) async fn open(&self, first: usize, ticket: Option<Ticket<'_>>) -> Result<Opened> {
        let password = &*self.password().await?;
        let opened = any_member(self.hosts(), first, |host| self.open_one(host, password, ticket)).await;
        Password::judge(self.ensemble.password.as_ref(), opened)
    }

    /// The password as it is now, asked for once for however many members; empty without one.
    async fn password(&self) -> Result<String> {
        let Ensemble { user, password, .. } = &self.ensemble;
        if user.is_none() && password.is_some() {
            return Err(crate::error::config("with_password_from needs a user name in the URL"));
        }
        let password = Password::of(password.as_ref(), self.connect_timeout).await;
        Ok(password.map_err(|e| e.with_backend(SCHEME))?.unwrap_or_default())
    }

    async fn open_one(&self, host: usize, password: &str, ticket: Option<Ticket<'_>>) -> Result<Opened> {
        let attempt = self.attempt();
        let opening = async {
            let mut stream = self.socket(host, &attempt).await.map_err(unreachable)?;
            let hello = Hello {
                seen: ticket.map_or(0, |t| t.seen),
                timeout: self.session,
                session: ticket.map_or((0, &[0; 16]), |t| (t.id, t.password)),
            };
            let asked = self.clock.now();
            stream.write_all(&hello.message()).await.map_err(unreachable)?;
            // A server that is behind the session, or alone, closes the connection instead.
            let answer = read_message(&mut stream).await.map_err(unreachable)?;
            let welcome = Welcome::read(Reader(&answer)).ok_or_else(|| unreachable("it is no ZooKeeper"))?;
            if !welcome.timeout.is_zero() {
                self.log_in(&mut stream, password).await?;
            }
            Ok(Opened { stream, welcome, asked, host })
        };
        match timeout(self.connect_timeout, opening).await {
            Ok(opened) => opened.map_err(|e| attempt.explain().map_or(e, of_member)),
            Err(_) => Err(self.too_slow(&attempt)),
        }
    }

    fn too_slow(&self, attempt: &ConnectAttempt) -> Error {
        attempt.explain_timeout().map_or_else(
            || {
                let why = format!("the connection was not established within {:?}", self.connect_timeout);
                Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
            },
            of_member,
        )
    }

    fn attempt(&self) -> Arc<ConnectAttempt> {
        ConnectAttempt::by_option(self.ensemble.tls.as_ref())
    }

    /// A connection to a member on which nothing was sent yet.
    async fn socket(&self, host: usize, attempt: &Arc<ConnectAttempt>) -> io::Result<Box<dyn Stream>> {
        let (name, port) = &self.ensemble.hosts[host];
        attempt.connect(self.ensemble.tls.as_ref(), &HostPort::new(name, *port)).await
    }

    /// Nothing else was asked for yet, so its answer is the next one.
    async fn log_in(&self, stream: &mut Box<dyn Stream>, password: &str) -> Result<()> {
        let Some(user) = &self.ensemble.user else { return Ok(()) };
        stream.write_all(&authenticate(user, password)).await.map_err(unreachable)?;
        loop {
            let answer = read_message(stream).await.map_err(unreachable)?;
            let head = Head::read(&mut Reader(&answer)).ok_or_else(|| unreachable("it is no ZooKeeper"))?;
            match head {
                Head { xid: AUTHENTICATE_XID, code: 0, .. } => return Ok(()),
                Head { xid: AUTHENTICATE_XID, code, .. } => {
                    let why = match code {
                        AUTH_FAILED => "the server rejected the user name or password".to_owned(),
                        _ => format!("the server refused the login (code {code})"),
                    };
                    return Err(Error::new(ErrorKind::Denied, why).with_backend(SCHEME));
                }
                _ => {}
            }
        }
    }

    /// The answer of a member to one of its commands of four letters; text for people.
    pub(super) async fn tell(&self, host: usize, command: &str) -> Result<String> {
        let attempt = self.attempt();
        let telling = async {
            let mut stream = self.socket(host, &attempt).await?;
            stream.write_all(command.as_bytes()).await?;
            let mut text = Vec::new();
            match stream.read_to_end(&mut text).await {
                // Over TLS it closes without saying so.
                Err(e) if text.is_empty() => return Err(e),
                _ => {}
            }
            Ok(String::from_utf8_lossy(&text).into_owned())
        };
        let told = timeout(self.connect_timeout, telling).await;
        told.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            .map_err(|e| attempt.explain().map_or_else(|| unreachable(e), of_member))
    }
}

/// What is wrong with one member is worth another try as long as there are others: they may be better.
fn of_member(e: Error) -> Error {
    e.with_backend(SCHEME).with_retryable(true)
}

/// Reads one message, without its length.
pub(super) async fn read_message(
    from: &mut (impl tokio::io::AsyncRead + Unpin + ?Sized),
) -> io::Result<Vec<u8>> {
    let length = usize::try_from(from.read_u32().await?).unwrap_or(usize::MAX);
    if length > LONGEST_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message longer than the limit"));
    }
    let mut message = vec![0; length];
    from.read_exact(&mut message).await?;
    Ok(message)
}
