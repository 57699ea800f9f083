//! Readers and writers.

use crate::copy::{Copy, demand_wake_ups, place};
use cotter::{Client, file};
use cotter_testkit::timing::Stopwatch;
use std::time::{Duration, Instant};

#[test]
fn several_read_and_one_writes() {
    let (_keep, directory) = place();
    let mut readers: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    let mut writer = Copy::start(&directory);
    let tokens: Vec<u64> = readers.iter_mut().map(|r| r.take("try read")).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    let client = Client::builder().connect_to(file::Store::at(&directory)).wait().unwrap();
    let shown = client.holder("a").wait().unwrap().unwrap().holders;
    let pids: Vec<Option<u32>> = shown.iter().map(|h| h.pid).collect();
    assert_eq!(pids, readers.iter().map(|r| Some(r.child.id())).collect::<Vec<_>>());
    for reader in &mut readers {
        assert_eq!(writer.ask("try write"), "busy");
        reader.ask("release");
    }
    let written = writer.take("try write");
    assert!(written > tokens[3]);
    assert_eq!(readers[0].ask("try read"), "busy");
    writer.ask("release");
    assert!(readers[0].take("try read") > written);
}

#[test]
fn the_last_reader_wakes_the_writer_however_it_ends() {
    let leave = |other: &mut Copy| drop(other.ask("release"));
    demand_wake_ups("read", "write", leave, |round, one, _| match round % 2 {
        0 => one.child.kill().unwrap(),
        _ => drop(one.ask("release")),
    });
}

/// Four that take it all the time, and one of the other kind that wants it now and then.
fn is_not_starved(saturate: &str, wish: &str) {
    let (_keep, directory) = place();
    let mut busy: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    for copy in &mut busy {
        assert_eq!(copy.ask(saturate), "on");
    }
    let mut one = Copy::start(&directory);
    let (watch, mut last, mut longest) = (Stopwatch::start(), 0, Duration::ZERO);
    for _ in 0..20 {
        let start = Instant::now();
        let token = one.take(wish);
        longest = longest.max(start.elapsed());
        assert!(token > last);
        last = token;
        one.ask("release");
    }
    watch.took_at_most(longest, Duration::from_secs(1), format!("{wish}, the longest wait"));
}

#[test]
fn readers_do_not_starve_a_writer() {
    is_not_starved("saturate with reads", "write");
}

#[test]
fn writers_do_not_starve_a_reader() {
    is_not_starved("saturate with writes", "read");
}
