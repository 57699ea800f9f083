//! Futures that are polled late, or no more: by a seed, and what seeds have found.

use cotter::{Client, Lease, LossCause, memory};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::simulation::{Store, many_unpolled, unpolled};
use cotter_testkit::sized;
use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const TTL: Duration = Duration::from_millis(300);

#[test]
fn nothing_depends_on_who_polls() {
    let stories =
        many_unpolled(Store::Members, 0..sized(300, 20_000) as u64).unwrap_or_else(|e| panic!("{e}"));
    let _ = writeln!(std::io::stdout(), "{stories}");
    let enough = stories.held > 1_500 && stories.dropped > 1_500 && stories.faults > 300;
    demand(enough, Kind::Void, stories.to_string());
}

#[test]
fn a_seed_of_these_repeats_exactly() {
    for seed in 0..sized(20, 200) {
        let (one, other) = (unpolled(Store::Members, seed), unpolled(Store::Members, seed));
        let differs = one.history.iter().zip(&other.history).find(|(a, b)| a != b);
        assert!(differs.is_none(), "seed {seed}: {differs:?}");
        assert_eq!(one.history.len(), other.history.len(), "seed {seed}");
    }
}

/// Polls once, and no more.
fn poll<F: Future>(future: Pin<&mut F>) {
    let is_pending = future.poll(&mut Context::from_waker(Waker::noop())).is_pending();
    assert!(is_pending, "its request is under way");
}

fn slow() -> Faults {
    let link = Faults::seeded(0);
    let trip = Duration::from_millis(6);
    link.set(Plan { before: trip, after: trip, ..Plan::default() });
    link
}

async fn client(store: &memory::Store, link: &Faults) -> Client {
    let store = Faulty::new(store.clone(), link);
    Client::builder().lease(Lease::renewed(TTL)).in_this_runtime().connect_to(store).await.unwrap()
}

/// Otherwise they would pass the lock round, by way of the store, for as long as they are kept.
#[tokio::test(start_paused = true)]
async fn futures_that_are_not_polled_leave_the_lock_to_others() {
    let (store, link) = (memory::Store::new(), slow());
    let (client, other) = (client(&store, &link).await, client(&store, &slow()).await);
    let mutex = client.mutex("a");
    let held = mutex.lock().await.unwrap();
    let (mut one, mut two) = (pin!(mutex.lock()), pin!(mutex.lock()));
    poll(one.as_mut());
    poll(two.as_mut());
    held.finish().await.unwrap();
    sleep(TTL).await;
    let asked = link.calls(Call::Acquire);
    sleep(TTL * 20).await;
    assert_eq!(link.calls(Call::Acquire), asked, "nobody has taken what the store gave");
    for mutex in [mutex, other.mutex("a")] {
        let free = mutex.try_lock().await.unwrap();
        free.expect("nobody else takes it").finish().await.unwrap();
    }
    let held = other.mutex("a").lock().await.unwrap();
    // Who is polled again waits again, whoever else sleeps.
    poll(two.as_mut());
    sleep(TTL).await;
    held.finish().await.unwrap();
    let locked = |attempt| timeout(TTL, attempt);
    locked(two).await.expect("it is free").unwrap().finish().await.unwrap();
    locked(one).await.expect("it is free").unwrap().finish().await.unwrap();
}

/// The time of a ticket begins when it is handed out, not when the store was asked for it.
#[tokio::test(start_paused = true)]
async fn a_ticket_that_is_read_late_has_its_time() {
    let client = client(&memory::Store::new(), &slow()).await;
    let (guard, ttl) = (client.mutex("a").lock().await.unwrap(), TTL * 8);
    let mut turning = pin!(guard.into_ticket(ttl));
    poll(turning.as_mut());
    sleep(TTL / 10).await;
    // Sent now, and answered soon after.
    poll(turning.as_mut());
    sleep(ttl * 3 / 4).await;
    let ticket = turning.await.unwrap();
    sleep(ttl * 3 / 4).await;
    client.resume(&ticket).await.expect("it has not ended").finish().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_downgrade_does_not_begin_a_new_hold() {
    let client = client(&memory::Store::new(), &slow()).await;
    let lease = Lease::renewed(TTL).max_hold(TTL * 6);
    let writer = client.rwlock("a").lease(lease).write().await.unwrap();
    sleep(TTL * 4).await;
    let reader = writer.downgrade().await.unwrap();
    sleep(TTL * 4).await;
    let lost = reader.check().expect_err("it has been held for longer");
    assert_eq!(lost.cause, LossCause::MaxHold);
}

/// The answer is old when it is read, but the lease has been renewed all the time.
#[tokio::test(start_paused = true)]
async fn a_downgrade_that_is_polled_late_keeps_the_lock() {
    let client = client(&memory::Store::new(), &slow()).await;
    let mut downgrade = pin!(client.rwlock("a").write().await.unwrap().downgrade());
    poll(downgrade.as_mut());
    sleep(TTL).await;
    // Whoever needs the caller's task for it has it done by the second poll.
    let early = poll_fn(|cx| Poll::Ready(downgrade.as_mut().poll(cx))).await;
    sleep(TTL * 2).await;
    let reader = match early {
        Poll::Ready(reader) => reader.unwrap(),
        Poll::Pending => downgrade.await.unwrap(),
    };
    assert!(reader.is_valid(), "{:?}", reader.check());
    reader.finish().await.unwrap();
}

/// Its grant is renewed when it is read late, and the answer to that may be read late as well.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_polled_late_comes_to_a_valid_guard() {
    let client = client(&memory::Store::new(), &slow()).await;
    let mut attempt = pin!(client.mutex("a").lock());
    // It is sent, granted and answered, then the renewal is sent and carried out.
    for pause in [20, 200, 20, 600] {
        poll(attempt.as_mut());
        sleep(Duration::from_millis(pause)).await;
    }
    let guard = attempt.await.unwrap();
    assert!(guard.is_valid(), "{:?}", guard.check());
    guard.finish().await.unwrap();
}
