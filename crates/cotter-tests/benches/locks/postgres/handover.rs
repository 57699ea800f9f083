//! From a release in one process to holding in another, beside a bare notification from process to process.

use super::raw::{settings, wire};
use super::server;
use crate::between::{Kind, compare_kinds};
use crate::children::Other;
use crate::redis::{nanos, runtime};
use cotter::{Client, Mutex};
use std::future::poll_fn;
use std::io::BufRead;
use std::time::Duration;
use tokio_postgres::{AsyncMessage, NoTls};

const TIMES: usize = 300;
/// How long the other process gets to stand in the queue.
const QUEUE: Duration = Duration::from_millis(5);
const MESSAGE: &str = "raw NOTIFY";

enum By {
    Message(tokio_postgres::Client),
    Lock(Mutex),
}

pub(crate) fn run() {
    let (server, runtime) = (server(), runtime());
    let kinds = [MESSAGE, "lease", "advisory", "row"]
        .map(|name| {
            let url = if name == MESSAGE { settings(&server) } else { server.url(&format!("mode={name}")) };
            let other = Other::start(
                "postgres-handover",
                &format!("{} {url}", if name == MESSAGE { "message" } else { "lock" }),
            );
            let by = match name {
                MESSAGE => By::Message(runtime.block_on(wire(&url))),
                _ => {
                    By::Lock(runtime.block_on(async { Client::connect(&url).await.unwrap() }).mutex("handed"))
                }
            };
            Kind::new(name, other, by)
        })
        .into();
    compare_kinds(&runtime, kinds, times);
}

/// Microseconds, sorted.
async fn times(kind: &mut Kind<By>) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let guard = match &kind.by {
            By::Message(_) => None,
            By::Lock(mutex) => Some(mutex.lock().await.unwrap()),
        };
        kind.other.tell();
        kind.other.answer();
        tokio::time::sleep(QUEUE).await;
        let before = nanos();
        match (&kind.by, guard) {
            (By::Message(wire), _) => wire.batch_execute("notify bench").await.unwrap(),
            (_, Some(guard)) => guard.finish().await.unwrap(),
            (By::Lock(_), None) => unreachable!("it is held"),
        }
        let after: u64 = kind.other.answer().parse().unwrap();
        times.push(after.saturating_sub(before) as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    times
}

/// In the other process: says when the message came, or when it held the lock, each time that it is told to wait.
pub(crate) fn child(said: &str) {
    let (kind, rest) = said.split_once(' ').unwrap();
    let runtime = runtime();
    if kind == "message" {
        return runtime.block_on(hear(rest));
    }
    let mutex = runtime.block_on(async { Client::connect(rest).await.unwrap() }).mutex("handed");
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

async fn hear(settings: &str) {
    let (client, mut driver) = tokio_postgres::connect(settings, NoTls).await.unwrap();
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| driver.poll_message(cx)).await {
            if let AsyncMessage::Notification(_) = message {
                let _ = sender.send(nanos());
            }
        }
    });
    client.batch_execute("listen bench").await.unwrap();
    println!("ready");
    for order in std::io::stdin().lock().lines() {
        order.unwrap();
        println!("asking");
        println!("{}", heard.recv().await.unwrap());
    }
}
