//! The link to the ensemble: the current session, followed by another one when it is lost.

use super::SCHEME;
use super::connector::{Connector, Ensemble};
use super::errors::Failure;
use super::live::Live;
use super::messages::Op;
use super::options::Options;
use super::replies::Reply;
use super::session::{HEADSTART, ServerSession};
use crate::backend::Host;
use crate::backend::flight::Flight;
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Result};
use std::sync::{Arc, Mutex};
use tokio::sync::{oneshot, watch};

/// The current session, and what it takes to begin the next one. All connections live on the engine.
pub(super) struct Link {
    pub(super) connector: Arc<Connector>,
    host: Host,
    state: Mutex<State>,
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<ServerSession>>,
    beginning: Option<Flight<Arc<ServerSession>>>,
}

impl Link {
    pub(super) fn new(ensemble: Ensemble, options: &Options, host: &Host) -> Self {
        let connector = Arc::new(Connector::new(ensemble, options, host));
        Self { connector, host: host.clone(), state: Mutex::default(), closed: watch::Sender::new(false) }
    }

    pub(super) fn now(&self) -> Moment {
        self.host.clock().now()
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Gives holders that have just got their locks the time to read their nodes: they learn from those why they lose them.
    pub(super) async fn let_holders_look(&self) {
        self.host.clock().sleep_until(self.now() + HEADSTART).await;
    }

    /// Returns a session that is not lost, a new one if need be.
    pub(super) async fn session(&self) -> Result<Arc<ServerSession>> {
        if *self.closed.borrow() {
            return Err(Error::new(ErrorKind::Unavailable, "the connection is closed").with_backend(SCHEME));
        }
        let beginning = {
            let mut state = lock(&self.state);
            if let Some(session) = state.current.as_ref().filter(|session| !session.is_lost()) {
                return Ok(session.clone());
            }
            state.beginning.get_or_insert_with(|| self.begin()).clone()
        };
        let begun = beginning.land().await;
        let mut state = lock(&self.state);
        state.beginning = None;
        if let Ok(session) = &begun
            && state.current.as_ref().is_none_or(|current| current.is_lost())
        {
            state.current = Some(session.clone());
        }
        begun
    }

    /// Begins a session in a task of its own, which then keeps it alive.
    fn begin(&self) -> Flight<Arc<ServerSession>> {
        let (tell, told) = oneshot::channel();
        let (connector, host, closed) = (self.connector.clone(), self.host.clone(), self.until_closed());
        self.host.spawn(async move {
            let keeping = async {
                let first = crate::random::bits() as usize % connector.hosts();
                match connector.open(first, None).await {
                    Ok(opened) => {
                        let (session, live) = ServerSession::begin(connector, &host, opened);
                        let _ = tell.send(Ok(session.clone()));
                        session.keep(live).await;
                    }
                    Err(e) => _ = tell.send(Err(e)),
                }
            };
            tokio::select! { () = keeping => {} () = closed => {} }
        });
        Flight::new(async move { told.await.unwrap_or_else(|_| Err(ended())) })
    }

    /// The connection of the current session.
    pub(super) async fn live(&self) -> Result<Arc<Live>> {
        self.session().await?.live().await
    }

    /// Sends a request in the current session and waits for its answer.
    pub(super) async fn ask<R: Reply>(&self, op: &Op) -> Result<R, Failure> {
        let session = self.session().await.map_err(Failure::NotSent)?;
        let answer = session.live().await.map_err(Failure::NotSent)?.ask(op).await;
        answer.inspect_err(|failure| session.note(failure))
    }

    /// The answer of a member to one of its commands of four letters, over a connection of its own.
    pub(super) async fn told(&self, member: usize, command: &'static str) -> Result<String> {
        let (tell, told) = oneshot::channel();
        let connector = self.connector.clone();
        self.host.spawn(async move {
            let _ = tell.send(connector.tell(member, command).await);
        });
        told.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Completes when the link is closed.
    fn until_closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut closed = self.closed.subscribe();
        async move { _ = closed.wait_for(|closed| *closed).await }
    }

    /// Ends the current session at the servers, and everything here.
    pub(super) async fn end(&self) {
        let current = lock(&self.state).current.take();
        if let Some(session) = current {
            session.close().await;
        }
        self.close();
    }

    pub(super) fn close(&self) {
        self.closed.send_replace(true);
        let state = std::mem::take(&mut *lock(&self.state));
        state.current.iter().for_each(|session| session.lose());
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Unavailable, "the client is closed").with_backend(SCHEME)
}
