//! A lock file that does not stay where it is: the holder is told, or the next gets an error.

use super::place::Place;
use cotter::{Client, ErrorKind, Guard, LossCause, Released, Severity, file};
use cotter_testkit::history::Kind;
use cotter_testkit::timing::{FAR, Stopwatch, happens};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Told long before the next renewal, which comes after 10 s.
async fn is_told(guard: &Guard) {
    let since = Stopwatch::of(Kind::LateLoss);
    let lost = happens("it is told", guard.lost()).await;
    since.at_most(Duration::from_secs(5), "it is told");
    assert_eq!(lost.cause, LossCause::Gone);
    assert!(!guard.is_valid());
}

#[tokio::test]
async fn deleted() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let guard = one.mutex("a").lock().await.unwrap();
    let another = one.mutex("b").lock().await.unwrap();
    fs::remove_file(place.lock()).unwrap();
    is_told(&guard).await;
    let next = other.mutex("a").try_lock().await.unwrap().expect("it is free");
    assert!(next.token() > guard.token(), "the clock stands in for the counter");
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert!(another.is_valid() && next.is_valid());
}

/// The release looks by itself: here nobody had time to notice before.
#[tokio::test]
async fn deleted_just_before_the_release() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    for round in 0..20 {
        let guard = client.mutex("a").lock().await.unwrap();
        let signal = guard.lost();
        fs::remove_file(place.lock()).unwrap();
        assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost, "round {round}");
        assert_eq!(signal.await.cause, LossCause::Gone);
    }
    let guard = client.mutex("a").lock().await.unwrap();
    fs::remove_file(place.lock()).unwrap();
    assert_eq!(guard.keep_for(FAR).await.unwrap(), Released::AlreadyLost);
    let readers = [client.rwlock("a").read().await.unwrap(), client.rwlock("a").read().await.unwrap()];
    fs::remove_file(place.lock()).unwrap();
    for reader in readers {
        assert_eq!(Guard::from(reader).release().await.unwrap(), Released::AlreadyLost);
    }
}

#[tokio::test]
async fn renamed_away() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    fs::rename(place.lock(), place.directory().join("elsewhere")).unwrap();
    is_told(&guard).await;
}

#[tokio::test]
async fn replaced() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    fs::write(place.directory().join("new"), "").unwrap();
    fs::rename(place.directory().join("new"), place.lock()).unwrap();
    is_told(&guard).await;
}

#[tokio::test]
async fn the_directory_is_removed_and_made_again() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let (a, b) = (client.mutex("a").lock().await.unwrap(), client.mutex("b").lock().await.unwrap());
    fs::remove_dir_all(place.directory()).unwrap();
    is_told(&a).await;
    is_told(&b).await;
    let error = client.mutex("c").try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("create it again"), "{error}");
    let _made = place.client().await.unwrap();
    let c = client.mutex("c").try_lock().await.unwrap().expect("free");
    fs::remove_file(place.directory().join("c.lock")).unwrap();
    is_told(&c).await;
}

#[tokio::test]
async fn the_directory_is_moved() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    fs::rename(place.directory(), place.0.path().join("elsewhere")).unwrap();
    is_told(&guard).await;
    assert!(client.mutex("b").try_lock().await.is_err());
}

/// Nothing is reported when a parent is moved: the next look finds it.
#[tokio::test]
async fn a_parent_is_moved() {
    let place = Place::new();
    let parent = place.0.path().join("parent");
    fs::create_dir(&parent).unwrap();
    let client = Client::builder()
        .lease(cotter::Lease::renewed(Duration::from_millis(300)))
        .connect_to(file::Store::at(parent.join("locks")))
        .await
        .unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    fs::rename(&parent, place.0.path().join("elsewhere")).unwrap();
    is_told(&guard).await;
}

#[tokio::test]
async fn a_waiter_survives_what_its_holder_does_not() {
    let place = Place::new();
    let (one, other) = (place.client().await.unwrap(), place.client().await.unwrap());
    let guard = one.mutex("a").lock().await.unwrap();
    let waiting = tokio::spawn(other.mutex("a").lock());
    let queue = place.directory().join("a.queue");
    while !queue.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The place in the queue is taken away too.
    fs::remove_dir_all(&queue).unwrap();
    fs::remove_file(place.lock()).unwrap();
    is_told(&guard).await;
    let next = happens("it is served", waiting).await.unwrap().unwrap();
    assert!(next.token() > guard.token());
}

#[tokio::test]
async fn what_is_not_ours_is_left_alone() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let path = place.lock();
    let other = place.directory().join("b.lock");
    fs::write(&path, "#!/bin/sh\necho hello\n").unwrap();
    is_foreign(&client, "a").await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\necho hello\n");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    is_foreign(&client, "a").await;
    fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    is_foreign(&client, "a").await;
    fs::remove_file(&path).unwrap();
    let done = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(done.success());
    is_foreign(&client, "a").await;
    client.mutex("b").lock().await.unwrap().finish().await.unwrap();
    fs::rename(&other, &path).unwrap();
    is_foreign(&client, "a").await;
    let findings = client.admin().diagnose().await.unwrap();
    let told = |f: &cotter::Finding| f.severity == Severity::Problem && f.message.contains("a.lock");
    assert!(findings.iter().any(told), "{findings:?}");
}

/// A member of the group could keep all others waiting by them: whoever opens a pipe to read it waits for a writer.
#[tokio::test]
async fn pipes_and_links_in_place_of_our_files_keep_nobody_waiting() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    guard.put_note_at("text", "secret").await.unwrap();
    let note = place.directory().join("notes/a/text");
    assert!(note.is_file());
    let elsewhere = place.0.path().join("elsewhere");
    fs::rename(&note, &elsewhere).unwrap();
    let load = || happens("an answer", client.note_at("a", "text"));
    std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
    assert!(load().await.is_err(), "a link was followed");
    fs::remove_file(&note).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&note).status().unwrap().success());
    assert_eq!(load().await.unwrap_err().kind(), ErrorKind::ForeignKey);

    // What looks like the ticket of a waiter.
    let queue = place.directory().join("a.queue");
    fs::create_dir_all(&queue).unwrap();
    let ticket = queue.join("00000000000000000001-1");
    std::os::unix::fs::symlink(&note, &ticket).unwrap();
    let other = place.client().await.unwrap();
    let waits = || happens("an answer", other.mutex("a").lock());
    let error = waits().await.unwrap_err();
    assert!(error.kind() == ErrorKind::ForeignKey && error.to_string().contains("a.queue"), "{error}");
    fs::remove_file(&ticket).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&ticket).status().unwrap().success());
    guard.finish().await.unwrap();
    waits().await.unwrap().finish().await.unwrap();
}

async fn is_foreign(client: &Client, name: &str) {
    let error = client.mutex(name).try_lock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ForeignKey, "{error}");
    assert!(error.to_string().contains("a.lock"), "{error}");
    assert!(!error.to_string().contains('\n'), "{error}");
}

/// What a crash can leave of a lock file.
#[tokio::test]
async fn a_spoiled_counter_is_replaced_by_the_clock() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    let mut last = client.mutex("a").lock().await.unwrap().token();
    let whole = fs::read(place.lock()).unwrap();
    let spoiled =
        [Vec::new(), vec![0; whole.len()], whole[..5].to_vec(), whole[..30].to_vec(), whole[..60].to_vec()];
    for left in spoiled {
        fs::write(place.lock(), left).unwrap();
        let guard = client.mutex("a").try_lock().await.unwrap().expect("free");
        assert!(guard.token() > last);
        last = guard.token();
        guard.finish().await.unwrap();
    }
}

/// The clock was stepped back: the counter goes on.
#[tokio::test]
async fn a_counter_ahead_of_the_clock_still_rises() {
    let place = Place::new();
    let client = place.client().await.unwrap();
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
    let ahead = 4_000_000_000_000_000_u64;
    fs::write(place.lock(), format!("cotter lock 1\nlast={ahead}\nname=a\nstate=free\nend\n")).unwrap();
    for more in 1..=3 {
        let guard = client.mutex("a").lock().await.unwrap();
        assert_eq!(guard.token().get(), ahead + more);
        guard.finish().await.unwrap();
    }
}

/// Deleted while it is being taken: either it is taken in another file, or the holder is told. Who deletes does so at
/// another pace in each round, and has only so many shots: one without end could keep everybody out.
#[test]
fn deleted_while_it_is_taken() {
    const SHOTS: usize = 40;
    let place = Place::new();
    let client = Client::builder().connect_to(file::Store::at(place.directory())).wait().unwrap();
    let mutex = client.mutex("a");
    for round in 0..200 {
        let (go_on, path) = (Arc::new(AtomicBool::new(true)), place.lock());
        let deleting = std::thread::spawn({
            let go_on = go_on.clone();
            move || {
                let (mut shots, pace) = (SHOTS, Duration::from_micros(round % 20 * 10));
                while shots > 0 && go_on.load(Ordering::Relaxed) {
                    shots -= usize::from(fs::remove_file(&path).is_ok());
                    std::thread::sleep(pace);
                }
            }
        });
        let guard = mutex.lock().wait().unwrap();
        go_on.store(false, Ordering::Relaxed);
        deleting.join().unwrap();
        let token = format!("first={}\n", guard.token());
        let in_place = fs::read_to_string(place.lock()).is_ok_and(|text| text.contains(&token));
        let told = || guard.lost().wait_for(FAR).is_some();
        assert!(in_place || told(), "round {round}: it holds a file that nobody sees, and was not told");
    }
}
