//! The subscription that wakes waiters: one for each connection, opened at the first contention.

use super::connector::Link;
use super::listening::Listening;
use super::waiters::Waiters;
use crate::backend::{Backoff, ClaimId};
use crate::stores::shared::net::{Listener, Listeners};
use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::types::Type;

/// The subscription to a channel of this connection's own.
#[derive(Debug)]
pub(super) struct Subscription {
    reader: Arc<Reader>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The task that reads the notifications.
#[derive(Debug)]
struct Reader {
    link: Arc<Link>,
    waiters: Arc<Waiters>,
    channel: Arc<str>,
    state: watch::Sender<State>,
    /// The claims that wait.
    listeners: Arc<Listeners>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not subscribed, or not any more; the task subscribes.
    Opening,
    Open,
    /// Subscribed, but nothing arrives, as behind a pooler.
    Deaf,
    Closed,
}

/// The period at which a silent subscription is checked.
const ECHO_PERIOD: Duration = Duration::from_secs(5);
/// Wakes nobody.
const NOTIFY: &str = "select pg_notify($1, '')";
/// The pauses between attempts to subscribe.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1)).with_jitter(0.25);
/// The pause where notifications do not arrive: behind a pooler that will not change.
const DEAF_PAUSE: Duration = Duration::from_secs(30);

impl Subscription {
    pub(super) fn new(link: &Arc<Link>, waiters: &Arc<Waiters>, channel: &str) -> Self {
        let reader = Reader {
            link: link.clone(),
            waiters: waiters.clone(),
            channel: channel.into(),
            state: watch::Sender::new(State::Closed),
            listeners: Arc::default(),
        };
        Self { reader: Arc::new(reader), task: Mutex::default() }
    }

    pub(super) fn channel(&self) -> &str {
        &self.reader.channel
    }

    /// Counts a waiter until the returned value is dropped.
    pub(super) fn enter(&self) -> Listener {
        self.reader.listeners.enter()
    }

    /// Whether notifications are received. If they are not, the subscription is opened in the background.
    pub(super) fn is_open(&self) -> bool {
        self.start();
        *self.reader.state.borrow() == State::Open
    }

    /// Waits for the subscription to open. False if it does not within the time for a request.
    pub(super) async fn wait_until_open(&self) -> bool {
        if self.is_open() {
            return true;
        }
        let (mut state, link) = (self.reader.state.subscribe(), &self.reader.link);
        tokio::select! {
            biased;
            ended = state.wait_for(|s| matches!(s, State::Open | State::Deaf)) => ended.is_ok_and(|s| *s == State::Open),
            () = link.clock().sleep_until(link.now() + link.timeout()) => false,
        }
    }

    fn start(&self) {
        let mut task = lock(&self.task);
        // A task that ends sets the state to closed before: both are read under this lock.
        let closed = *self.reader.state.borrow() == State::Closed;
        if closed || task.as_ref().is_none_or(JoinHandle::is_finished) {
            self.reader.state.send_replace(State::Opening);
            *task = Some(tokio::spawn(self.reader.clone().run()));
        }
    }

    pub(super) fn close(&self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
            self.reader.waiters.channels.set(&self.reader.channel, false);
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Idle,
    Lost,
    /// Nothing ever arrived.
    Deaf,
}

impl Reader {
    /// Reads notifications until nobody waits any more. A place in a queue survives a reconnect, but notifications may have
    /// been missed: after one, every waiter asks again.
    async fn run(self: Arc<Self>) {
        let mut backoff = BACKOFF;
        loop {
            match self.link.connector.listen(&self.channel).await {
                Ok(Some(listening)) => {
                    let end = self.read(listening).await;
                    self.waiters.channels.set(&self.channel, false);
                    match end {
                        End::Idle => break,
                        End::Lost => backoff.reset(),
                        End::Deaf => self.hear_nothing().await,
                    }
                }
                Ok(None) => self.hear_nothing().await,
                Err(_) if self.listeners.is_empty() => break,
                Err(_) => {}
            }
            self.state.send_replace(State::Opening);
            tokio::time::sleep(backoff.pause()).await;
        }
        self.state.send_replace(State::Closed);
    }

    async fn hear_nothing(&self) {
        self.state.send_replace(State::Deaf);
        tokio::time::sleep(DEAF_PAUSE).await;
    }

    /// It counts as open when its own notification has come back.
    async fn read(&self, mut listening: Listening) -> End {
        if !self.hears_itself(&mut listening).await {
            return End::Deaf;
        }
        if listening.is_pooled() && listening.keep(&self.channel).await.is_err() {
            return End::Lost;
        }
        self.state.send_replace(State::Open);
        self.waiters.channels.set(&self.channel, true);
        self.waiters.wake_all();
        let mut tick = tokio::time::interval(ECHO_PERIOD);
        let mut idle = self.listeners.idle_time();
        tick.tick().await;
        loop {
            tokio::select! {
                biased;
                payload = listening.next() => match payload {
                    Some(payload) => self.on_notification(&payload),
                    None => return End::Lost,
                },
                _ = tick.tick() => {
                    if idle.is_over(&self.listeners, ECHO_PERIOD) {
                        return End::Idle;
                    }
                    if !self.hears_itself(&mut listening).await {
                        return End::Lost;
                    }
                }
            }
        }
    }

    /// Whether a notification arrives within the time for a request. It comes from another session: a pooler that gives each
    /// statement to any session still delivers what a client sends to itself.
    async fn hears_itself(&self, listening: &mut Listening) -> bool {
        let echo = async {
            let Ok(live) = self.link.live().await else { return false };
            if live.rows(NOTIFY, &[(&&*self.channel, Type::TEXT)]).await.is_err() {
                return false;
            }
            while let Some(payload) = listening.next().await {
                if payload.is_empty() {
                    return true;
                }
                self.on_notification(&payload);
            }
            false
        };
        tokio::time::timeout(self.link.timeout(), echo).await.unwrap_or(false)
    }

    fn on_notification(&self, payload: &str) {
        let hex: String = payload.chars().filter(|c| *c != '-').collect();
        ClaimId::parse(&hex).into_iter().for_each(|id| self.waiters.wake(id));
    }
}
