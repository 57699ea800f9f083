//! One holder at a time, whatever becomes of the others.

use crate::copy::{Copy, place, waiters};
use cotter::{Client, file};
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::{PidfdFlags, PidfdGetfdFlags};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts a copy that waits behind `before` others.
fn waiting(directory: &Path, before: usize) -> Copy {
    let mut copy = Copy::start(directory);
    copy.order("lock");
    until("it queues", || waiters(directory) == before + 1);
    copy
}

#[test]
fn a_killed_holder_frees_the_lock_and_the_waiter_hears_of_it() {
    let (_keep, directory) = place();
    let mut holder = Copy::start(&directory);
    let mut last: u64 = holder.ask("lock").parse().unwrap();
    let (watch, mut waits) = (Stopwatch::start(), Vec::new());
    for round in 0..40 {
        let mut next = waiting(&directory, 0);
        // Until it sleeps, at another point of the time between two looks in every round.
        std::thread::sleep(Duration::from_millis(40 + 20 * round));
        let start = Instant::now();
        holder.child.kill().unwrap();
        let token = next.token();
        waits.push(start.elapsed());
        assert!(token > last);
        (holder, last) = (next, token);
    }
    waits.sort_unstable();
    // One who is not woken looks after a second.
    watch.took_at_most(waits[36], Duration::from_millis(30), format!("most are woken: {waits:?}"));
    watch.took_at_most(waits[39], Duration::from_secs(2), format!("all are served: {waits:?}"));
}

#[test]
fn processes_get_it_in_order_of_arrival() {
    let (_keep, directory) = place();
    let mut holder = Copy::start(&directory);
    let mut last: u64 = holder.ask("lock").parse().unwrap();
    let mut line: Vec<Copy> = (0..4).map(|before| waiting(&directory, before)).collect();
    let mut newcomer = Copy::start(&directory);
    assert_eq!(newcomer.ask("try"), "busy");
    for next in &mut line {
        holder.order("release");
        let token = next.token();
        assert!(token > last);
        last = token;
        assert_eq!(newcomer.ask("try"), "busy");
        std::mem::swap(&mut holder, next);
    }
}

#[test]
fn a_stopped_waiter_is_passed_over_and_keeps_its_place() {
    let (_keep, directory) = place();
    let mut holder = Copy::start(&directory);
    holder.ask("lock");
    let mut stopped = waiting(&directory, 0);
    let mut second = waiting(&directory, 1);
    stopped.signal("STOP");
    until("it stops", || stopped.is_stopped());
    holder.ask("release");
    let passed = second.token();
    let mut third = waiting(&directory, 1);
    stopped.signal("CONT");
    second.ask("release");
    let resumed = stopped.token();
    assert!(resumed > passed);
    stopped.ask("release");
    assert!(third.token() > resumed);
}

#[test]
fn a_newcomer_passes_a_line_in_which_nobody_listens() {
    let (_keep, directory) = place();
    let mut holder = Copy::start(&directory);
    holder.ask("lock");
    let stopped = waiting(&directory, 0);
    stopped.signal("STOP");
    until("it stops", || stopped.is_stopped());
    holder.ask("release");
    assert!(holder.ask("try").parse::<u64>().is_ok());
}

#[test]
fn a_killed_waiter_blocks_nobody() {
    let (_keep, directory) = place();
    let mut holder = Copy::start(&directory);
    holder.ask("lock");
    let first = waiting(&directory, 0);
    let mut second = waiting(&directory, 1);
    drop(first);
    holder.ask("release");
    second.token();
    second.ask("release");
    assert!(!directory.join("a.queue").exists());
}

/// Between `fork` and `exec` every child has the descriptors, however they were opened: a release must not wait for it.
#[test]
fn a_child_that_has_the_descriptor_does_not_keep_a_released_lock() {
    let (_keep, directory) = place();
    let client = Client::builder().connect_to(file::Store::at(&directory)).wait().unwrap();
    let guard = client.mutex("a").lock().wait().unwrap();
    let lock = directory.join("a.lock");
    let ours = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).unwrap();
    let numbers = std::fs::read_dir("/proc/self/fd").unwrap().map(|e| e.unwrap().path());
    let numbers: Vec<PathBuf> = numbers.filter(|n| std::fs::read_link(n).is_ok_and(|l| l == lock)).collect();
    assert_eq!(numbers.len(), 1, "the one that locks");
    let mut heirs: Vec<Child> = Vec::new();
    for number in numbers {
        let number = number.file_name().unwrap().to_str().unwrap().parse().unwrap();
        let inherited = rustix::process::pidfd_getfd(&ours, number, PidfdGetfdFlags::empty()).unwrap();
        heirs.push(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::from(inherited)).spawn().unwrap());
    }
    guard.finish().wait().unwrap();
    let mut other = Copy::start(&directory);
    assert!(other.ask("try").parse::<u64>().is_ok());
    for mut heir in heirs {
        drop(heir.stdin.take());
        heir.wait().unwrap();
    }
}

/// No file may grow: what a full disk answers, without needing one.
#[test]
fn a_full_disk_is_an_error_and_holds_nothing() {
    let (_keep, directory) = place();
    let mut other = Copy::start(&directory);
    assert!(other.ask("try").parse::<u64>().is_ok());
    other.ask("release");
    let mut full = Command::new("sh");
    full.args(["-c", r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$@""#]).arg(std::env::current_exe().unwrap());
    let mut full = Copy::spawn(full, &directory);
    for (order, file) in [("try b", "b.lock"), ("try", "a.lock")] {
        let answer = full.ask(order);
        assert!(answer.starts_with("Unavailable") && answer.contains(file), "{answer}");
        assert!(answer.contains("make room"), "{answer}");
    }
    let answer = full.ask("write a note");
    assert!(answer.contains("make room"), "{answer}");
    let left = std::fs::read_dir(directory.join("notes/noted")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).filter(|name| name != ".gate").collect();
    assert!(left.is_empty(), "{left:?}");
    // Nor does anybody wait for room, or for a directory that has gone.
    let start = Stopwatch::start();
    let answer = full.ask("lock");
    assert!(answer.contains("make room"), "{answer}");
    assert!(other.ask("try").parse::<u64>().is_ok(), "the lock was kept");
    std::fs::remove_dir_all(&directory).unwrap();
    let answer = full.ask("lock");
    assert!(answer.starts_with("Unavailable") && answer.contains("no longer exists"), "{answer}");
    start.at_most(Duration::from_secs(20), "nobody waits for room, or for a directory that has gone");
}

#[test]
fn without_descriptors_nobody_waits() {
    let (_keep, directory) = place();
    let mut few = Command::new("sh");
    few.args(["-c", r#"ulimit -n 64; exec "$0" "$@""#]).arg(std::env::current_exe().unwrap());
    let mut few = Copy::spawn(few, &directory);
    few.ask("take all descriptors");
    let start = Stopwatch::start();
    for order in ["try", "lock"] {
        let answer = few.ask(order);
        assert!(answer.starts_with("Unavailable") && answer.contains("ulimit -n"), "{answer}");
    }
    start.at_most(Duration::from_secs(20), "nobody waits for descriptors");
    few.ask("give them back");
    assert!(few.ask("lock").parse::<u64>().is_ok());
    // One who has to wait needs a few more.
    let mut holder = Copy::start(&directory);
    assert_eq!(few.ask("release"), "Some(Ok(Yes))");
    assert!(holder.ask("lock").parse::<u64>().is_ok());
    few.ask("take all descriptors but 1");
    let answer = few.ask("lock");
    assert!(answer.starts_with("Unavailable") && answer.contains("ulimit -n"), "{answer}");
}

/// Runs as an ordinary user, because nothing is read-only to root.
#[test]
fn a_read_only_directory_is_an_error_and_keeps_what_is_there() {
    let (keep, directory) = place();
    let exe = keep.path().join("copy");
    // By another process: a child of another test may have a file that this one writes, and then it cannot be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&exe).status().unwrap();
    assert!(copied.success());
    std::fs::create_dir(&directory).unwrap();
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    mode(keep.path(), 0o755);
    mode(&directory, 0o700);
    let mut command = Command::new(exe);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&directory, Some(65534), Some(65534)).unwrap();
        command.uid(65534).gid(65534);
    }
    let mut user = Copy::spawn(command, &directory);
    assert!(user.ask("try").parse::<u64>().is_ok());
    mode(&directory, 0o500);
    let answer = user.ask("try b");
    assert!(answer.starts_with("Denied") && answer.contains("b.lock"), "{answer}");
    assert_eq!(user.ask("valid"), "true");
    assert_eq!(user.ask("release"), "Some(Ok(Yes))");
    let kept = user.ask("prune");
    assert!(kept.starts_with("a kept: ") && kept.contains("a.lock failed: Permission denied"), "{kept}");
    mode(&directory, 0o700);
    assert!(user.ask("try b").parse::<u64>().is_ok());
    // A file that another user has made.
    mode(&directory.join("a.lock"), 0o400);
    let kept = user.ask("prune");
    assert!(kept.starts_with("a kept: ") && kept.contains("opening"), "{kept}");
}
