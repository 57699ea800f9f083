//! Permits in a directory.

use super::place::Place;
use cotter::{Client, ErrorKind, Eviction, LossCause, Permit, Released};
use cotter_testkit::timing::until;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// The files of permits, without the records.
fn files(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.directory().join("a.permits")).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_none());
    paths.sort_unstable();
    paths
}

fn take(client: &Client, take: u32) -> Permit {
    client.semaphore("a", 4).take(take).try_acquire().wait().unwrap().expect("so many are free")
}

/// Each way in which the files of a holder can go.
#[test]
fn a_permit_whose_files_go_is_lost() {
    let remove = |place: &Place| fs::remove_file(&files(place)[0]).unwrap();
    let replace = |place: &Place| {
        let (path, new) = (files(place)[0].clone(), place.directory().join("new"));
        fs::write(&new, "").unwrap();
        fs::rename(new, path).unwrap();
    };
    let remove_all = |place: &Place| fs::remove_dir_all(place.directory().join("a.permits")).unwrap();
    let remove_lock = |place: &Place| fs::remove_file(place.lock()).unwrap();
    let ways: [&dyn Fn(&Place); 4] = [&remove, &replace, &remove_all, &remove_lock];
    for way in ways {
        let place = Place::new();
        let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
        let permit = take(&one, 3);
        way(&place);
        until("it is told", || !permit.is_valid());
        assert_eq!(permit.check().unwrap_err().cause, LossCause::Gone);
        let next = take(&other, 1);
        assert!(next.token() > permit.token());
        assert_eq!(permit.release().wait().unwrap(), Released::AlreadyLost);
        assert!(next.is_valid());
    }
}

/// The release looks by itself: here nobody had time to notice before.
#[test]
fn a_loss_just_before_the_release_is_noticed() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    for _ in 0..20 {
        let permit = take(&client, 1);
        fs::remove_file(&files(&place)[0]).unwrap();
        assert_eq!(permit.release().wait().unwrap(), Released::AlreadyLost);
    }
    let (lost, kept) = (take(&client, 1), take(&client, 1));
    fs::remove_file(&files(&place)[0]).unwrap();
    assert_eq!(lost.release().wait().unwrap(), Released::AlreadyLost);
    assert_eq!(kept.release().wait().unwrap(), Released::Yes);
}

/// A name may change its use whenever nobody uses it, and leaves nothing behind.
#[test]
fn a_name_is_a_lock_or_a_semaphore() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let mixed = |error: cotter::Error| assert_eq!(error.kind(), ErrorKind::LimitMismatch, "{error}");
    for _ in 0..3 {
        let lock = one.mutex("a").lock().wait().unwrap();
        mixed(other.semaphore("a", 4).acquire().wait().unwrap_err());
        drop(lock);
        let reader = one.rwlock("a").read().wait().unwrap();
        mixed(other.semaphore("a", 4).acquire().wait().unwrap_err());
        drop(reader);
        let permit = take(&one, 4);
        mixed(other.mutex("a").lock().wait().unwrap_err());
        mixed(other.rwlock("a").read().wait().unwrap_err());
        mixed(other.semaphore("a", 3).acquire().wait().unwrap_err());
        let semaphore = other.semaphore("a", 4);
        let waiting = thread::spawn(move || semaphore.acquire().wait().map(drop));
        until("it queues", || place.waiters() == 1);
        mixed(one.rwlock("a").write().wait().unwrap_err());
        drop(permit);
        waiting.join().unwrap().unwrap();
    }
    drop(one.mutex("a").lock().wait().unwrap());
    assert!(!place.directory().join("a.permits").exists());
}

/// Whoever comes for permits while others wait for the lock.
#[test]
fn one_who_mixes_them_up_does_not_wait() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let lock = one.mutex("a").lock().wait().unwrap();
    let next = other.mutex("a");
    let waiting = thread::spawn(move || next.lock().wait().map(drop));
    until("it queues", || place.waiters() == 1);
    let third = place.client().wait().unwrap();
    let refused = third.semaphore("a", 4).acquire().wait().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::LimitMismatch);
    drop(lock);
    waiting.join().unwrap().unwrap();
}

/// What processes leave that die while they take permits.
#[test]
fn leftovers_count_for_nothing_and_go() {
    let place = Place::new();
    let client = place.client().wait().unwrap();
    let permit = take(&client, 1);
    let (path, token) = (files(&place)[0].clone(), permit.token().get());
    let at = |name: &str| path.with_file_name(name);
    let record = fs::read(at(&format!("{token:020}-1.holder"))).unwrap();
    for name in [".00000000000000000007-4", "00000000000000000008-4.holder", "else"] {
        fs::write(at(name), &record).unwrap();
    }
    dead_holder(&at("00000000000000000009-4"));
    fs::write(at("00000000000000000009-4.holder"), &record).unwrap();
    let shown = client.holder("a").wait().unwrap().unwrap();
    assert_eq!(shown.holders.iter().map(|h| h.token).collect::<Vec<_>>(), [permit.token()]);
    let rest = take(&client, 3);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 4, "two grants, each with a record");
    drop((permit, rest));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
}

/// The file of a dead holder.
fn dead_holder(path: &std::path::Path) {
    if cfg!(cotter_portable) {
        return fs::write(path, "").unwrap();
    }
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn an_eviction_names_the_process() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let (first, second) = (take(&one, 1), take(&one, 1));
    let evict = |token| other.admin().evict_with("a", cotter::EvictOrder::new().only(token)).wait().unwrap();
    let must_exit = Eviction::HolderMustExit { pid: std::process::id() };
    assert_eq!(evict(first.token()), must_exit);
    assert_eq!(evict(second.token()), must_exit);
    drop(first);
    assert_eq!(evict((second.token().get() + 1).into()), Eviction::NotHeld);
    assert_eq!(evict(second.token()), must_exit);
}

/// A process that has the descriptors keeps the permits, and nothing else does.
#[test]
fn who_has_the_descriptors_keeps_the_permits() {
    let place = Place::new();
    let (one, other) = (place.client().wait().unwrap(), place.client().wait().unwrap());
    let permit = take(&one, 3);
    let kept = permit.descriptors().unwrap();
    assert_eq!(kept.len(), 1);
    // As if the process had been killed: without a release.
    std::mem::forget(permit);
    let all = || other.semaphore("a", 4).take(2).try_acquire().wait().unwrap().is_some();
    assert!(!all());
    drop(kept);
    assert!(!all(), "this process has its own");
}

/// Eight threads on four clients take one to three of four, and some of them wait no longer than they like.
#[test]
fn there_are_never_too_many_and_no_token_comes_twice() {
    const ROUNDS: u32 = 60;
    let place = Place::new();
    let clients: Vec<Client> = (0..4).map(|_| place.client().wait().unwrap()).collect();
    let (held, tokens) = (AtomicU32::new(0), Mutex::new(HashSet::new()));
    thread::scope(|scope| {
        for at in 0..8 {
            let (client, held, tokens) = (&clients[at % 4], &held, &tokens);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let count = 1 + (at as u32 + round) % 3;
                    let semaphore = client.semaphore("a", 4).take(count);
                    let permit = match round % 5 {
                        0 => semaphore.try_acquire_for(Duration::from_micros(500)).wait().unwrap(),
                        _ => semaphore.acquire().wait().map(Some).unwrap(),
                    };
                    let Some(permit) = permit else { continue };
                    let all = held.fetch_add(count, Ordering::SeqCst) + count;
                    assert!(all <= 4, "{all} of 4 are held");
                    assert!(tokens.lock().unwrap().insert(permit.token()), "given twice");
                    held.fetch_sub(count, Ordering::SeqCst);
                    assert_eq!(permit.release().wait().unwrap(), Released::Yes);
                }
            });
        }
    });
    assert_eq!(files(&place).len(), 0);
    drop(take(&clients[0], 4));
}
