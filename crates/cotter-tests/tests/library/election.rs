//! Elections: who leads, and what those who follow are told.

use cotter::{Client, ErrorKind, Leader, LeaderWatch, Lease, LossCause, ManualClock, Owner, memory, quorum};
use cotter_testkit::faulty::{Call, Faults, Faulty};
use cotter_testkit::timing::{FAR, first_within};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::time::timeout;

const S: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_secs(20);

fn pair() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let connect = || {
        let client = Client::builder().clock(clock.clone()).lease(Lease::fixed(10 * S));
        client.connect_to(store.clone()).wait().unwrap()
    };
    (clock.clone(), connect(), connect())
}

/// Follows on a thread of its own.
fn follow(mut watch: LeaderWatch) -> Receiver<Option<Leader>> {
    let (tell, told) = channel();
    std::thread::spawn(move || while tell.send(watch.blocking_changed().unwrap().into_leader()).is_ok() {});
    told
}

fn said(leader: Option<Leader>) -> Option<(u64, Option<String>)> {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    leader.map(|leader| (leader.token.get(), leader.announcement.map(text)))
}

/// What the follower is told next, moving the time until it is told something.
fn next(told: &Receiver<Option<Leader>>, clock: &ManualClock) -> Option<(u64, Option<String>)> {
    let leader = first_within(FAR, || {
        clock.advance(Duration::from_millis(20));
        told.recv_timeout(Duration::from_millis(2)).ok()
    });
    said(leader.expect("the follower is told something"))
}

#[test]
fn an_observer_sees_each_leader_and_that_there_is_none() {
    let (_, one, other) = pair();
    let told = follow(other.election("a").watch());
    let told = || said(told.recv_timeout(SOON).expect("it is told"));
    assert_eq!(told(), None);
    let election = one.election("a");
    for address in ["x:1", "y:2"] {
        let leadership = election.campaign().wait().unwrap();
        let token = leadership.token().get();
        assert_eq!(told(), Some((token, None)));
        leadership.announce(address).wait().unwrap();
        assert_eq!(told(), Some((token, Some(address.to_owned()))));
        assert_eq!(said(other.election("a").leader().wait().unwrap()), Some((token, Some(address.into()))));
        leadership.resign().wait().unwrap();
        assert_eq!(told(), None);
    }
}

/// Its first note follows the lock by a round trip, and whoever looks in between has not seen a change.
#[test]
fn a_leader_that_announces_itself_is_one_change() {
    let (clock, one, other) = pair();
    let told = follow(other.election("a").watch());
    assert_eq!(next(&told, &clock), None);
    let guard = one.mutex("a").lock().wait().unwrap();
    // It looks again, finds a new holder, and waits for its first word.
    clock.advance(5 * S);
    assert!(
        told.recv_timeout(Duration::from_millis(100)).is_err(),
        "violation[leader-in-two-steps]: it is told at once"
    );
    guard.put_note_at("cotter:leader", "cotter leader 1 announced\nx:1").wait().unwrap();
    assert_eq!(next(&told, &clock), Some((guard.token().get(), Some("x:1".to_owned()))));
    guard.finish().wait().unwrap();
    let leadership = one.election("b").announcing("y:2").campaign().wait().unwrap();
    let leader = said(other.election("b").leader().wait().unwrap());
    assert_eq!(leader, Some((leadership.token().get(), Some("y:2".to_owned()))));
}

/// A call that is dropped, as in a `select!`, does not make it silent once more.
#[test]
fn who_holds_the_lock_and_says_nothing_is_reported_although_calls_are_dropped() {
    let (clock, one, other) = pair();
    let guard = one.mutex("a").lock().wait().unwrap();
    let mut watch = other.election("a").watch();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let led = first_within(FAR, || {
        let soon = runtime.block_on(async { timeout(Duration::from_millis(20), watch.changed()).await });
        clock.advance(Duration::from_millis(100));
        soon.ok()
    });
    let led = said(led.expect("it is told").unwrap().into_leader());
    let right = Some((guard.token().get(), None));
    assert_eq!(led, right, "violation[silent-leader-never-seen]: until its lease has ended");
}

#[test]
fn the_announcement_of_a_dead_leader_is_not_the_next_ones() {
    let (clock, one, other) = pair();
    let dead = one.election("a").campaign().wait().unwrap();
    dead.announce("dead").wait().unwrap();
    let told = follow(other.election("a").watch());
    assert_eq!(next(&told, &clock), Some((dead.token().get(), Some("dead".to_owned()))));
    // A holder that announces nothing, not even that it was elected.
    let waiting = other.mutex("a").lease(Lease::fixed(30 * S)).lock();
    let waiting = std::thread::spawn(move || waiting.wait().unwrap());
    clock.advance(10 * S);
    let successor = waiting.join().unwrap();
    let seen = loop {
        match next(&told, &clock) {
            None => {}
            Some(leader) => break leader,
        }
    };
    let right = (successor.token().get(), None);
    assert_eq!(seen, right, "violation[dead-leader]: the successor has announced nothing");
    let leader = said(one.election("a").leader().wait().unwrap());
    assert_eq!(leader, Some(right), "violation[dead-leader]: the successor has announced nothing");
    let error = dead.announce("still here").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[test]
fn an_observer_is_told_when_a_lease_ends_and_when_a_leader_is_evicted() {
    let (clock, one, other) = pair();
    let told = follow(other.election("a").watch());
    assert_eq!(next(&told, &clock), None);
    for evicted in [false, true] {
        let leadership = one.election("a").campaign().wait().unwrap();
        assert_eq!(next(&told, &clock), Some((leadership.token().get(), None)));
        let before = cotter::clock::Clock::now(&clock);
        if evicted {
            let _ = other.admin().evict_with("a", cotter::EvictOrder::new().at_once()).wait().unwrap();
        }
        assert_eq!(next(&told, &clock), None);
        let took = cotter::clock::Clock::now(&clock).since(before);
        assert!(took <= if evicted { 6 * S } else { 11 * S }, "it took {took:?}");
        drop(leadership);
    }
}

#[test]
fn candidates_of_one_process_each_have_a_term_of_their_own() {
    let (_, one, other) = pair();
    let election = one.election("a");
    let first = election.campaign().wait().unwrap();
    let candidates: Vec<_> = (0..4)
        .map(|n| {
            let (election, client) = (election.clone(), other.clone());
            std::thread::spawn(move || {
                let leadership = election.campaign().wait().unwrap();
                leadership.announce(format!("candidate {n}")).wait().unwrap();
                let leader = client.election("a").leader().wait().unwrap();
                let mine = (leadership.token().get(), Some(format!("candidate {n}")));
                assert_eq!(said(leader), Some(mine));
                drop(leadership);
            })
        })
        .collect();
    drop(first);
    candidates.into_iter().for_each(|c| c.join().unwrap());
    // Nor is a leadership re-entered.
    let me = Owner::new();
    let held = one.mutex("b").owner(&me).lock().wait().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let again = runtime.block_on(me.scope(async { one.election("b").campaign_for(Duration::ZERO).await }));
    assert!(again.unwrap().is_none());
    drop(held);
}

#[test]
fn a_dropped_campaign_leaves_nothing_behind() {
    let (clock, one, other) = pair();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for polls in 0..6 {
        runtime.block_on(async {
            let mut campaign = std::pin::pin!(one.election("a").campaign());
            for _ in 0..polls {
                let once = std::future::poll_fn(|cx| std::task::Poll::Ready(campaign.as_mut().poll(cx)));
                if once.await.is_ready() {
                    break;
                }
            }
        });
        clock.advance(Duration::from_millis(50));
        let won = other.election("a").campaign_for(Duration::ZERO).wait().unwrap();
        assert!(won.is_some(), "after {polls} polls");
        won.unwrap().resign().wait().unwrap();
    }
}

#[test]
fn readers_of_the_same_name_do_not_lead() {
    let (_, one, other) = pair();
    let reader = one.rwlock("a").read().wait().unwrap();
    assert_eq!(other.election("a").leader().wait().unwrap(), None);
    assert!(other.election("a").campaign_for(Duration::ZERO).wait().unwrap().is_none());
    reader.finish().wait().unwrap();
    let writer = one.rwlock("a").write().wait().unwrap();
    let leader = said(other.election("a").leader().wait().unwrap());
    assert_eq!(leader, Some((writer.token().get(), None)), "whoever holds the lock leads");
}

#[test]
fn a_leader_that_resigned_learns_that_it_does_not_lead() {
    let (_, one, _) = pair();
    let leadership = one.election("a").campaign().wait().unwrap();
    let lost = leadership.lost();
    drop(leadership.resign()); // not even polled
    assert_eq!(lost.wait_for(SOON).expect("it is told").cause, LossCause::Released);
    assert!(one.election("").campaign().wait().unwrap_err().kind() == ErrorKind::InvalidName);
    let long = vec![0; cotter::Election::MAX_ANNOUNCEMENT + 100];
    let leadership = one.election("a").campaign().wait().unwrap();
    assert_eq!(leadership.announce(long.clone()).wait().unwrap_err().kind(), ErrorKind::InvalidInput);
    let error = one.election("b").announcing(long).campaign().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(one.mutex("b").try_lock().wait().unwrap().is_some(), "it was refused before the lock was taken");
}

/// It has been won, and observers find out without an announcement.
#[test]
fn a_leadership_is_kept_although_no_majority_has_answered_the_announcement() {
    let faults: Vec<_> = (0..3).map(Faults::seeded).collect();
    let members = faults.iter().map(|faults| Faulty::new(memory::Store::new(), faults));
    let store = quorum::Store::new(members).unwrap();
    let client = Client::builder().connect_to(store).wait().unwrap();
    let silence = || faults.iter().for_each(|faults| faults.lose_next_reply(Call::Note));
    let guard = client.mutex("a").lock().wait().unwrap();
    silence();
    let error = guard.put_note("x").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoQuorum, "{error}");
    guard.finish().wait().unwrap();
    silence();
    let leadership = client.election("a").campaign().wait().unwrap();
    leadership.check().unwrap();
    let leader = client.election("a").leader().wait().unwrap().expect("somebody leads");
    assert_eq!(leader.token, leadership.token());
    leadership.resign().wait().unwrap();
    silence();
    let unheard = client.election("a").announcing("x:1").campaign().wait();
    let error = unheard.expect_err("violation[leader-unannounced]: nobody would find it");
    assert_eq!(error.kind(), ErrorKind::NoQuorum, "{error}");
    assert!(client.election("a").campaign_for(SOON).wait().unwrap().is_some(), "it was given up");
}

#[cfg(unix)]
#[test]
fn a_store_without_notes_has_no_elections() {
    let directory = tempfile::tempdir().unwrap();
    let client = Client::connect(format!("flock:{}/lock", directory.path().display())).wait().unwrap();
    let election = client.election("a");
    assert_eq!(election.campaign().wait().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(election.leader().wait().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(election.watch().blocking_changed().unwrap_err().kind(), ErrorKind::Unsupported);
    // Refused before the lock was taken.
    assert!(client.mutex("a").try_lock().wait().unwrap().is_some());
}
