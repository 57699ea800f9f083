//! Stores whose grants live with a session: who is told of its end, and when.

use cotter::conformance::Fixture;
use cotter::{
    Client, ErrorKind, EvictOrder, Eviction, Guard, Lease, LossCause, ManualClock, Released, memory,
};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::sessions::{Control, Sessions};
use cotter_testkit::timing::{FAR, until};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const S: Duration = Duration::from_secs(1);
const LASTS: Duration = Duration::from_secs(6);

struct World {
    clock: ManualClock,
    store: memory::Store,
    control: Control,
    client: Client,
}

fn world() -> World {
    let (clock, store, control) = (ManualClock::new(), memory::Store::new(), Control::default());
    let client = connect(&clock, &store, &control);
    World { clock, store, control, client }
}

fn connect(clock: &ManualClock, store: &memory::Store, control: &Control) -> Client {
    let sessions = Sessions::over(store.clone(), LASTS, control);
    let builder = Client::builder().lease(Lease::renewed(S * 30)).clock(clock.clone());
    builder.connect_to(sessions).wait().unwrap()
}

fn locks(client: &Client) -> [Guard; 2] {
    ["a", "b"].map(|name| client.mutex(name).lock().wait().unwrap())
}

#[test]
fn a_session_that_is_proved_goes_on() {
    let world = world();
    let guards = locks(&world.client);
    for _ in 0..100 {
        world.clock.advance(S);
        assert!(guards.iter().all(Guard::is_valid));
    }
    assert!(guards[0].remaining().unwrap() <= LASTS);
}

/// The process was stopped for longer than the server waits: the first thing that it is told on resume is the loss.
#[test]
fn every_grant_of_a_silent_session_is_lost_before_the_server_ends_it() {
    let world = world();
    let guards = locks(&world.client);
    world.control.silence();
    world.clock.advance(LASTS);
    for guard in &guards {
        assert!(!guard.is_valid(), "violation[untold-loss]: valid after the server has ended the session");
        assert_eq!(guard.check().unwrap_err().cause, LossCause::SessionLost);
        assert_eq!(guard.lost().wait_for(FAR).expect("told").cause, LossCause::SessionLost);
    }
}

/// Its last proof is older than a third of the lease: that is no reason to ask for a proof of it without a pause.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_shorter_than_the_session_is_checked_as_often_as_others() {
    let (sessions, link) =
        (Sessions::over(memory::Store::new(), LASTS, &Control::default()), Faults::seeded(0));
    let trip = Duration::from_millis(1);
    link.set(Plan { before: trip, after: trip, ..Plan::default() });
    let builder = Client::builder().lease(Lease::renewed(S)).in_this_runtime();
    let client = builder.connect_to(Faulty::new(sessions, &link)).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    tokio::time::sleep(LASTS * 3).await;
    assert!(guard.is_valid());
    let asked = link.calls(Call::Extend);
    demand(asked < 80, Kind::Untrue, format!("18 seconds with a lease of one, and {asked} renewals"));
}

#[test]
fn a_warning_comes_when_proofs_are_missing_and_not_before() {
    let world = world();
    let [guard, _other] = locks(&world.client);
    let expiring = guard.expiring(S * 60);
    for _ in 0..20 {
        world.clock.advance(S);
    }
    assert!(expiring.wait_for(Duration::ZERO).is_none(), "it is proved every two seconds");
    world.control.silence();
    for _ in 0..5 {
        world.clock.advance(S);
    }
    assert!(guard.is_valid());
    let warning = expiring.wait_for(FAR).expect("two proofs are missing").expect("it is still held");
    assert!(warning.left > Duration::ZERO && warning.left < LASTS / 2);
}

/// A task that waits takes its turn inside the process, however little is left until the next proof.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn local_turns_do_not_wait_for_half_of_a_session() {
    let control = Control::default();
    let store = Sessions::over(memory::Store::new(), S, &control);
    let lease = Lease::renewed(S * 30);
    let client = Client::builder().lease(lease).connect_to(store).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    let tasks: Vec<_> = (0..50).map(|_| tokio::spawn(takes_turns(client.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    // As many blocks as there are time slices, and one more for each end.
    let slices = start.elapsed().as_millis() as usize / 5;
    assert!(control.acquired() <= 50 + 3 * slices, "{} acquisitions, {slices} slices", control.acquired());
}

async fn takes_turns(client: Client) {
    let mutex = client.mutex("turns");
    for _ in 0..20 {
        drop(mutex.lock().await.unwrap());
    }
}

/// The claim's ttl says nothing about how long a session keeps what a late request gets.
#[test]
fn what_lands_long_after_the_ttl_is_undone() {
    let world = world();
    let mutex = world.client.mutex("a").lease(Lease::renewed(S));
    world.control.next_lands_after(S * 20);
    assert!(mutex.try_lock().wait().unwrap_err().outcome_unknown());
    for _ in 0..25 {
        world.clock.advance(S);
    }
    let other = connect(&world.clock, &world.store, &world.control);
    let got = other.mutex("a").try_lock().wait().unwrap();
    assert!(got.is_some(), "violation[left-behind]: nobody holds it, and nobody can have it");
}

/// The caller has given up by then, and the claim's ttl is over; the session lives on, and the lock with it.
#[test]
fn a_release_is_repeated_for_as_long_as_the_session_lives() {
    released_once_that_is_possible(ErrorKind::Unavailable);
}

/// The caller is told that it is denied. Whoever permits it again does not know that there is a lock to be freed.
#[test]
fn a_release_that_is_denied_is_repeated_for_as_long_as_the_session_lives() {
    released_once_that_is_possible(ErrorKind::Denied);
}

fn released_once_that_is_possible(why_not: ErrorKind) {
    let world = world();
    let other = connect(&world.clock, &world.store, &Control::default());
    let mutex = world.client.mutex("a").lease(Lease::renewed(S));
    let left: [&dyn Fn(); 2] = [&|| drop(mutex.lock().wait().unwrap()), &|| {
        world.control.next_lands_after(Duration::ZERO);
        assert!(mutex.try_lock().wait().unwrap_err().outcome_unknown());
    }];
    for leave in left {
        world.control.refuse_releases(Some(why_not));
        leave();
        for _ in 0..100 {
            world.clock.advance(S);
        }
        assert!(other.mutex("a").try_lock().wait().unwrap().is_none(), "the session keeps it");
        world.control.refuse_releases(None);
        for _ in 0..6 {
            world.clock.advance(S);
        }
        let got = other.mutex("a").try_lock().wait().unwrap();
        let got = got.expect("violation[left-behind]: nobody holds it, and nobody can have it");
        // Waited for: what lands next must find the lock free.
        assert_eq!(got.release().wait().unwrap(), Released::Yes);
    }
}

/// Where some answers come and others do not, the pauses between attempts do not become as long as in an outage.
#[tokio::test(start_paused = true)]
async fn a_release_that_fails_where_others_are_answered_is_repeated_within_seconds() {
    let (store, control) = (memory::Store::new(), Control::default());
    let connect = |control: &Control| {
        let builder = Client::builder().lease(Lease::renewed(S)).in_this_runtime();
        builder.connect_to(Sessions::over(store.clone(), LASTS, control))
    };
    let (client, other) = (connect(&control).await.unwrap(), connect(&Control::default()).await.unwrap());
    // Its renewals are answered, three in a second.
    let _held = client.mutex("b").lock().await.unwrap();
    control.refuse_releases(Some(ErrorKind::Unavailable));
    control.next_lands_after(Duration::ZERO);
    assert!(client.mutex("a").try_lock().await.unwrap_err().outcome_unknown());
    tokio::time::sleep(S * 5).await;
    control.refuse_releases(None);
    let got = other.mutex("a").try_lock_for(S * 3).await.unwrap();
    demand(got.is_some(), Kind::LeftBehind, "nobody holds it, and nobody can have it");
}

/// The session ends with it.
#[test]
fn a_release_without_an_answer_does_not_keep_a_client_that_is_dropped() {
    for is_closed in [false, true] {
        let World { clock, control, client, .. } = world();
        control.refuse_releases(Some(ErrorKind::Unavailable));
        drop(client.mutex("a").lease(Lease::renewed(S)).lock().wait().unwrap());
        clock.advance(S);
        if is_closed {
            let used = client.clone();
            let closing = std::thread::spawn(move || client.close(S * 3).wait());
            until("it is being closed", || used.holder("a").wait().is_err());
            drop(used);
            // Beyond its grace, and not to the end of the session, after which there is nothing left to release.
            (0..40).for_each(|_| clock.advance(S / 10));
            assert!(closing.join().unwrap().is_err(), "it has released nothing");
        } else {
            drop(client);
        }
        // How long the engine takes to see a new time is up to the machine.
        until("the client is gone", || {
            clock.advance(S);
            control.connections() == 0
        });
    }
}

/// Part of the store was silent, and grants what the rest has refused.
#[test]
fn what_lands_after_the_store_said_busy_is_undone() {
    for dropped in [false, true] {
        let world = world();
        let mutex = world.client.mutex("a").lease(Lease::renewed(S));
        world.control.next_is_busy_and_lands_after(S * 20);
        let trying = mutex.try_lock();
        if dropped {
            let polled = pin!(trying).poll(&mut Context::from_waker(Waker::noop()));
            // Mostly the engine asks; it may also have been faster than this thread.
            assert!(matches!(polled, Poll::Pending | Poll::Ready(Ok(None))), "{polled:?}");
        } else {
            assert!(trying.wait().unwrap().is_none(), "busy");
        }
        for _ in 0..25 {
            world.clock.advance(S);
        }
        let other = connect(&world.clock, &world.store, &world.control);
        let got = other.mutex("a").try_lock().wait().unwrap();
        assert!(got.is_some(), "violation[left-behind]: nobody holds it, and nobody can have it");
    }
}

/// Part of the store is silent, and the rest has nothing of the lock: that is no success.
#[test]
fn a_release_that_found_nothing_says_so_although_something_may_be_left() {
    let world = world();
    let guard = world.client.mutex("a").lock().wait().unwrap();
    let other = connect(&world.clock, &world.store, &Control::default());
    let evicted = other.admin().evict_with("a", EvictOrder::new().at_once()).wait().unwrap();
    assert!(matches!(evicted, Eviction::Evicted { .. }));
    world.control.next_release_is_unsettled_for(S * 5);
    let released = guard.release().wait().unwrap();
    assert_eq!(released, Released::AlreadyLost, "violation[untold-loss]: given back although it was gone");
    world.control.next_release_is_unsettled_for(S * 5);
    assert_eq!(world.client.mutex("a").lock().wait().unwrap().release().wait().unwrap(), Released::Yes);
}

#[test]
fn an_extension_that_gives_less_is_an_error() {
    let world = world();
    let guard = world.client.mutex("a").lock().wait().unwrap();
    guard.extend(S * 60).wait().unwrap();
    world.control.extend_only_by(S * 10);
    guard.extend(S * 10).wait().unwrap();
    let error = guard.extend(S * 60).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(guard.is_valid(), "it is still held");
}

fn fixture() -> Fixture {
    let control = Control::default();
    let store = Sessions::over(memory::Store::new(), S, &control);
    Fixture::sharing(store).ending_sessions(move || control.silence())
}

cotter::conformance_tests!(contract, fixture());
