//! A child that has the descriptors of its parent's locks. The kernel keeps a lock for as long as anybody has one of its
//! descriptors.

use super::{MS, fork, forking, until};
use cotter::{Client, Guard, LossCause, file};
use cotter_testkit::history::{Kind, demand};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Both kinds of stores, each with every kind of lock that it has.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn clients(&self) -> [Client; 2] {
        let flock = file::Flock::at(self.path("flock")).tokens_in(self.path("tokens"));
        let files = file::Store::at(self.path("locks"));
        [
            Client::builder().connect_to(files).wait().unwrap(),
            Client::builder().connect_to(flock).wait().unwrap(),
        ]
    }

    /// Says something to the other processes.
    fn say(&self, what: &str) {
        std::fs::write(self.path(what), "").unwrap();
    }

    fn hear(&self, what: &str) {
        until(what, || self.path(what).exists());
    }
}

/// Takes everything.
fn hold([files, flock]: &[Client; 2]) -> Vec<Guard> {
    vec![
        files.mutex("mutex").lock().wait().unwrap(),
        files.rwlock("readers").read().wait().unwrap().into(),
        files.semaphore("permits", 1).acquire().wait().unwrap().into(),
        flock.mutex("flock").lock().wait().unwrap(),
    ]
}

/// Takes it with a writer instead of a reader.
fn demand_free([files, flock]: &[Client; 2], who: &str) {
    let soon = 5000 * MS;
    let free = [
        ("mutex", files.mutex("mutex").try_lock_for(soon).wait().unwrap().is_some()),
        ("readers", files.rwlock("readers").try_write_for(soon).wait().unwrap().is_some()),
        ("permits", files.semaphore("permits", 1).try_acquire_for(soon).wait().unwrap().is_some()),
        ("flock", flock.mutex("flock").try_lock_for(soon).wait().unwrap().is_some()),
    ];
    for (what, free) in free {
        demand(
            free,
            Kind::LeftBehind,
            format!("{what}: kept by the child of a process that has ended, for {who}"),
        );
    }
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// It would wait for itself.
#[test]
#[ignore = "needs cc"]
fn a_daemon_takes_the_locks_again_that_it_had_before_it_left_its_parent() {
    const TEST: &str =
        "forks::inherited::a_daemon_takes_the_locks_again_that_it_had_before_it_left_its_parent";
    forking(TEST, || {
        let place = Place::new();
        let program = fork(|| {
            let clients = place.clients();
            let mut held = hold(&clients);
            let before = std::process::id();
            let daemon = fork(|| {
                until("the parent ends", || !is_there(before));
                assert!(held.iter().all(|guard| guard.check().unwrap_err().cause == LossCause::Forked));
                held.clear();
                demand_free(&place.clients(), "itself");
                place.say("taken");
            });
            daemon.leave();
            // It does not tidy up.
            std::mem::forget((clients, held));
        });
        program.end();
        place.hear("taken");
    });
}

/// Workers that were made before. Each frees the locks with whatever it calls first.
#[test]
#[ignore = "needs cc"]
fn the_first_call_of_a_child_frees_the_locks_of_a_dead_parent() {
    const TEST: &str = "forks::inherited::the_first_call_of_a_child_frees_the_locks_of_a_dead_parent";
    forking(TEST, || {
        let place = Place::new();
        let program = fork(|| {
            let clients = place.clients();
            let held = hold(&clients);
            let worker = fork(|| {
                place.hear("killed");
                assert!(!held[0].is_valid());
                place.say("called");
                // It lives on.
                place.hear("free");
                place.say("ended");
            });
            worker.leave();
            place.say("holding");
            std::thread::sleep(Duration::from_secs(30));
        });
        place.hear("holding");
        drop(program);
        place.say("killed");
        place.hear("called");
        demand_free(&place.clients(), "another process");
        place.say("free");
        place.hear("ended");
    });
}

/// While its parent lives, a child that lets go frees nothing, and its own locks are its own.
#[test]
#[ignore = "needs cc"]
fn a_child_that_lets_go_leaves_the_locks_to_its_parent() {
    const TEST: &str = "forks::inherited::a_child_that_lets_go_leaves_the_locks_to_its_parent";
    forking(TEST, || {
        let place = Place::new();
        let clients = place.clients();
        let mut held = hold(&clients);
        let child = fork(|| {
            let ours = place.clients();
            let own: Vec<_> =
                (0..50).map(|i| ours[0].mutex(format!("own {i}")).lock().wait().unwrap()).collect();
            // After the numbers of their descriptors were given out again.
            held.clear();
            drop(clients.clone());
            let taken = ours[0].mutex("mutex").try_lock_for(50 * MS).wait().unwrap();
            demand(taken.is_none(), Kind::Overlap, "held by the parent");
            let taken = ours[0].rwlock("readers").try_write_for(50 * MS).wait().unwrap();
            demand(taken.is_none(), Kind::Overlap, "read by the parent");
            let taken = ours[0].semaphore("permits", 1).try_acquire_for(50 * MS).wait().unwrap();
            demand(taken.is_none(), Kind::Overlap, "taken by the parent");
            let taken = ours[1].mutex("flock").try_lock_for(50 * MS).wait().unwrap();
            demand(taken.is_none(), Kind::Overlap, "held by the parent");
            for guard in own {
                guard.finish().wait().unwrap();
            }
        });
        child.end();
        for guard in held.drain(..) {
            guard.finish().wait().unwrap();
        }
        demand_free(&place.clients(), "another client");
    });
}
