//! The subscription that wakes those who wait: one per connection, opened at the first contention.

use super::connection::Link;
use super::inflight::{Addressee, Desk};
use super::names::LockKeys;
use super::script;
use super::state::Message;
use redis::aio::{PubSubSink, PubSubStream};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Ears on a channel of our own.
#[derive(Debug)]
pub(super) struct Wake {
    ears: Arc<Ears>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

/// What the reader works with.
#[derive(Debug)]
struct Ears {
    link: Arc<Link>,
    desk: Arc<Desk>,
    channel: Arc<str>,
    /// How long a free name is remembered, as the release script takes it.
    retain: String,
    state: watch::Sender<State>,
    waiting: AtomicU64,
    /// Counts those who ever waited.
    waited: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nobody listens yet, or just now; the reader sees to it.
    Opening,
    Open,
    Closed,
}

/// Without anybody who waits for so long, the subscription is closed.
const IDLE: Duration = Duration::from_secs(60);
/// How long who waits waits for the subscription before it asks without.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often a silent subscription is tried.
const PING: Duration = Duration::from_secs(5);

impl Wake {
    pub(super) fn new(link: &Arc<Link>, desk: &Arc<Desk>, channel: String, retain: String) -> Self {
        let ears = Ears {
            link: link.clone(),
            desk: desk.clone(),
            channel: channel.into(),
            retain,
            state: watch::Sender::new(State::Closed),
            waiting: AtomicU64::new(0),
            waited: AtomicU64::new(0),
        };
        Self { ears: Arc::new(ears), reader: Mutex::default() }
    }

    pub(super) fn channel(&self) -> &str {
        &self.ears.channel
    }

    /// Counts one who waits, until it is dropped.
    pub(super) fn enter(&self) -> Waiting {
        self.ears.waiting.fetch_add(1, Ordering::AcqRel);
        self.ears.waited.fetch_add(1, Ordering::AcqRel);
        Waiting(self.ears.clone())
    }

    /// Sees to it that somebody listens. Who joins a queue before that would be passed over.
    pub(super) fn is_open(&self) -> bool {
        self.start();
        *self.ears.state.borrow() == State::Open
    }

    /// The same, with a moment's patience. Where there is no subscription to be had, nobody has to wait for it.
    pub(super) async fn opens(&self) -> bool {
        if self.is_open() {
            return true;
        }
        let (mut state, link) = (self.ears.state.subscribe(), &self.ears.link);
        tokio::select! {
            biased;
            open = state.wait_for(|s| *s == State::Open) => open.is_ok(),
            () = link.clock().sleep_until(link.now() + PATIENCE) => false,
        }
    }

    fn start(&self) {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // Decided under the lock that the reader's end is judged by: it says that it is closed before it ends.
        let closed = *self.ears.state.borrow() == State::Closed;
        if closed || reader.as_ref().is_none_or(JoinHandle::is_finished) {
            self.ears.state.send_replace(State::Opening);
            *reader = Some(tokio::spawn(self.ears.clone().read()));
        }
    }

    pub(super) fn close(&self) {
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            reader.abort();
            self.ears.desk.hears(&self.ears.channel, false);
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        self.close();
    }
}

/// One who waits.
#[derive(Debug)]
pub(super) struct Waiting(Arc<Ears>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why a subscription ended.
enum End {
    Idle,
    Lost,
}

impl Ears {
    /// Listens until nobody waits any more. A place in a queue outlives a reconnect, so the first thing after one is
    /// that all who wait ask again.
    async fn read(self: Arc<Self>) {
        let mut pause = Duration::from_millis(10);
        loop {
            if let Ok(subscription) = self.link.subscribe(&self.channel).await {
                pause = Duration::from_millis(10);
                self.state.send_replace(State::Open);
                self.desk.hears(&self.channel, true);
                self.desk.wake_all();
                let (sink, stream) = subscription.split();
                let end = self.listen(sink, stream).await;
                self.desk.hears(&self.channel, false);
                if let End::Idle = end {
                    break;
                }
            } else if self.waiting.load(Ordering::Acquire) == 0 {
                break;
            }
            self.state.send_replace(State::Opening);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
        self.state.send_replace(State::Closed);
    }

    async fn listen(&self, mut sink: PubSubSink, mut stream: PubSubStream) -> End {
        let mut tick = tokio::time::interval(PING);
        let (mut idle_for, mut seen) = (Duration::ZERO, self.waited.load(Ordering::Acquire));
        tick.tick().await;
        loop {
            let next = pin!(next(&mut stream));
            tokio::select! {
                biased;
                message = next => match message {
                    Some(payload) => self.hear(&payload).await,
                    None => return End::Lost,
                },
                _ = tick.tick() => {
                    let waited = self.waited.load(Ordering::Acquire);
                    let idle = self.waiting.load(Ordering::Acquire) == 0 && waited == seen;
                    seen = waited;
                    idle_for = if idle { idle_for + PING } else { Duration::ZERO };
                    if idle_for >= IDLE {
                        return End::Idle;
                    }
                    let pong = tokio::time::timeout(self.link.timeout(), sink.ping::<redis::Value>()).await;
                    if !matches!(pong, Ok(Ok(_))) {
                        return End::Lost;
                    }
                }
            }
        }
    }

    /// Hands a grant to the one who waits for it. One that nobody here waits for is given back at once, or it would
    /// stay until its lease ends.
    async fn hear(&self, payload: &[u8]) {
        let Some(message) = Message::parse(payload) else { return };
        let (id, key) = (message.id.to_string(), message.key.clone());
        if self.desk.deliver(message) == Addressee::Unknown
            && let Ok(live) = self.link.live().await
        {
            let args: [&[u8]; 3] = [id.as_bytes(), b"00000", self.retain.as_bytes()];
            script::RELEASE.tell(&live, &LockKeys::new(&key).all(), &args).await;
        }
    }
}

async fn next(stream: &mut PubSubStream) -> Option<Vec<u8>> {
    use futures_core::Stream;
    let message = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await?;
    Some(message.get_payload_bytes().to_vec())
}
