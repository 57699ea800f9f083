//! Pruning: what goes, and what stays.

use super::place::Place;
use cotter::{Client, PruneOrder, PruneOutcome};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn everything() -> PruneOrder {
    PruneOrder::unused_for(Duration::ZERO)
}

fn prune(client: &Client, order: PruneOrder) -> Vec<(String, PruneOutcome)> {
    let pruned = client.admin().prune(order).collect().wait().unwrap();
    pruned.into_iter().map(|pruned| (pruned.name.to_string(), pruned.outcome)).collect()
}

fn deleted(names: &[&str]) -> Vec<(String, PruneOutcome)> {
    names.iter().map(|name| ((*name).to_owned(), PruneOutcome::Deleted)).collect()
}

fn left(place: &Place) -> usize {
    fs::read_dir(place.directory()).unwrap().count()
}

fn age(path: &Path, age: Duration) {
    File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

/// A lock file as a holder leaves it.
fn write(place: &Place, name: &str, last: u64) {
    let text = format!("cotter lock 1\nlast={last}\nname={name}\nstate=free\nend\n");
    fs::write(place.directory().join(format!("{name}.lock")), text).unwrap();
}

#[test]
fn only_what_is_old_and_free_goes() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let long = "x".repeat(512);
    for name in ["a", "b", "c d", &long] {
        drop(client.mutex(name).lock().wait().unwrap().release().wait());
    }
    age(&place.lock(), DAY * 31);
    assert_eq!(prune(&client, PruneOrder::unused_for(DAY * 32)), []);
    assert_eq!(prune(&client, PruneOrder::unused_for(DAY * 30).dry_run()), deleted(&["a"]));
    assert_eq!(prune(&client, PruneOrder::unused_for(DAY * 30)), deleted(&["a"]));
    let held = client.mutex("b").lock().wait().unwrap();
    assert_eq!(prune(&client, everything().prefix("c")), deleted(&["c d"]));
    assert_eq!(prune(&client, everything()), deleted(&[&long]));
    held.check().unwrap();
    assert_eq!(left(&place), 1);
}

/// The kernel's lock on the lock file is free: the holder of permits is known by another one.
#[test]
fn permits_that_are_taken_stay() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let permit = one.semaphore("a", 2).acquire().wait().unwrap();
    assert_eq!(prune(&other, everything()), []);
    permit.check().unwrap();
    assert!(other.semaphore("a", 2).take(2).try_acquire().wait().unwrap().is_none());
    drop(permit.release().wait());
    assert_eq!(prune(&other, everything()), deleted(&["a"]));
    assert_eq!(left(&place), 0);
}

#[test]
fn what_killed_holders_have_left_goes_too() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    drop(client.rwlock("a").read().wait().unwrap().release().wait());
    for (directory, file) in [("a.readers", "00000000000000000007"), ("a.permits", "00000000000000000007-1")]
    {
        fs::create_dir_all(place.directory().join(directory)).unwrap();
        fs::write(place.directory().join(directory).join(file), "").unwrap();
    }
    fs::create_dir(place.directory().join("a.queue")).unwrap();
    assert_eq!(prune(&client, everything()), deleted(&["a"]));
    assert_eq!(left(&place), 0);
}

#[test]
fn tokens_go_on_rising() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let mut last = 0;
    for _ in 0..100 {
        let guard = client.mutex("a").lock().wait().unwrap();
        assert!(guard.token().get() > last);
        last = guard.token().get();
        drop(guard.release().wait());
        assert_eq!(prune(&client, everything()), deleted(&["a"]));
    }
    // One that was granted before the clock was set back.
    write(&place, "a", last + 3_600_000_000);
    assert_eq!(prune(&client, everything()), [("a".to_owned(), PruneOutcome::AheadOfClock)]);
    assert!(client.mutex("a").lock().wait().unwrap().token().get() > last + 3_600_000_000);
}

#[test]
fn notes_keep_a_name_unless_they_go_too() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let guard = client.mutex("a").lock().wait().unwrap();
    guard.put_note("one").wait().unwrap();
    drop(guard.release().wait());
    client.latch("latch").create(1).wait().unwrap();
    assert_eq!(prune(&client, everything()), [("a".to_owned(), PruneOutcome::HasNotes)]);
    // A note that was written since keeps it all.
    age(&place.lock(), DAY * 31);
    assert_eq!(prune(&client, PruneOrder::unused_for(DAY * 30).with_notes()), []);
    assert_eq!(prune(&client, everything().with_notes().dry_run()), deleted(&["a", "latch"]));
    assert_eq!(client.note("a").wait().unwrap().unwrap().bytes, b"one");
    assert_eq!(prune(&client, everything().with_notes()), deleted(&["a", "latch"]));
    assert_eq!(left(&place), 1, "the directory of the notes of all names");
    assert!(client.note("a").wait().unwrap().is_none());
    let guard = client.mutex("a").lock().wait().unwrap();
    guard.put_note("two").wait().unwrap();
    assert_eq!(client.note("a").wait().unwrap().unwrap().bytes, b"two");
}

/// Writers of notes go on while others prune them, and lose none.
#[test]
fn notes_are_written_while_they_are_pruned() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let client = place.client().wait().unwrap();
            for round in 0..200 {
                let guard = client.mutex("a").lock().wait().unwrap();
                guard.put_note(format!("{round}")).wait().unwrap();
                let read = client.note("a").wait().unwrap().map(|note| note.bytes);
                assert_eq!(read, Some(format!("{round}").into_bytes()), "it is held");
                drop(guard.release().wait());
            }
        });
        while !writer.is_finished() {
            prune(&client, everything().with_notes());
        }
    });
}

/// Two parties count down one latch each round, while it is pruned: it must count both, or be gone.
#[test]
fn swaps_meet_while_notes_are_pruned() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    std::thread::scope(|scope| {
        let parties: Vec<_> = (0..2)
            .map(|party: u32| {
                let place = &place;
                scope.spawn(move || {
                    let client = place.client().wait().unwrap();
                    (0..100)
                        .filter(|_| {
                            client.latch("a").create(3).wait().unwrap();
                            // It may be gone by now.
                            client.latch("a").count_down(party.to_string()).wait().is_ok()
                        })
                        .count()
                })
            })
            .collect();
        while parties.iter().any(|party| !party.is_finished()) {
            prune(&client, everything().with_notes());
        }
        for party in parties {
            party.join().unwrap();
        }
    });
}

#[test]
fn what_is_not_a_lock_or_only_becomes_one_stays() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let path = |name: &str| place.directory().join(name);
    fs::write(path("foreign.lock"), "hello").unwrap();
    fs::write(path("a"), "").unwrap();
    fs::create_dir(path("directory.lock")).unwrap();
    std::os::unix::fs::symlink(path("a"), path("link.lock")).unwrap();
    fs::write(place.lock(), "").unwrap();
    assert_eq!(prune(&client, everything()), [], "somebody may be about to lock it");
    age(&place.lock(), Duration::from_secs(60));
    assert_eq!(prune(&client, everything()), deleted(&["a"]));
    assert_eq!(left(&place), 4);
}

#[test]
fn very_many_go_page_by_page() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    for number in 0..2500 {
        write(&place, &format!("deploy-{number}"), 7);
    }
    assert_eq!(prune(&client, everything().prefix("deploy-1")).len(), 1111);
    assert_eq!(prune(&client, everything().dry_run()).len(), 1389);
    assert_eq!((prune(&client, everything()).len(), left(&place)), (1389, 0));
}
