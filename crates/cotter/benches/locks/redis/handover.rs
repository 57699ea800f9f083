//! From a release in one process to holding in another, beside a bare message that wakes a task.

use super::raw::wire;
use super::{runtime, server};
use cotter::Client;
use cotter_testkit::servers::Redis;
use futures_core::Stream;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const TIMES: usize = 2_000;

pub(crate) fn run() {
    let server = server();
    let (message, lock) = (messages(&server), locks(&server));
    println!("microseconds, {TIMES} times: median, 99th percentile, worst");
    for (what, times) in [("raw PUBLISH to a task that waits", &message), ("release to holding", &lock)] {
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
        println!("{what:<36} {:>8.0} {:>8.0} {:>8.0}", at(0.5), at(0.99), at(1.0));
    }
    println!("ratio of the medians {:.2}", lock[TIMES / 2] / message[TIMES / 2]);
}

fn sorted(mut times: Vec<f64>) -> Vec<f64> {
    times.sort_by(f64::total_cmp);
    times
}

fn micros(from: Instant, to: Instant) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e6
}

/// Two clients, each with a thread and a runtime of its own.
fn locks(server: &Redis) -> Vec<f64> {
    let (tell, told) = channel();
    let (order, go) = channel();
    let url = server.url("");
    let other = std::thread::spawn(move || {
        runtime().block_on(async {
            let client = Client::connect(&url).await.unwrap();
            while go.recv().is_ok() {
                let guard = client.mutex("a").lock().await.unwrap();
                tell.send(Instant::now()).unwrap();
                guard.release().await.unwrap();
            }
        });
    });
    let times = runtime().block_on(async {
        let client = Client::connect(server.url("")).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let guard = client.mutex("a").lock().await.unwrap();
            order.send(()).unwrap();
            while server.command(&["ZCARD", "cotter:{a}:q"]) != "1" {}
            tokio::time::sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            guard.release().await.unwrap();
            times.push(micros(start, told.recv().unwrap()));
        }
        times
    });
    drop(order);
    other.join().unwrap();
    sorted(times)
}

fn messages(server: &Redis) -> Vec<f64> {
    let (tell, told) = channel();
    let (subscribed, go) = channel();
    let url = format!("redis://127.0.0.1:{}", server.port());
    std::thread::spawn(move || {
        runtime().block_on(async {
            let mut ears = redis::Client::open(url).unwrap().get_async_pubsub().await.unwrap();
            ears.subscribe("c").await.unwrap();
            subscribed.send(()).unwrap();
            let mut messages = ears.on_message();
            while poll_fn(|cx| Pin::new(&mut messages).poll_next(cx)).await.is_some() {
                if tell.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
    });
    go.recv().unwrap();
    runtime().block_on(async {
        let mut wire = wire(server).await;
        let mut times = Vec::new();
        for _ in 0..TIMES {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            let () = redis::cmd("PUBLISH").arg("c").arg("m").query_async(&mut wire).await.unwrap();
            times.push(micros(start, told.recv().unwrap()));
        }
        sorted(times)
    })
}
