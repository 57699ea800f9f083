//! Readers and writers.

use crate::copy::{Copy, place, until, waiters};
use cotter::{Client, file};
use std::time::{Duration, Instant};

#[test]
fn several_read_and_one_writes() {
    let (_keep, directory) = place();
    let mut readers: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    let mut writer = Copy::start(&directory);
    let tokens: Vec<u64> = readers.iter_mut().map(|r| r.take("try read")).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    let client = Client::builder().backend(file::Store::at(&directory)).connect().wait().unwrap();
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
    let (_keep, directory) = place();
    let mut waits = Vec::new();
    let mut last = 0;
    for round in 0..20 {
        let (mut one, mut other, mut writer) =
            (Copy::start(&directory), Copy::start(&directory), Copy::start(&directory));
        one.take("read");
        other.take("read");
        writer.order("write");
        until("it queues", || waiters(&directory) == 1);
        other.ask("release");
        // Until it sleeps, at another point of the time between two looks in every round.
        std::thread::sleep(Duration::from_millis(80 + 40 * round));
        let start = Instant::now();
        if round % 2 == 0 {
            one.child.kill().unwrap();
        } else {
            one.ask("release");
        }
        let token: u64 = writer.answer().parse().unwrap();
        waits.push(start.elapsed());
        assert!(token > last);
        last = token;
    }
    waits.sort_unstable();
    assert!(waits[17] < Duration::from_millis(30), "nothing wakes: {waits:?}");
    assert!(waits[19] < Duration::from_secs(2), "{waits:?}");
}

/// Four that take it all the time, and one of the other kind that wants it now and then.
fn is_not_starved(saturate: &str, wish: &str) {
    let (_keep, directory) = place();
    let mut busy: Vec<Copy> = (0..4).map(|_| Copy::start(&directory)).collect();
    for copy in &mut busy {
        assert_eq!(copy.ask(saturate), "on");
    }
    let mut one = Copy::start(&directory);
    let (mut last, mut longest) = (0, Duration::ZERO);
    for _ in 0..20 {
        let start = Instant::now();
        let token = one.take(wish);
        longest = longest.max(start.elapsed());
        assert!(token > last);
        last = token;
        one.ask("release");
    }
    assert!(longest < Duration::from_secs(1), "{wish} waited {longest:?}");
}

#[test]
fn readers_do_not_starve_a_writer() {
    is_not_starved("saturate with reads", "write");
}

#[test]
fn writers_do_not_starve_a_reader() {
    is_not_starved("saturate with writes", "read");
}
