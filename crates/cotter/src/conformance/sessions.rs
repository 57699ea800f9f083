//! Unsolicited losses: which guards are notified, and how soon.

use super::fixture::{Fixture, SOON, TTL, WHILE, give, is_busy, refused, settle, take, wait_in_task};
use super::leases::short;
use crate::backend::{Capabilities, Connect, Feature, Mode, Session, Until};
use crate::{Client, Guard, Lease, LossCause, Lost};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

async fn client(f: &Fixture, ttl: Duration) -> Client {
    let shared = f.store();
    let builder = Client::builder().lease(Lease::renewed(ttl));
    builder.connect_to(shared).await.expect("the store can be reached")
}

async fn told(guard: &Guard, within: Duration) -> Lost {
    let told = tokio::time::timeout(within, guard.lost()).await;
    told.unwrap_or_else(|_| panic!("the loss of {} was not reported within {within:?}", guard.name()))
}

/// The entry is deleted by another party: the holder learns of it at its next renewal, a third of the ttl away.
pub(super) async fn a_deleted_entry_is_told(f: &Fixture) {
    let by = f.connect().await;
    let client = client(f, short(&by) * 3).await;
    let guard = client.mutex(f.name("deleted")).lock().await.expect("it is free");
    if !f.remove(&by, guard.name()).await {
        return;
    }
    let lost = told(&guard, short(&by) * 3 + SOON).await;
    assert!(matches!(lost.cause, LossCause::Gone | LossCause::Evicted), "{lost}");
    client.close(SOON).await.expect("nothing is left to do");
}

/// The runtime that acquired the lock has ended: waiters for the loss in other runtimes are still notified.
pub(super) async fn a_loss_is_told_after_the_runtime_that_acquired_has_ended(f: &Fixture) {
    let by = f.connect().await;
    let client = client(f, short(&by) * 3).await;
    let mutex = client.mutex(f.name("runtime"));
    let acquiring = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(mutex.lock()).expect("it is free")
    });
    let guard = acquiring.join().expect("no panic");
    if f.has_sessions() {
        f.end_sessions();
    } else if !f.remove(&by, guard.name()).await {
        return;
    }
    told(&guard, short(&by) * 3 + SOON).await;
    client.close(SOON).await.expect("nothing is left to do");
}

/// A session ends: every grant that lives with it is lost, and none of them later than the proof says.
pub(super) async fn a_session_that_ends_is_told_to_every_grant(f: &Fixture) {
    if !f.has_sessions() {
        return;
    }
    let backend = f.connect().await;
    let claims = ["one", "two"].map(|name| f.claim(name));
    let mut sessions = Vec::new();
    for claim in &claims {
        sessions.extend(take(&backend, claim).await.session);
    }
    f.end_sessions();
    assert_eq!(sessions.len(), claims.len(), "a store whose sessions end gives grants that live with one");
    let lasts =
        sessions.iter().map(|s| s.proof().expect("the server ends it, so it has to be proved").1).max();
    tokio::time::sleep(lasts.unwrap_or_default()).await;
    settle().await;
    for session in sessions {
        let (as_of, lasts) = session.proof().expect("it stays");
        assert!(
            session.lost().is_some() || f.now() >= as_of + lasts,
            "the session has ended, but its loss was not reported: {session:?}"
        );
    }
}

/// A grant outlives the time for which its session was proved: it is proved again in time.
pub(super) async fn a_session_is_kept_alive(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    let session = take(&one, &held).await.session;
    let Some((as_of, lasts)) = session.as_ref().and_then(Session::proof).filter(|(_, lasts)| *lasts < TTL)
    else {
        return give(&one, &held).await;
    };
    tokio::time::sleep((as_of + lasts * 3 / 2).since(f.now())).await;
    let (as_of, lasts) = session.as_ref().and_then(Session::proof).expect("it stays");
    assert!(f.now() < as_of + lasts && session.and_then(|s| s.lost()).is_none(), "it was not proved again");
    is_busy(&other, &f.claim("a")).await;
    give(&one, &held).await;
}

/// A waiter stays queued for longer than its ttl: where a place in the queue dies with a lease, waiting keeps it
/// alive.
pub(super) async fn a_waiting_claim_outlives_its_ttl(f: &Fixture) {
    let (one, other) = (f.connect().await, f.connect().await);
    let held = f.claim("a");
    take(&one, &held).await;
    let mut waiter = f.claim("a");
    waiter.ttl = short(&one);
    let waiting = wait_in_task(&other, &waiter, f.within(short(&one) * 2 + SOON));
    tokio::time::sleep(short(&one) * 2 + one.info().capabilities.ttl_step).await;
    assert!(!waiting.is_finished());
    let newcomer = f.claim("a");
    let newcomer = if one.info().capabilities.ordered {
        let waiting = wait_in_task(&one, &newcomer, f.within(short(&one) * 2 + SOON));
        f.queued(&other, 2).await;
        Some(waiting)
    } else {
        None
    };
    give(&one, &held).await;
    let first = waiting.await.expect("no panic").expect("it has waited all the time");
    assert!(newcomer.as_ref().is_none_or(|n| !n.is_finished()), "a newcomer was served before it");
    give(&other, &first.claim).await;
    if let Some(newcomer) = newcomer {
        assert!(newcomer.await.expect("no panic").is_some());
    }
}

/// Unsupported operations are refused; that the store is not asked is shown below, without the engine's tasks.
pub(super) async fn what_it_cannot_do_is_refused(f: &Fixture) {
    let client = client(f, Duration::from_secs(20)).await;
    let info = client.info().clone();
    let lacks = |feature: Feature| info.require(feature).is_err();
    let name = f.name("refused");
    if lacks(Feature::Notes) {
        refused(client.note(&name).await);
    }
    if lacks(Feature::Swap) {
        refused(client.swap_note(&name, "", 0, b"x".to_vec()).await);
        let latch = client.latch(&name);
        refused(latch.create(1).await);
        refused(latch.count_down("party").await);
        refused(latch.wait_for(WHILE).await);
        refused(latch.delete().await);
    }
    if lacks(Feature::SharedLocks) {
        refused(client.rwlock(&name).try_read().await);
    }
    if lacks(Feature::Permits) {
        refused(client.semaphore(&name, 3).set_limit(4).await);
        refused(client.semaphore(&name, 3).try_acquire().await);
        refused(client.semaphore(&name, 3).acquire().await);
    }
    if lacks(Feature::Tickets) {
        let ticket = format!("ct1.{}.1.1.x.refused", f.claim("refused").id);
        let ticket = ticket.parse().expect("a ticket of another store");
        refused(client.resume(&ticket).await);
        refused(client.admin().extend_ticket(&ticket, SOON).await);
        refused(client.admin().release_ticket(&ticket).await);
    }
    let writer = client.rwlock(&name).write().await.expect("it is free");
    if lacks(Feature::Downgrade) {
        refused(writer.downgrade().await);
    }
    let guard = client.mutex(f.name("ticket")).lock().await.expect("it is free");
    if lacks(Feature::Tickets) {
        refused(guard.into_ticket(SOON).await);
    }
    client.close(SOON).await.expect("nothing is left to do");
}

/// A backend refuses what it cannot do without a request to the store.
pub(super) async fn a_backend_refuses_before_it_asks(f: &Fixture) {
    let backend = f.connect().await;
    let Capabilities { shared, permits, tickets, downgrade, notes, swap, .. } = backend.info().capabilities;
    let mut claim = f.claim("refused");
    let modes = [(shared, Mode::Shared), (permits, Mode::Permits { take: 1, of: 3 })];
    for (_, mode) in modes.into_iter().filter(|(can, _)| !can) {
        claim.mode = mode;
        for until in [Until::Now, f.within(SOON)] {
            unasked(backend.acquire(&claim, until)).await;
        }
    }
    claim.mode = Mode::Exclusive;
    if !permits {
        unasked(backend.set_limit(&claim.name, 3)).await;
    }
    if !tickets {
        unasked(backend.adopt(&claim, &f.claim("refused"))).await;
    }
    // Notes that a store does not have cannot be asked for.
    assert!(notes || backend.notes().is_none());
    if let Some(notes) = backend.notes().filter(|_| !swap) {
        unasked(notes.swap(&claim.name, "", 0, b"x")).await;
    }
    if !downgrade {
        let granted = take(&backend, &claim).await;
        unasked(backend.downgrade(&granted)).await;
        give(&backend, &claim).await;
    }
}

/// Refused, and the store was not asked: what is sent has to be waited for, so that the answer would not be there at once.
async fn unasked<T: fmt::Debug>(answer: impl Future<Output = crate::Result<T>>) {
    let mut answer = std::pin::pin!(answer);
    let first = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
    let Poll::Ready(answer) = first else { panic!("violation[asked]: it is not refused at once") };
    refused(answer);
}

/// Several clients of one store under test.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<dyn Connect>);

#[async_trait::async_trait]
impl Connect for Shared {
    async fn connect(&self, host: &crate::backend::Host) -> crate::Result<Arc<dyn crate::backend::Backend>> {
        self.0.connect(host).await
    }
}
