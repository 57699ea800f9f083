//! The link to the cluster: the current connection, replaced when it breaks.

use super::SCHEME;
use super::connector::{Cluster, Connector};
use super::errors::Failure;
use super::live::Live;
use super::messages::StatusResponse;
use super::options::Options;
use crate::backend::Host;
use crate::backend::flight::Flight;
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Result};
use prost::Message;
use std::sync::{Arc, Mutex};
use tokio::sync::{oneshot, watch};

/// The current connection, and what it takes to make the next one. All connections live on the engine.
pub(super) struct Link {
    connector: Arc<Connector>,
    host: Host,
    state: Mutex<State>,
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    current: Option<Live>,
    opening: Option<Flight<Live>>,
    /// The member to try first.
    next: usize,
}

impl Link {
    pub(super) fn new(cluster: Cluster, options: &Options, host: &Host) -> Self {
        let (closed, is_closed) = watch::channel(false);
        let connector = Arc::new(Connector::new(cluster, options, host.clone(), is_closed));
        Self { connector, host: host.clone(), state: Mutex::default(), closed }
    }

    pub(super) fn now(&self) -> Moment {
        self.host.clock().now()
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns a connection, a new one if need be.
    pub(super) async fn live(&self) -> Result<Live> {
        if *self.closed.borrow() {
            return Err(Error::new(ErrorKind::Unavailable, "the connection is closed").with_backend(SCHEME));
        }
        let opening = {
            let mut state = lock(&self.state);
            if let Some(live) = state.current.as_ref().filter(|live| live.is_usable()) {
                return Ok(live.clone());
            }
            if let Some(old) = state.current.take() {
                state.next = (old.host + 1) % self.connector.hosts();
            }
            let next = state.next;
            state.opening.get_or_insert_with(|| self.open(next)).clone()
        };
        let opened = opening.land().await;
        let mut state = lock(&self.state);
        state.opening = None;
        if let Ok(live) = &opened
            && live.is_usable()
            && state.current.is_none()
        {
            state.current = Some(live.clone());
        }
        opened
    }

    /// Opens a connection in a task of its own, whose runtime drives it.
    fn open(&self, first: usize) -> Flight<Live> {
        let (tell, told) = oneshot::channel();
        let connector = self.connector.clone();
        self.host.spawn(async move {
            let _ = tell.send(connector.open(first).await);
        });
        Flight::new(async move { told.await.unwrap_or_else(|_| Err(ended())) })
    }

    /// Sends a request on the current connection and waits for its answer. A request that is refused because the login has
    /// ended is sent once more, with another login: logins end by themselves, and not because of this request.
    pub(super) async fn ask<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Failure>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.ask_in_term(path, question).await.map(|(answer, _)| answer)
    }

    /// The same, with a term that the member had reached before it was asked.
    pub(super) async fn ask_in_term<Q, A>(&self, path: &'static str, question: Q) -> Result<(A, u64), Failure>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let mut live = self.live().await.map_err(Failure::NotSent)?;
        let again = live.is_logged_in().then(|| question.clone());
        let mut term = live.term();
        let mut answer = live.ask(path, question).await;
        if let Some(question) = again.filter(|_| answer.as_ref().is_err_and(Failure::is_stale_login)) {
            live = self.live().await.map_err(Failure::NotSent)?;
            term = live.term();
            answer = live.ask(path, question).await;
        }
        answer.map(|answer| (answer, term))
    }

    /// Asks each member for its status.
    pub(super) async fn statuses(&self) -> Vec<(String, Result<StatusResponse>)> {
        let mut statuses = Vec::new();
        for member in 0..self.connector.hosts() {
            let (tell, told) = oneshot::channel();
            let connector = self.connector.clone();
            self.host.spawn(async move {
                let _ = tell.send(connector.status(member).await);
            });
            let status = told.await.unwrap_or_else(|_| Err(ended()));
            statuses.push((self.connector.name(member), status));
        }
        statuses
    }

    /// Completes when the link is closed.
    pub(super) fn until_closed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut closed = self.closed.subscribe();
        async move { _ = closed.wait_for(|closed| *closed).await }
    }

    pub(super) fn close(&self) {
        self.closed.send_replace(true);
        *lock(&self.state) = State::default();
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Unavailable, "the client is closed").with_backend(SCHEME)
}
