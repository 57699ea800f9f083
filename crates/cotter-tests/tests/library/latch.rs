//! Latches: each party counts once, however many ask at once and whatever happens to the note.

use cotter::{Client, ErrorKind, Latch, LatchEnd, memory};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn pair() -> (Client, Client) {
    let store = memory::Store::new();
    let connect = || Client::builder().connect_to(store.clone()).wait().unwrap();
    (connect(), connect())
}

/// A wait on another thread.
fn waiting(latch: &Latch) -> std::thread::JoinHandle<Option<LatchEnd>> {
    let latch = latch.clone();
    std::thread::spawn(move || latch.wait_for(LONG).wait().unwrap())
}

#[test]
fn a_latch_opens_once_when_every_party_has_counted_down() {
    let (one, other) = pair();
    let (latch, same) = (one.latch("a"), other.latch("a"));
    latch.create(3).wait().unwrap();
    same.create(3).wait().unwrap();
    let wait = waiting(&same);
    assert_eq!(latch.count_down("x").wait().unwrap(), 2);
    assert_eq!(same.count_down("x").wait().unwrap(), 2, "violation[counted-twice]: by another process");
    assert_eq!(same.count_down("y").wait().unwrap(), 1);
    let state = latch.state().wait().unwrap().expect("it exists");
    assert_eq!((state.of, state.left, state.parties), (3, 1, vec!["x".to_owned(), "y".to_owned()]));
    assert_eq!(latch.wait_for(Duration::ZERO).wait().unwrap(), None);
    assert!(!wait.is_finished());
    assert_eq!(latch.count_down("z").wait().unwrap(), 0);
    assert_eq!(wait.join().unwrap(), Some(LatchEnd::Open));
    assert_eq!(latch.count_down("late").wait().unwrap(), 0);
    assert_eq!(latch.state().wait().unwrap().expect("it stays").parties.len(), 3);
    assert_eq!(same.wait().wait().unwrap(), LatchEnd::Open);
    // A lock of the same name is something else.
    let guard = one.mutex("a").try_lock().wait().unwrap().expect("nobody holds it");
    guard.put_note("text").wait().unwrap();
    guard.finish().wait().unwrap();
    assert_eq!(same.wait().wait().unwrap(), LatchEnd::Open);
}

#[test]
fn deleting_a_latch_wakes_those_who_wait_even_if_it_is_created_again() {
    let (one, other) = pair();
    let latch = one.latch("a");
    latch.create(2).wait().unwrap();
    latch.count_down("x").wait().unwrap();
    for again in [false, true] {
        let wait = waiting(&other.latch("a"));
        // It has begun to wait, or finds a latch that is gone: the same answer.
        std::thread::sleep(Duration::from_millis(20));
        latch.delete().wait().unwrap();
        if again {
            latch.create(2).wait().unwrap();
            latch.delete().wait().unwrap();
        }
        assert_eq!(wait.join().unwrap(), Some(LatchEnd::Gone));
        assert!(latch.state().wait().unwrap().is_none());
        assert_eq!(latch.count_down("y").wait().unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(other.latch("a").wait().wait().unwrap(), LatchEnd::Gone);
        latch.delete().wait().unwrap();
        latch.create(1).wait().unwrap();
    }
    assert_eq!(latch.state().wait().unwrap().unwrap().parties.len(), 0);
}

#[test]
fn what_makes_no_latch_is_refused() {
    let (one, other) = pair();
    let latch = one.latch("a");
    for parties in [0, Latch::MAX_PARTIES + 1] {
        assert_eq!(latch.create(parties).wait().unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    latch.create(Latch::MAX_PARTIES).wait().unwrap();
    assert_eq!(other.latch("a").create(2).wait().unwrap_err().kind(), ErrorKind::LimitMismatch);
    for id in ["", "two\nlines", &"x".repeat(Latch::MAX_ID + 1)] {
        assert_eq!(latch.count_down(id).wait().unwrap_err().kind(), ErrorKind::InvalidInput, "{id:?}");
    }
    assert_eq!(one.latch("").create(1).wait().unwrap_err().kind(), ErrorKind::InvalidName);
    one.swap_note("b", "cotter:latch", 0, "{}").wait().unwrap();
    assert_eq!(other.latch("b").create(1).wait().unwrap_err().kind(), ErrorKind::ForeignKey);
    assert_eq!(other.latch("b").wait().wait().unwrap_err().kind(), ErrorKind::ForeignKey);
}

#[cfg(unix)]
#[test]
fn a_store_without_compare_and_set_has_no_latches() {
    let path = std::env::temp_dir().join(format!("cotter-latch-{}", std::process::id()));
    let client = Client::connect(format!("flock:{}", path.display())).wait().unwrap();
    let latch = client.latch("a");
    for error in [latch.create(1).wait().unwrap_err(), latch.wait().wait().unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

/// All of a hundred parties at once, each with every tenth id of another one repeated.
pub(crate) fn a_hundred_count_down_at_once(clients: &[Client]) {
    let latch = |n: usize| clients[n % clients.len()].latch("crowd");
    latch(0).create(100).wait().unwrap();
    let wait = waiting(&latch(1));
    let threads: Vec<_> = (0..100)
        .map(|n| {
            let latch = latch(n);
            std::thread::spawn(move || {
                let ids = [Some(n), n.is_multiple_of(10).then_some((n + 50) % 100)];
                for id in ids.into_iter().flatten() {
                    latch.count_down(format!("party {id}")).wait().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(wait.join().unwrap(), Some(LatchEnd::Open));
    let mut parties = latch(2).state().wait().unwrap().unwrap().parties;
    parties.sort_unstable();
    parties.dedup();
    assert_eq!(parties.len(), 100, "violation[counted-twice]: {parties:?}");
}

#[test]
fn a_hundred_parties_count_down_in_memory() {
    let (one, other) = pair();
    a_hundred_count_down_at_once(&[one, other]);
}

#[cfg(unix)]
#[test]
fn a_hundred_parties_count_down_in_files() {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("file://{}/locks", directory.path().display());
    let clients = [(); 4].map(|()| Client::connect(&url).wait().unwrap());
    a_hundred_count_down_at_once(&clients);
}
