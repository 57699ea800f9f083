//! Lock and release of names that nobody else wants.

use super::ROUND;
use super::others::{self, curator, go};
use crate::peer::Peer;
use crate::rounds::{compare, thousands};
use cotter::backend::Host;
use cotter::{Client, etcd, zookeeper};
use cotter_testkit::bare::clock;
use cotter_testkit::servers::{Etcd, ZooKeeper};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

const TASKS: [usize; 2] = [1, 64];

pub(crate) fn zookeeper() {
    let server = ZooKeeper::start(1);
    let runtime = runtime();
    let bare = runtime.block_on(async {
        let store = zookeeper::Store::from_url(server.url("")).unwrap();
        let bare = store.bare(&Host::without_engine(clock())).await.unwrap();
        for task in 0..TASKS[1] {
            bare.folder(&format!("/bare-{task}")).await.unwrap();
        }
        Arc::new(bare)
    });
    let mut peer = curator(&server);
    let received = || {
        let told = server.tell(0, "srvr").unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("Received: ")).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    let client = Client::connect(server.url("")).wait().unwrap();
    for tasks in TASKS {
        let bare = |tasks| {
            let bare = bare.clone();
            thousands(&runtime, ROUND, tasks, move |task| {
                let bare = bare.clone();
                async move { bare.pair(&format!("/bare-{task}")).await.unwrap() }
            })
        };
        let theirs = ("Curator's InterProcessMutex", &mut peer);
        run(&runtime, tasks, ("bare create and delete", &bare), ("zookeeper:", &client), theirs, &received);
    }
}

pub(crate) fn etcd() {
    let server = Etcd::start(1);
    let runtime = runtime();
    let bare = runtime.block_on(async {
        let store = etcd::Store::from_url(server.url("")).unwrap();
        Arc::new(store.bare(&Host::without_engine(clock()), 600).await.unwrap())
    });
    let mut peer = go(&server);
    let received = || server.received(None) as f64;
    let client = Client::connect(server.url("")).wait().unwrap();
    for tasks in TASKS {
        let bare = |tasks| {
            let bare = bare.clone();
            thousands(&runtime, ROUND, tasks, move |task| {
                let bare = bare.clone();
                async move { bare.pair(&format!("bare-{task}")).await.unwrap() }
            })
        };
        let theirs = ("Go's concurrency.Mutex", &mut peer);
        run(&runtime, tasks, ("bare put and delete", &bare), ("etcd:", &client), theirs, &received);
    }
}

/// One worker, which goes on between the rounds: sessions want to be kept alive.
fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Bare requests, ours, and theirs; and how many messages the server receives for a pair of ours.
fn run(
    runtime: &Runtime,
    tasks: usize,
    (bare_name, bare): (&'static str, &dyn Fn(usize) -> f64),
    (our_name, client): (&'static str, &Client),
    (their_name, peer): (&'static str, &mut Peer),
    received: &dyn Fn() -> f64,
) {
    println!("\n{tasks} tasks");
    let mut messages = 0.0;
    let mut ours = || {
        let (before, client) = (received(), client.clone());
        let thousands = thousands(runtime, ROUND, tasks, move |task| {
            let mutex = client.mutex(format!("cotter-{task}"));
            async move { _ = mutex.lock().await.unwrap().release().await.unwrap() }
        });
        messages = (received() - before) / (thousands * 1e3 * ROUND.as_secs_f64());
        thousands
    };
    compare(
        "thousand pairs a second",
        &mut [
            (bare_name, &mut || bare(tasks)),
            (our_name, &mut ours),
            (their_name, &mut || others::round(peer, "pairs", tasks)),
        ],
    );
    println!("messages to the server for a pair of {our_name} {messages:.2}");
}
