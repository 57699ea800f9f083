//! Semaphores.

use crate::copy::{Copy, demand_wake_ups, place, waiters};
use cotter::{Client, Mode, file};
use cotter_testkit::timing::until;

#[test]
fn so_many_at_a_time_and_each_is_shown() {
    let (_keep, directory) = place();
    let mut copies: Vec<Copy> = (0..3).map(|_| Copy::start(&directory)).collect();
    let first = copies[0].take("try 2 permits of 3");
    assert_eq!(copies[1].ask("try 2 permits of 3"), "busy");
    let second = copies[1].take("try 1 permits of 3");
    assert!(second > first);
    assert_eq!(copies[2].ask("try 1 permits of 3"), "busy");
    let client = Client::builder().connect_to(file::Store::at(&directory)).wait().unwrap();
    let shown = client.holder("a").wait().unwrap().unwrap().holders;
    let shown: Vec<_> = shown.iter().map(|h| (h.mode, h.pid)).collect();
    let of = |take, copy: &Copy| (Mode::Permits { take, of: 3 }, Some(copy.child.id()));
    assert_eq!(shown, [of(2, &copies[0]), of(1, &copies[1])]);
    assert!(copies[2].ask("try").starts_with("LimitMismatch"));
    copies[0].ask("release");
    assert!(copies[2].take("try 2 permits of 3") > second);
}

#[test]
fn permits_of_a_killed_holder_come_back_at_once() {
    let order = "take 2 permits of 4";
    demand_wake_ups(
        order,
        order,
        |_| {},
        |round, one, other| match round % 4 {
            0 => drop(one.child.kill()),
            1 => drop(other.child.kill()),
            2 => drop(one.ask("release")),
            _ => drop(other.ask("release")),
        },
    );
}

#[test]
fn one_who_wants_all_is_not_overtaken() {
    let (_keep, directory) = place();
    let mut copies: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    copies[0].take("take 1 permits of 3");
    copies[1].take("take 1 permits of 3");
    copies[2].order("take 3 permits of 3");
    until("it queues", || waiters(&directory) == 1);
    assert_eq!(copies[3].ask("try 1 permits of 3"), "busy");
    copies[3].order("take 1 permits of 3");
    until("it queues", || waiters(&directory) == 2);
    copies[0].child.kill().unwrap();
    copies[1].ask("release");
    let all = copies[2].token();
    assert_eq!(waiters(&directory), 1);
    copies[2].ask("release");
    assert!(copies[3].token() > all);
}

#[test]
fn a_stopped_waiter_does_not_hold_up_the_others() {
    let (_keep, directory) = place();
    let mut copies: Vec<Copy> = (0..3).map(|_| Copy::start(&directory)).collect();
    copies[0].take("take 1 permits of 1");
    copies[1].order("take 1 permits of 1");
    until("it queues", || waiters(&directory) == 1);
    copies[2].order("take 1 permits of 1");
    until("it queues", || waiters(&directory) == 2);
    copies[1].signal("STOP");
    until("it stops", || copies[1].is_stopped());
    copies[0].ask("release");
    let passed = copies[2].token();
    copies[1].signal("CONT");
    copies[2].ask("release");
    assert!(copies[1].token() > passed);
}
