//! Waiters that do not run, in a namespace where the others cannot see that.

use crate::copy::{Copy, place, waiters};
use cotter_testkit::timing::{Stopwatch, until};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A copy in a namespace of processes of its own, where its number is 1.
struct Secluded {
    copy: Copy,
    /// Its number here.
    pid: String,
}

impl Secluded {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--pid", "--fork", "--kill-child"]).arg(std::env::current_exe().unwrap());
        let copy = Copy::spawn(command, directory);
        let outer = copy.child.id();
        let mut pid = String::new();
        until("it starts", || {
            let children = std::fs::read_to_string(format!("/proc/{outer}/task/{outer}/children"));
            pid = children.unwrap().trim().to_owned();
            !pid.is_empty()
        });
        Self { copy, pid }
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args(["-s", name, &self.pid]).status().unwrap().success());
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap();
        stat.rsplit(") ").next().unwrap().starts_with('T')
    }
}

/// What one who was ready to wait for long has got.
fn served(copy: &mut Copy) -> u64 {
    let answer = copy.answer();
    assert!(
        answer != "busy",
        "violation[stuck-waiter]: the lock was free, and a waiter that does not run kept it"
    );
    answer.parse().unwrap()
}

/// A holder, and behind it a waiter that is stopped where nobody else sees it.
fn holder_and_frozen_waiter(directory: &Path) -> (Copy, Secluded) {
    let mut holder = Copy::start(directory);
    holder.ask("lock");
    let mut frozen = Secluded::start(directory);
    frozen.copy.order("lock");
    until("it queues", || waiters(directory) == 1);
    frozen.signal("STOP");
    until("it stops", || frozen.is_stopped());
    (holder, frozen)
}

#[test]
#[ignore = "needs unprivileged namespaces"]
fn who_is_stopped_unseen_is_passed_over_and_keeps_its_place() {
    let (_keep, directory) = place();
    let (mut holder, mut frozen) = holder_and_frozen_waiter(&directory);
    let mut line = [Copy::start(&directory), Copy::start(&directory), Copy::start(&directory)];
    for (before, next) in line.iter_mut().enumerate() {
        next.order("lock soon");
        until("it queues", || waiters(&directory) == before + 2);
    }
    holder.ask("release");
    let mut last = served(&mut line[0]);
    // Known to be deaf by now, it delays nobody.
    for [one, next] in [[0, 1], [1, 2]] {
        line[one].ask("release");
        let token = served(&mut line[next]);
        assert!(token > last);
        last = token;
    }
    let mut newcomer = Copy::start(&directory);
    newcomer.order("lock");
    until("it queues", || waiters(&directory) == 2);
    frozen.signal("CONT");
    until("it runs", || !frozen.is_stopped());
    // Until it has answered: it listens again.
    std::thread::sleep(Duration::from_millis(500));
    line[2].ask("release");
    let resumed = frozen.copy.token();
    assert!(resumed > last);
    frozen.copy.ask("release");
    assert!(newcomer.token() > resumed);
}

/// Somebody who only tries does not wait for the answer; but the next who tries has it.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn newcomers_pass_one_who_is_stopped_unseen() {
    let (_keep, directory) = place();
    let (mut holder, _frozen) = holder_and_frozen_waiter(&directory);
    holder.ask("release");
    let start = Stopwatch::start();
    until("somebody gets it", || holder.ask("try") != "busy");
    start.at_least(Duration::from_millis(500), "one who is only slow is not passed over");
}
