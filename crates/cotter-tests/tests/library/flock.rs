//! The lock of flock(1) against the contract: all of it but what one lock for all names, without a record of its holder,
//! cannot be.

use crate::conformance::{costs, elsewhere};
use cotter::conformance::Fixture;
use cotter::{Client, ErrorKind, Eviction, Filter, LossCause, Released, file};
use cotter_testkit::timing::{FAR, first_within};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

fn store(place: &TempDir) -> file::Flock {
    file::Flock::at(place.path().join("lock")).tokens_in(place.path().join("tokens"))
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a private place")
}

fn fixture() -> Fixture {
    let place = place();
    let path = place.path().join("lock");
    let url = format!("flock://{}", path.display());
    Fixture::keeping(store(&place), place)
        .waiting_elsewhere(elsewhere(url, costs("`flock:`")))
        .removing(move |_| std::fs::remove_file(&path).expect("it stands there"))
}

cotter::conformance_tests!(contract, fixture());

#[tokio::test]
async fn all_names_are_one_lock() {
    let place = place();
    let client = Client::builder().connect_to(store(&place)).await.unwrap();
    let other = Client::builder().connect_to(store(&place)).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(other.mutex("b").try_lock().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { other.mutex("b").lock().await });
    let before = guard.token();
    guard.finish().await.unwrap();
    assert!(waiting.await.unwrap().unwrap().token() > before);
}

/// What others lock from now on is another file.
#[tokio::test]
async fn a_deleted_file_is_noticed_by_the_release() {
    let place = place();
    let client = Client::builder().connect_to(store(&place)).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let signal = guard.lost();
    std::fs::remove_file(place.path().join("lock")).unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(signal.await.cause, LossCause::Gone);
    let guard = client.mutex("a").lock().await.unwrap();
    std::fs::remove_file(place.path().join("lock")).unwrap();
    assert_eq!(guard.keep_for(Duration::from_secs(60)).await.unwrap(), Released::AlreadyLost);
}

#[tokio::test]
async fn notes_are_refused_as_unsupported() {
    let place = place();
    let client = Client::builder().connect_to(store(&place)).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let refused = [client.note("a").await.map(drop), guard.put_note(b"x".to_vec()).await.map(drop)];
    for (n, answer) in refused.into_iter().enumerate() {
        let error = answer.expect_err(&format!("the {n}th is refused"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{n}: {error}");
    }
}

/// The kernel knows who holds it, cotter or not.
// Only Linux tells who holds a lock.
#[cfg(not(cotter_portable))]
#[tokio::test]
async fn the_holder_is_shown() {
    let place = place();
    let client = Client::builder().connect_to(store(&place)).await.unwrap();
    assert!(client.holder("a").await.unwrap().is_none());
    assert_eq!(client.admin().evict("a").await.unwrap(), Eviction::NotHeld);
    let mut child = Command::new("flock")
        .arg(place.path().join("lock"))
        .args(["-c", "echo on; exec sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut on = [0; 3];
    child.stdout.take().unwrap().read_exact(&mut on).unwrap();
    let pid = child.id();
    let shown = client.holder("a").await.unwrap().expect("held").holders;
    assert_eq!(shown.iter().map(|h| h.pid).collect::<Vec<_>>(), [Some(pid)]);
    assert_eq!(client.admin().evict("a").await.unwrap(), Eviction::HolderMustExit { pid });
    let listed = client.admin().list(Filter::held()).next().await.unwrap().expect("the one lock");
    assert_eq!(listed.name.as_str(), place.path().join("lock").to_str().unwrap());
    let findings = client.admin().diagnose().await.unwrap();
    assert!(findings.iter().any(|f| f.subject == "tokens" && f.message.contains("tokens")), "{findings:?}");
    // What was started under it has it too.
    let heir = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let heir: u32 = heir.trim().parse().unwrap();
    assert_eq!(client.admin().evict("a").await.unwrap(), Eviction::HolderMustExit { pid: heir });
    let killed = Command::new("kill").args(["-s", "KILL", &heir.to_string()]).status().unwrap();
    assert!(killed.success());
    drop(client.mutex("a").lock().await.unwrap());
}

/// Two who take it again at once, as flock(1) in a loop does. The kernel's queue has a place for us as well.
#[test]
fn busy_neighbours_do_not_keep_us_out() {
    let place = place();
    let path = place.path().join("lock");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let file = File::options().create(true).append(true).open(&path).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    file.lock().unwrap();
                    thread::sleep(Duration::from_millis(20));
                    file.unlock().unwrap();
                    // Or those who wait do not even run in between, on a machine that has too much to do.
                    thread::yield_now();
                }
            });
        }
        let client = Client::builder().connect_to(store(&place)).wait().unwrap();
        let mutex = client.mutex("a");
        let wait = Duration::from_secs(8);
        let waits: Vec<bool> = (0..10).map(|_| mutex.try_lock_for(wait).wait().unwrap().is_some()).collect();
        stop.store(true, Ordering::Relaxed);
        assert!(
            waits.iter().all(|got| *got),
            "violation[starved]: beside two others who lock the file: {waits:?}"
        );
    });
}

/// How many stand in the kernel's queue for the lock on this file.
fn in_line(path: &Path) -> usize {
    let inode = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    let table = std::fs::read_to_string("/proc/locks").unwrap();
    table.lines().filter(|line| line.contains("-> FLOCK") && line.contains(&inode)).count()
}

fn until_in_line(path: &Path, wanted: usize) {
    let is_there = first_within(FAR, || (in_line(path) >= wanted).then_some(()));
    let stand = in_line(path);
    assert!(is_there.is_some(), "violation[starved]: {stand} stand in the kernel's queue, not {wanted}");
}

/// Those of flock(1) who come later are served later.
#[test]
fn who_waits_stands_in_the_kernels_queue() {
    let place = place();
    let path = place.path().join("lock");
    let client = Client::builder().connect_to(store(&place)).wait().unwrap();
    let holder = File::create(&path).unwrap();
    holder.lock().unwrap();
    let lock = client.mutex("a").try_lock_for(Duration::from_secs(40));
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = lock.wait().unwrap().expect("in time");
            order.lock().unwrap().push("cotter");
            drop(guard);
        });
        until_in_line(&path, 1);
        for before in 1..=3 {
            let (path, order) = (&path, &order);
            scope.spawn(move || {
                let file = File::open(path).unwrap();
                file.lock().unwrap();
                order.lock().unwrap().push("flock");
                thread::sleep(Duration::from_millis(20));
            });
            until_in_line(path, before + 1);
        }
        holder.unlock().unwrap();
    });
    assert_eq!(order.into_inner().unwrap()[0], "cotter");
}

/// The file is replaced while one waits for it: the old one keeps nobody out any more.
#[test]
fn who_waits_notices_another_file() {
    let place = place();
    let [one, other] = [(); 2].map(|()| Client::builder().connect_to(store(&place)).wait().unwrap());
    let held = one.mutex("a").lock().wait().unwrap();
    let waiting = thread::spawn(move || other.mutex("a").lock().wait().unwrap());
    thread::sleep(Duration::from_millis(300));
    std::fs::remove_file(place.path().join("lock")).unwrap();
    let lost = held.lost().wait_for(Duration::from_secs(20)).expect("it is told");
    assert_eq!(lost.cause, LossCause::Gone);
    assert!(waiting.join().unwrap().is_valid());
}
