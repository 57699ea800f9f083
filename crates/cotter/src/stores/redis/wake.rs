//! The subscription that wakes waiters and the watchers of notes: one for each connection, opened at the first contention.

use super::connection::Link;
use super::live::Live;
use super::names::LockKeys;
use super::script;
use super::state::{Message, asked_again};
use super::waiters::{Delivery, Waiters};
use super::watched::{WatchedNote, WatchedNotes};
use crate::Result;
use crate::backend::Backoff;
use crate::stores::shared::net::{Listener, Listeners};
use crate::sync::lock;
use redis::Msg;
use redis::aio::{PubSubSink, PubSubStream};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The subscription to a channel of this connection's own.
#[derive(Debug)]
pub(super) struct Subscription {
    reader: Arc<Reader>,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The task that reads the messages.
#[derive(Debug)]
struct Reader {
    link: Arc<Link>,
    waiters: Arc<Waiters>,
    notes: Arc<WatchedNotes>,
    channel: Arc<str>,
    /// The time for which a free name is remembered, as the release script takes it.
    retain: String,
    state: watch::Sender<State>,
    /// The claims and watchers that wait.
    listeners: Arc<Listeners>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not subscribed, or not any more; the task subscribes.
    Opening,
    Open,
    Closed,
}

/// The time that a waiter allows for the subscription before it sends its first request without one.
const OPEN_TIMEOUT: Duration = Duration::from_millis(100);
/// The period at which a silent subscription is checked.
const PING_PERIOD: Duration = Duration::from_secs(5);
/// More turns than any grant has: the tokens of all of them count as used.
const ALL_TURNS: &[u8] = b"99999";
/// The pauses between attempts to subscribe.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1)).with_jitter(0.25);

impl Subscription {
    pub(super) fn new(link: &Arc<Link>, waiters: &Arc<Waiters>, channel: String, retain: String) -> Self {
        let reader = Reader {
            link: link.clone(),
            waiters: waiters.clone(),
            notes: Arc::default(),
            channel: channel.into(),
            retain,
            state: watch::Sender::new(State::Closed),
            listeners: Arc::default(),
        };
        Self { reader: Arc::new(reader), task: Mutex::default() }
    }

    pub(super) fn channel(&self) -> &Arc<str> {
        &self.reader.channel
    }

    /// Counts a waiter until the returned value is dropped.
    pub(super) fn enter(&self) -> Listener {
        self.reader.listeners.enter()
    }

    /// Watches the note with this key. Its channel is subscribed to in the background.
    pub(super) fn watch(&self, key: &str) -> (WatchedNote, Listener) {
        let watched = (self.reader.notes.watch(key), self.enter());
        self.start();
        watched
    }

    /// Whether messages are received. If they are not, the subscription is opened in the background.
    pub(super) fn is_open(&self) -> bool {
        self.start();
        *self.reader.state.borrow() == State::Open
    }

    /// Waits a moment for the subscription to open. False if it does not, for example because the server is a proxy
    /// without subscriptions: nobody should have to wait for that.
    pub(super) async fn wait_until_open(&self) -> bool {
        if self.is_open() {
            return true;
        }
        let (mut state, link) = (self.reader.state.subscribe(), &self.reader.link);
        tokio::select! {
            biased;
            open = state.wait_for(|s| *s == State::Open) => open.is_ok(),
            () = link.clock().sleep_until(link.now() + OPEN_TIMEOUT) => false,
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
            self.reader.notes.disconnected();
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why a subscription ended.
enum End {
    Idle,
    Lost,
}

impl Reader {
    /// Reads messages until nobody waits any more. A place in a queue survives a reconnect, but messages may have been
    /// missed: after one, every waiter sends its request again.
    async fn run(self: Arc<Self>) {
        let mut backoff = BACKOFF;
        loop {
            let beside = self.carrier().await;
            if let Ok(beside) = beside
                && let Ok(subscription) = self.link.subscribe(&self.channel).await
            {
                backoff.reset();
                self.state.send_replace(State::Open);
                self.waiters.channels.set(&self.channel, true);
                self.waiters.wake_all();
                let (sink, stream) = subscription.split();
                let following = self.notes.follow(sink.clone(), self.link.timeout());
                let end = tokio::select! {
                    biased;
                    end = self.read(sink, stream, beside.as_deref()) => end,
                    () = following => End::Lost,
                };
                self.waiters.channels.set(&self.channel, false);
                self.notes.disconnected();
                if let End::Idle = end {
                    break;
                }
            } else if self.listeners.is_empty() {
                break;
            }
            self.state.send_replace(State::Opening);
            tokio::time::sleep(backoff.pause()).await;
        }
        self.state.send_replace(State::Closed);
    }

    /// The connection that carries the requests.
    async fn carrier(&self) -> Result<Option<Arc<Live>>> {
        match self.link.connector.sentinels() {
            // The subscription has to be on the server that this one leads to.
            Some(_) => self.link.live().await.map(Some),
            None => Ok(self.link.current()),
        }
    }

    async fn read(&self, mut sink: PubSubSink, mut stream: PubSubStream, beside: Option<&Live>) -> End {
        // Without sentinels, never.
        let over = async {
            match beside {
                Some(live) => live.over().await,
                None => pending().await,
            }
        };
        let mut over = pin!(over);
        let mut tick = tokio::time::interval(PING_PERIOD);
        let mut idle = self.listeners.idle_time();
        tick.tick().await;
        loop {
            let next = pin!(next(&mut stream));
            tokio::select! {
                biased;
                () = &mut over => return End::Lost,
                message = next => match message {
                    Some(message) => self.on_message(&message).await,
                    None => return End::Lost,
                },
                _ = tick.tick() => {
                    if idle.is_over(&self.listeners, PING_PERIOD) {
                        return End::Idle;
                    }
                    // A new connection for requests may lead to another server, after a fail-over: that server sees
                    // no subscriber, and would pass over the waiters of this process for ever.
                    if self.link.current().map(|live| live.number) != beside.map(|live| live.number) {
                        return End::Lost;
                    }
                    let pong = tokio::time::timeout(self.link.timeout(), sink.ping::<redis::Value>()).await;
                    if !matches!(pong, Ok(Ok(_))) {
                        return End::Lost;
                    }
                    // Whoever only reads is never refused anything.
                    if let Some(live) = beside && live.leave_a_replica().await {
                        return End::Lost;
                    }
                }
            }
        }
    }

    async fn on_message(&self, message: &Msg) {
        match message.get_channel_name() {
            channel if *channel == *self.channel => self.on_grant(message.get_payload_bytes()).await,
            note => self.notes.changed(note),
        }
    }

    /// Passes a grant to the claim that waits for it. A grant for a claim that this process does not know is released at
    /// once: it would last until its lease ends, and nobody uses it. Its tokens do not go back: the claim may have got the same
    /// grant by the answer to a request, and used them, and be about to release it.
    async fn on_grant(&self, payload: &[u8]) {
        let Some(message) = Message::parse(payload) else {
            asked_again(payload).into_iter().for_each(|id| self.waiters.wake(id));
            return;
        };
        let (id, key) = (message.id.to_string(), message.key.clone());
        if self.waiters.deliver(message) == Delivery::Unknown
            && let Ok(live) = self.link.live().await
        {
            let args: [&[u8]; 3] = [id.as_bytes(), ALL_TURNS, self.retain.as_bytes()];
            script::RELEASE.send(&live, &LockKeys::new(&key).all(), &args, 1).await;
        }
    }
}

/// The next message; `None` at the end of the subscription.
pub(super) async fn next(stream: &mut PubSubStream) -> Option<Msg> {
    use futures_core::Stream;
    poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await
}
