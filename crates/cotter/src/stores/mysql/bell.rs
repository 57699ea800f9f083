//! The bell of one waiter, and the session that waits in the queue for it.

use super::bells::{Bells, Slot};
use super::session::SESSION_NUMBER;
use crate::Name;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

/// Whether it rings. Dropping it leaves the queue, or lets go of the bell.
#[derive(Debug)]
pub(super) struct Bell {
    state: Arc<AtomicU8>,
    /// Passes the bell on and joins the queue again after a pause.
    orders: mpsc::UnboundedSender<Duration>,
}

/// The session waits in the queue, or is being opened.
const WAITS: u8 = 0;
/// The bell is ours.
const RINGS: u8 = 1;
/// There is no session any more.
const GONE: u8 = 2;

/// The work of a session for a bell.
#[derive(Debug)]
pub(super) struct Work {
    name: Name,
    state: Arc<AtomicU8>,
    woken: Arc<Notify>,
    orders: mpsc::UnboundedReceiver<Duration>,
}

/// The time limit of one call, in seconds. The server keeps the order of arrival within it.
const STANDS: u32 = 3600;
/// A session without work is closed after this time.
const IDLE: Duration = Duration::from_secs(10);
/// The pause between two attempts to end a call, which may not have arrived yet, and how many there are.
const KILL_PAUSE: Duration = Duration::from_millis(50);
const KILLS: u32 = 20;
/// The time limit for a statement that does not wait for a lock.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// The digest is short enough for every server, and equal for names that are equal as bytes only.
const GET: &str = "SELECT GET_LOCK(CONCAT('cotter:', SHA1(CONCAT(DATABASE(), '/', ?, '/', ?))), ?)";
const RELEASE: &str = "SELECT RELEASE_LOCK(CONCAT('cotter:', SHA1(CONCAT(DATABASE(), '/', ?, '/', ?))))";

impl Bell {
    pub(super) fn new(name: &Name, woken: &Arc<Notify>) -> (Self, Work) {
        let (orders, received) = mpsc::unbounded_channel();
        let state = Arc::new(AtomicU8::new(WAITS));
        let work = Work { name: name.clone(), state: state.clone(), woken: woken.clone(), orders: received };
        (Self { state, orders }, work)
    }

    /// Whether it is this waiter's turn, as far as the bell goes.
    pub(super) fn rings(&self) -> bool {
        self.state.load(Ordering::Acquire) == RINGS
    }

    /// Whether nothing will be heard of it any more.
    pub(super) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) == GONE
    }

    /// Passes it to the next waiter, and joins the queue again after a pause.
    pub(super) fn pass_on(&self, pause: Duration) {
        self.state.store(WAITS, Ordering::Release);
        let _ = self.orders.send(pause);
    }
}

/// A session, which waits in one queue after the other.
struct Ringer {
    bells: Arc<Bells>,
    conn: Conn,
}

/// How the work for a bell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The session holds nothing, and can be used again.
    Free,
    /// The session cannot be used any more.
    Broken,
}

/// Opens a session and does this work, and then other work, until there has been none for a while, or requests go elsewhere.
pub(super) async fn tend(slot: Slot, mut work: Work) {
    let (bells, stays) = (slot.bells(), slot.bells().stays());
    let place = bells.place();
    let Some(conn) = open(bells).await else { return bells.failed() };
    let mut ringer = Ringer { bells: bells.clone(), conn };
    loop {
        let end = tokio::select! {
            biased;
            end = ringer.serve(&mut work) => end,
            () = bells.until_elsewhere(place) => End::Broken,
        };
        work.end();
        let next = bells.rest(place).filter(|_| end == End::Free);
        let Some(next) = next else { break };
        match timeout(IDLE, next).await {
            Ok(Ok(next)) => work = next,
            _ => break,
        }
    }
    let _ = timeout(REQUEST_TIMEOUT, ringer.conn.disconnect()).await;
    drop(stays);
}

/// A session whose number is the server's own: behind a proxy it may be that of somebody else.
async fn open(bells: &Bells) -> Option<Conn> {
    let (mut conn, _) = bells.servers.first_good(false).await.ok()?;
    let asked = timeout(REQUEST_TIMEOUT, conn.query_first(SESSION_NUMBER)).await;
    let number: Option<u32> = asked.ok()?.ok()?;
    (number == Some(conn.id())).then_some(conn)
}

/// Also when the task of its session panics, or ends with its runtime.
impl Drop for Work {
    fn drop(&mut self) {
        self.end();
    }
}

impl Work {
    /// There is no session for it. Its waiter knows: to be woken, it would ask again at once, for ever.
    pub(super) fn withdraw(self) {
        self.state.store(GONE, Ordering::Release);
    }

    /// Nothing will be heard any more: the waiter asks by itself.
    fn end(&self) {
        if self.state.swap(GONE, Ordering::AcqRel) != GONE {
            self.woken.notify_one();
        }
    }
}

impl Ringer {
    /// Stands in the queue, holds the bell and lets go of it, until nobody needs it.
    async fn serve(&mut self, work: &mut Work) -> End {
        let name = work.name.clone();
        loop {
            let (is_ours, is_over) = match self.stand(work).await {
                Some(stood) => stood,
                None => return End::Broken,
            };
            if !is_ours && !is_over {
                continue;
            }
            let mut pause = None;
            if is_ours && !is_over {
                work.state.store(RINGS, Ordering::Release);
                work.woken.notify_one();
                pause = work.orders.recv().await;
            }
            let released = self.conn.exec_drop(RELEASE, (self.bells.servers.prefix(), name.as_str()));
            if is_ours && !matches!(timeout(REQUEST_TIMEOUT, released).await, Ok(Ok(()))) {
                return End::Broken;
            }
            let Some(pause) = pause else { return End::Free };
            sleep(pause).await;
        }
    }

    /// Waits for the bell. Returns whether it is ours and whether nobody needs it any more; `None` if the session is broken.
    async fn stand(&mut self, work: &mut Work) -> Option<(bool, bool)> {
        let id = self.conn.id();
        let values = (self.bells.servers.prefix().to_owned(), work.name.to_string(), STANDS);
        let mut call = pin!(self.conn.exec_first::<Option<u8>, _, _>(GET, values));
        loop {
            tokio::select! {
                biased;
                // NULL: the server could not do it, or somebody has ended the call.
                answer = &mut call => return answer.ok().flatten().flatten().map(|got| (got == 1, false)),
                // An order that comes before the bell rings is out of date.
                order = work.orders.recv() => if order.is_none() { break },
            }
        }
        // The call may not have arrived yet when it is ended: that is repeated until it answers.
        for _ in 0..KILLS {
            let killed = self.bells.kill(id);
            let _ = timeout(REQUEST_TIMEOUT, killed).await;
            if let Ok(answer) = timeout(KILL_PAUSE, &mut call).await {
                return answer.ok().map(|got| (got == Some(Some(1)), true));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_for_a_bell_is_told_when_nobody_tends_it_any_more() {
        let woken = Arc::default();
        let (bell, work) = Bell::new(&Name::new("a").unwrap(), &woken);
        assert!(!bell.is_gone());
        drop(work);
        assert!(bell.is_gone());
        timeout(REQUEST_TIMEOUT, woken.notified()).await.expect("it is told");
    }
}
