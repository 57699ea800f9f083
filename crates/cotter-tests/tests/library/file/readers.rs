//! Readers and writers.

use super::place::Place;
use cotter::{Client, Eviction, Guard, LossCause, Mode, Released};
use cotter_testkit::timing::until;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, RwLock};
use std::thread;
use std::time::{Duration, Instant};

fn records(place: &Place) -> usize {
    std::fs::read_dir(place.directory().join("a.readers")).map_or(0, Iterator::count)
}

#[test]
fn all_who_read_are_shown_and_one_who_writes() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let first = one.rwlock("a").read().wait().unwrap();
    let second = other.rwlock("a").read().wait().unwrap();
    let third = other.rwlock("a").read().wait().unwrap();
    let shown = || one.holder("a").wait().unwrap().map(|r| r.holders).unwrap_or_default();
    let tokens: Vec<_> = shown().iter().map(|h| h.token).collect();
    assert_eq!(tokens, [first.token(), second.token(), third.token()]);
    assert!(shown().iter().all(|h| h.mode == Mode::Shared && h.pid == Some(std::process::id())));
    assert!(shown().iter().all(|h| h.since.is_some() && !h.label.is_empty()));
    let must_exit = Eviction::HolderMustExit { pid: std::process::id() };
    assert_eq!(other.admin().evict("a").wait().unwrap(), must_exit);
    drop(second);
    assert_eq!(shown().len(), 2);
    drop((first, third));
    assert_eq!((shown().len(), records(&place)), (0, 0));
    let _writer = other.rwlock("a").try_write().wait().unwrap().expect("free");
    assert_eq!(shown()[0].mode, Mode::Exclusive);
}

/// What a killed reader left: it is not shown, and the next writer clears it away.
// Without the kernel's table a record counts while its process lives.
#[cfg(not(cotter_portable))]
#[test]
fn a_record_alone_reads_nothing() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let reader = client.rwlock("a").read().wait().unwrap();
    let records = place.directory().join("a.readers");
    let record = std::fs::read_dir(&records).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read(&record).unwrap();
    drop(reader);
    std::fs::write(&record, &text).unwrap();
    assert!(client.holder("a").wait().unwrap().is_none());
    let reader = client.rwlock("a").read().wait().unwrap();
    let holders = client.holder("a").wait().unwrap().unwrap().holders;
    assert_eq!(holders.iter().map(|h| h.token).collect::<Vec<_>>(), [reader.token()]);
    drop(reader);
    drop(client.mutex("a").try_lock().wait().unwrap().expect("free"));
    assert!(!records.exists());
}

#[test]
fn readers_lose_a_lock_file_that_goes_away() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let readers = [one.rwlock("a").read().wait().unwrap(), other.rwlock("a").read().wait().unwrap()];
    std::fs::remove_file(place.directory().join("a.lock")).unwrap();
    for reader in readers {
        until("it is told", || !reader.is_valid());
        assert_eq!(reader.check().unwrap_err().cause, LossCause::Gone);
        assert_eq!(Guard::from(reader).release().wait().unwrap(), Released::AlreadyLost);
    }
    drop(other.mutex("a").try_lock().wait().unwrap().expect("another file"));
}

#[test]
fn readers_that_waited_together_are_let_in_together() {
    let place = Place::new();
    let clients = [
        place.client().wait().unwrap(),
        place.client().wait().unwrap(),
        place.client().wait().unwrap(),
        place.client().wait().unwrap(),
    ];
    let first = clients[0].rwlock("a").read().wait().unwrap();
    let lock = clients[1].rwlock("a");
    let writer = thread::spawn(move || lock.write().wait().unwrap());
    until("it queues", || place.waiters() == 1);
    assert!(clients[2].rwlock("a").try_read().wait().unwrap().is_none(), "a writer waits");
    let readers: Vec<_> = clients[1..]
        .iter()
        .map(|client| {
            let lock = client.rwlock("a");
            thread::spawn(move || lock.read().wait().unwrap())
        })
        .collect();
    // The first client's writer stands before its reader in one place.
    until("they queue", || place.waiters() == 3);
    let before = first.token();
    drop(first);
    let writer = writer.join().unwrap();
    assert!(writer.token() > before);
    let written = writer.token();
    drop(writer);
    let readers: Vec<_> = readers.into_iter().map(|t| t.join().unwrap()).collect();
    assert!(readers.iter().all(|r| r.token() > written && r.is_valid()), "all three at once");
}

/// Eight threads on four clients. Every acquisition begins after a release, whose token has to be smaller.
#[test]
fn tokens_of_concurrent_readers_are_unique_and_rise() {
    const ROUNDS: usize = 200;
    let place = Place::new();
    let clients: Vec<Client> = (0..4).map(|_| place.client().wait().unwrap()).collect();
    let given = Mutex::new((0, HashSet::new()));
    thread::scope(|scope| {
        for at in 0..8 {
            let (client, given) = (&clients[at % 4], &given);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let released = given.lock().unwrap().0;
                    let lock = client.rwlock("a");
                    // Now and then somebody writes, from the same counter.
                    let guard: Guard = match (at, round % 50) {
                        (0, 49) => lock.write().wait().unwrap().into(),
                        _ => lock.read().wait().unwrap().into(),
                    };
                    let token = guard.token().get();
                    assert!(token > released, "{token} after {released}");
                    drop(guard);
                    let mut given = given.lock().unwrap();
                    given.0 = given.0.max(token);
                    assert!(given.1.insert(token), "{token} was given twice");
                }
            });
        }
    });
    assert_eq!(given.into_inner().unwrap().1.len(), 8 * ROUNDS);
    assert_eq!(records(&place), 0);
}

/// Writers that try all the time never get in while a writer becomes a reader.
#[test]
fn no_writer_gets_in_between_when_a_writer_becomes_a_reader() {
    let place = Place::new();
    let (one, rivals) =
        (place.client().wait().unwrap(), [place.client().wait().unwrap(), place.client().wait().unwrap()]);
    let stop = AtomicBool::new(false);
    let reads = RwLock::new(false);
    thread::scope(|scope| {
        for rival in &rivals {
            let (stop, reads) = (&stop, &reads);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // Held while it is asked: the reader cannot have gone meanwhile.
                    let reads = reads.read().unwrap();
                    if *reads {
                        assert!(rival.rwlock("a").try_write().wait().unwrap().is_none());
                    }
                }
            });
        }
        for _ in 0..100 {
            let writer = one.rwlock("a").write().wait().unwrap();
            let token = writer.token();
            *reads.write().unwrap() = true;
            let reader = writer.downgrade().wait().unwrap();
            assert_eq!(reader.token(), token);
            let second = rivals[0].rwlock("a").try_read().wait().unwrap().expect("readers share");
            assert!(second.token() > token);
            *reads.write().unwrap() = false;
            drop((reader, second));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// One who is not woken looks after a second: most of it is left, at whatever time the writer becomes a reader here.
// Nobody is woken by a ticket: whoever waits looks every 50 ms.
#[cfg(not(cotter_portable))]
#[test]
fn those_who_wait_to_read_are_woken_when_a_writer_becomes_a_reader() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let mut waits = Vec::new();
    for round in 0..10 {
        let writer = one.rwlock("a").write().wait().unwrap();
        let lock = other.rwlock("a");
        let reader = thread::spawn(move || {
            let reader = lock.read().wait().unwrap();
            (reader, Instant::now())
        });
        until("it queues", || place.waiters() == 1);
        thread::sleep(Duration::from_millis(80 + 5 * round));
        let start = Instant::now();
        let down = writer.downgrade().wait().unwrap();
        let (reader, got) = reader.join().unwrap();
        assert!(down.is_valid() && reader.is_valid());
        waits.push(got - start);
    }
    waits.sort_unstable();
    assert!(waits[7] < Duration::from_millis(300), "nothing wakes: {waits:?}");
}
