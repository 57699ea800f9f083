//! One name that 16 want, each of them with a session of its own.

use super::ROUND;
use super::others::{self, curator, go};
use crate::children::Other;
use crate::peer::Peer;
use crate::rounds::compare;
use cotter::Client;
use cotter_testkit::servers::{Etcd, ZooKeeper};
use std::io::BufRead;
use std::time::{Duration, Instant};

const CONTENDERS: usize = 16;

pub(crate) fn zookeeper() {
    let server = ZooKeeper::start(1);
    run("zookeeper:", &server.url(""), "Curator's InterProcessMutex", curator(&server));
}

pub(crate) fn etcd() {
    let server = Etcd::start(1);
    run("etcd:", &server.url(""), "Go's concurrency.Mutex", go(&server));
}

fn run(ours: &'static str, url: &str, theirs: &'static str, mut peer: Peer) {
    println!(
        "{CONTENDERS} contenders with a session each; those of cotter are processes, the others threads of one"
    );
    let measures: &mut [(_, &mut dyn FnMut() -> f64)] = &mut [
        (ours, &mut || round(url)),
        (theirs, &mut || others::round(&mut peer, "contended", CONTENDERS)),
    ];
    compare("thousand hand-overs a second", measures);
}

/// Thousands of acquisitions a second by all of them. The line is first come first served, so each is a hand-over.
fn round(url: &str) -> f64 {
    let mut others: Vec<Other> = (0..CONTENDERS).map(|_| Other::start("contender", url)).collect();
    others.iter_mut().for_each(Other::tell);
    let count = |other: Other| other.end()[0].parse::<f64>().unwrap();
    others.into_iter().map(count).sum::<f64>() / ROUND.as_secs_f64() / 1e3
}

/// In each of the processes.
pub(crate) fn child(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = Client::builder().local_turns(false).connect(url).wait().unwrap();
    let mutex = client.mutex("one");
    println!("ready");
    let _ = std::io::stdin().lock().read_line(&mut String::new());
    let (start, mut holds) = (Instant::now(), 0);
    runtime.block_on(async {
        while start.elapsed() < ROUND {
            mutex.lock().await.unwrap().finish().await.unwrap();
            holds += 1;
        }
    });
    client.close(Duration::from_secs(5)).wait().unwrap();
    println!("{holds}");
}
