//! From a release in one process to holding in another, beside a bare message from process to process.

use super::raw::wire;
use super::{nanos, runtime, server_anywhere};
use crate::between::{Kind, compare_kinds};
use crate::children::Other;
use cotter::{Client, Mutex};
use cotter_testkit::servers::Redis;
use futures_core::Stream;
use redis::aio::MultiplexedConnection;
use std::future::poll_fn;
use std::io::BufRead;
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::Runtime;

const TIMES: usize = 400;
/// How long the other process gets to stand in the queue.
const QUEUE: Duration = Duration::from_millis(5);
const MESSAGE: &str = "raw PUBLISH";

enum By {
    Message(MultiplexedConnection),
    Lock(Mutex),
}

pub(crate) fn run() {
    let (server, runtime) = (server_anywhere(), runtime());
    let kinds = [(MESSAGE, ""), ("native", ""), ("plain", "mode=plain"), ("getset", "mode=getset")];
    let kinds = kinds.map(|(name, options)| start(&server, &runtime, name, options)).into();
    compare_kinds(&runtime, kinds, times);
}

fn start(server: &Redis, runtime: &Runtime, name: &'static str, options: &str) -> Kind<By> {
    let url = server.open_url(options);
    let other =
        Other::start("handover", &format!("{} {url}", if name == MESSAGE { "message" } else { "lock" }));
    let by = match name {
        MESSAGE => By::Message(runtime.block_on(wire(server))),
        _ => By::Lock(runtime.block_on(async { Client::connect(&url).await.unwrap() }).mutex(name)),
    };
    Kind::new(name, other, by)
}

/// Microseconds, sorted.
async fn times(kind: &mut Kind<By>) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let before = match &mut kind.by {
            By::Message(wire) => {
                kind.other.tell();
                kind.other.answer();
                tokio::time::sleep(QUEUE).await;
                let before = nanos();
                let () = redis::cmd("PUBLISH").arg("c").arg("m").query_async(wire).await.unwrap();
                before
            }
            By::Lock(mutex) => {
                let guard = mutex.lock().await.unwrap();
                kind.other.tell();
                kind.other.answer();
                tokio::time::sleep(QUEUE).await;
                let before = nanos();
                guard.finish().await.unwrap();
                before
            }
        };
        let after: u64 = kind.other.answer().parse().unwrap();
        times.push(after.saturating_sub(before) as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    times
}

/// In the other process: says when the message came, or when it held the lock, each time that it is told to wait.
pub(crate) fn child(said: &str) {
    let (kind, url) = said.split_once(' ').unwrap();
    let runtime = runtime();
    if kind == "message" {
        return runtime.block_on(hear(url));
    }
    let client = runtime.block_on(async { Client::connect(url).await.unwrap() });
    // Which name depends on the mode alone.
    let name = ["plain", "getset"].into_iter().find(|mode| url.contains(mode)).unwrap_or("native");
    let mutex = client.mutex(name);
    println!("ready");
    for order in std::io::stdin().lock().lines() {
        order.unwrap();
        println!("asking");
        runtime.block_on(async {
            let guard = mutex.lock().await.unwrap();
            let since = nanos();
            guard.finish().await.unwrap();
            println!("{since}");
        });
    }
}

async fn hear(url: &str) {
    let mut ears = redis::Client::open(url).unwrap().get_async_pubsub().await.unwrap();
    ears.subscribe("c").await.unwrap();
    println!("ready");
    let mut messages = ears.on_message();
    for order in std::io::stdin().lock().lines() {
        order.unwrap();
        println!("asking");
        poll_fn(|cx| Pin::new(&mut messages).poll_next(cx)).await.unwrap();
        println!("{}", nanos());
    }
}
