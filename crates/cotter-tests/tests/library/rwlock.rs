//! Readers and writers, on a clock that the test moves.

use crate::steps::waiters;
use cotter::{Client, ErrorKind, Eviction, Guard, Lease, ManualClock, Owner, Released, memory};
use cotter_testkit::timing;
use cotter_testkit::timing::FAR;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn pair() -> (Client, Client) {
    let store = memory::Store::new();
    let connect = || Client::builder().connect_to(store.clone()).wait().unwrap();
    (connect(), connect())
}

fn until(condition: impl Fn() -> bool) {
    timing::until("it comes about", condition);
}

#[test]
fn readers_share_and_writers_do_not() {
    let (one, other) = pair();
    let first = one.rwlock("a").read().wait().unwrap();
    let second = one.rwlock("a").try_read().wait().unwrap().expect("readers share");
    let third = other.rwlock("a").try_read().wait().unwrap().expect("also over clients");
    assert!(first.token() < second.token() && second.token() < third.token());
    assert!(one.rwlock("a").try_write().wait().unwrap().is_none());
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none(), "the mutex is the writer's side");
    drop((first, second, third));
    let writer = other.rwlock("a").try_write().wait().unwrap().expect("free");
    assert!(one.rwlock("a").try_read().wait().unwrap().is_none());
    assert!(other.rwlock("a").try_read().wait().unwrap().is_none());
    drop(writer);
    drop(one.rwlock("a").try_read_for(FAR).wait().unwrap().expect("free"));
}

#[test]
fn a_waiting_writer_stops_new_readers_and_is_followed_by_those_who_waited() {
    let (one, other) = pair();
    let reader = one.rwlock("a").read().wait().unwrap();
    let lock = other.rwlock("a");
    let writer = std::thread::spawn(move || lock.write().wait().unwrap());
    until(|| waiters(&one) == 1);
    assert!(one.rwlock("a").try_read().wait().unwrap().is_none());
    let late: Vec<_> = (0..3)
        .map(|_| {
            let lock = one.rwlock("a");
            std::thread::spawn(move || lock.read().wait().unwrap())
        })
        .collect();
    until(|| waiters(&one) == 2);
    let before = reader.token();
    drop(reader);
    let writer = writer.join().unwrap();
    assert!(writer.token() > before);
    let written = writer.token();
    drop(writer);
    let readers: Vec<_> = late.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(readers.iter().all(|r| r.token() > written && r.is_valid()), "all three at once");
}

#[test]
fn a_writer_that_downgrades_lets_readers_in_and_no_writer() {
    let (one, other) = pair();
    let writer = one.rwlock("a").write().wait().unwrap();
    let token = writer.token();
    let (lock, mutex) = (other.rwlock("a"), one.mutex("a"));
    let reader = std::thread::spawn(move || lock.read().wait().unwrap());
    until(|| waiters(&one) == 1);
    let rival = std::thread::spawn(move || mutex.lock().wait().unwrap());
    let down = writer.downgrade().wait().unwrap();
    assert_eq!(down.token(), token);
    let reader = reader.join().unwrap();
    until(|| waiters(&other) == 1);
    assert!(down.is_valid() && reader.is_valid() && !rival.is_finished());
    assert_eq!(Guard::from(down).release().wait().unwrap(), Released::Yes);
    assert_eq!(Guard::from(reader).release().wait().unwrap(), Released::Yes);
    assert!(rival.join().unwrap().token() > token);
}

#[test]
fn what_the_same_owner_may_do() {
    let (one, _) = pair();
    let me = Owner::new();
    let lock = one.rwlock("a").owner(&me);
    let writer = lock.write().wait().unwrap();
    let inner = lock.try_read().wait().unwrap().expect("shared inside exclusive");
    assert_eq!(inner.holds(), 2);
    assert_eq!(writer.downgrade().wait().unwrap_err().kind(), ErrorKind::Misuse);
    drop(inner);
    let reader = lock.read().wait().unwrap();
    assert_eq!(lock.read().wait().unwrap().holds(), 2);
    for error in [lock.write().wait().unwrap_err(), lock.try_write().wait().unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Upgrade, "{error}");
    }
    assert_eq!(one.mutex("a").owner(&me).lock().wait().unwrap_err().kind(), ErrorKind::Upgrade);
    drop(reader);
    drop(lock.try_write().wait().unwrap().expect("given back"));
}

#[test]
fn a_downgraded_lock_is_renewed_and_lost_like_any_other() {
    let clock = ManualClock::new();
    let client = Client::builder().clock(clock.clone()).connect("memory:").wait().unwrap();
    let writer = client.rwlock("a").lease(Lease::renewed(S * 9)).write().wait().unwrap();
    let reader = writer.downgrade().wait().unwrap();
    clock.advance(S * 100);
    assert!(reader.is_valid());
    drop(client.rwlock("a").try_read().wait().unwrap().expect("readers share"));
    clock.suspend(S * 20);
    assert!(!reader.is_valid());
    drop(client.rwlock("a").try_write().wait().unwrap().expect("free"));
}

/// It has the writer's token, under which the store takes no earlier write.
#[test]
fn a_writer_that_becomes_a_reader_goes_on_writing_notes() {
    let (one, other) = pair();
    let writer = one.rwlock("a").write().wait().unwrap();
    writer.put_note("by the writer").wait().unwrap();
    let late = writer.put_note("by the writer, too late");
    let reader = writer.downgrade().wait().unwrap();
    assert_eq!(late.wait().unwrap_err().kind(), ErrorKind::Lost);
    reader.put_note("by the reader").wait().unwrap();
    assert_eq!(other.note("a").wait().unwrap().expect("it is there").bytes, b"by the reader");
    reader.finish().wait().unwrap();
}

/// The store keeps the note of the largest token. To write after that is no loss.
#[test]
fn readers_write_notes_in_any_order() {
    let client = Client::connect("memory:").wait().unwrap();
    let lock = client.rwlock("a");
    let (older, newer) = (lock.read().wait().unwrap(), lock.read().wait().unwrap());
    assert!(older.token() < newer.token());
    newer.put_note("newer").wait().unwrap();
    older.put_note("older").wait().unwrap();
    assert_eq!(client.note("a").wait().unwrap().expect("there is a note").bytes, b"newer");
    older.check().unwrap();
    older.finish().wait().unwrap();
    // Nor does a write of one who is not there any more count as done.
    let evicted = lock.read().wait().unwrap();
    newer.finish().wait().unwrap();
    assert!(matches!(client.admin().evict("a").wait().unwrap(), Eviction::Evicted { .. }));
    assert_eq!(evicted.put_note("evicted").wait().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(client.note("a").wait().unwrap().expect("there is a note").bytes, b"newer");
}
