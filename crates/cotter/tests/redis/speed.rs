//! Figures, each beside a yardstick of the same run. Ignored by default: they mean something in a release build only.
//!
//! `cargo test --release -p cotter --features redis --test redis speed -- --ignored --nocapture --test-threads 1`

use crate::setup::server;
use cotter::{Client, Lease};
use cotter_testkit::servers::Redis;
use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const RUN: Duration = Duration::from_secs(3);
static NEXT: AtomicU64 = AtomicU64::new(0);

fn fresh() -> String {
    format!("name {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

#[allow(clippy::print_stdout, reason = "figures are what this is for")]
fn say(line: &str) {
    println!("{line}");
}

/// The text of a step, as the backend sends it.
fn script(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/redis/lua/");
    let source = std::fs::read_to_string(format!("{folder}{name}.lua")).unwrap();
    let mut body = String::new();
    for line in source.lines().map(str::trim) {
        if let Some(part) = line.strip_prefix("--@include ") {
            body += &script(part);
        } else if !line.is_empty() && !line.starts_with("--") {
            body += line;
            body.push('\n');
        }
    }
    body
}

/// Pairs per second of so many tasks, each with names of its own.
async fn pairs<F: Future<Output = ()> + Send>(
    tasks: usize,
    pair: impl Fn() -> F + Send + Sync + 'static,
) -> f64 {
    let (pair, done) = (Arc::new(pair), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|_| {
            let (pair, done) = (pair.clone(), done.clone());
            async move {
                while start.elapsed() < RUN {
                    pair().await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
        .collect();
    let mut set = tokio::task::JoinSet::new();
    for task in running {
        set.spawn(task);
    }
    set.join_all().await;
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

async fn wire(server: &Redis) -> MultiplexedConnection {
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(Some(Duration::from_secs(2)))
        .set_pipeline_buffer_size(1024);
    let info =
        redis::IntoConnectionInfo::into_connection_info(format!("redis://127.0.0.1:{}", server.port()))
            .unwrap();
    let info = info.set_tcp_settings(redis::io::tcp::TcpSettings::default().set_nodelay(true));
    redis::Client::open(info).unwrap().get_multiplexed_async_connection_with_config(&config).await.unwrap()
}

/// The same two scripts in a bare loop, both answers looked at.
async fn raw(server: &Redis, tasks: usize) -> f64 {
    let load = |text: String| server.command(&["SCRIPT", "LOAD", &text]);
    let acquire = load(format!("#!lua\n{}", script("acquire")));
    let release = load(format!("#!lua flags=allow-oom\n{}", script("release")));
    let wire = wire(server).await;
    pairs(tasks, move || {
        let (mut wire, acquire, release) = (wire.clone(), acquire.clone(), release.clone());
        async move {
            let key = format!("cotter:{{{}}}", fresh());
            let id = format!("{:032x}", rand::random::<u128>());
            let mut cmd = redis::cmd("EVALSHA");
            cmd.arg(&acquire).arg(1).arg(&key).arg(&id).arg("00000030000000").arg("00001").arg("host/1");
            cmd.arg("4230000").arg("600000").arg("").arg("00000015000000");
            let answer: String = cmd.query_async(&mut wire).await.unwrap();
            assert!(answer.starts_with('g'));
            let mut cmd = redis::cmd("EVALSHA");
            cmd.arg(&release).arg(1).arg(&key).arg(&id).arg("00001").arg("600000").arg("");
            let answer: String = cmd.query_async(&mut wire).await.unwrap();
            assert_eq!(answer, "f");
        }
    })
    .await
}

async fn cotter(url: &str, tasks: usize) -> f64 {
    let client =
        Client::builder().url(url).lease(Lease::renewed(Duration::from_secs(30))).connect().await.unwrap();
    pairs(tasks, move || {
        let mutex = client.mutex(fresh());
        async move { _ = mutex.lock().await.unwrap().release().await.unwrap() }
    })
    .await
}

/// `SET NX PX` and compare-and-delete, bare.
async fn bare_plain(server: &Redis, tasks: usize) -> f64 {
    let delete =
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    let delete = server.command(&["SCRIPT", "LOAD", delete]);
    let wire = wire(server).await;
    pairs(tasks, move || {
        let (mut wire, delete) = (wire.clone(), delete.clone());
        async move {
            let (key, id) = (fresh(), format!("{:032x}", rand::random::<u128>()));
            let mut cmd = redis::cmd("SET");
            cmd.arg(&key).arg(&id).arg("NX").arg("PX").arg(30_000);
            let () = cmd.query_async(&mut wire).await.unwrap();
            let mut cmd = redis::cmd("EVALSHA");
            cmd.arg(&delete).arg(1).arg(&key).arg(&id);
            assert_eq!(cmd.query_async::<u64>(&mut wire).await.unwrap(), 1);
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "figures"]
async fn pairs_of_distinct_names() {
    let server = server!();
    for tasks in [1, 64, 512] {
        // Twice each, in turn: the better of both.
        let mut best = [0_f64; 4];
        for _ in 0..2 {
            best[0] = best[0].max(raw(&server, tasks).await);
            best[1] = best[1].max(cotter(&server.url(""), tasks).await);
            best[2] = best[2].max(bare_plain(&server, tasks).await);
            best[3] = best[3].max(cotter(&server.url("mode=plain"), tasks).await);
            server.command(&["FLUSHALL"]);
        }
        let [raw, native, bare, plain] = best;
        say(&format!(
            "{tasks} tasks: raw {raw:.0}, native {native:.0} pairs/s ({:.2}); bare plain {bare:.0}, plain {plain:.0} ({:.2})",
            native / raw,
            plain / bare
        ));
    }
}

/// Microseconds of the server per call of a command since the statistics were reset.
fn cost(server: &Redis, command: &str) -> f64 {
    let stats = server.command(&["INFO", "commandstats"]);
    let line = stats.lines().find(|l| l.starts_with(&format!("cmdstat_{command}:"))).expect("it was called");
    let field = line.split(',').find_map(|f| f.strip_prefix("usec_per_call=")).expect("a figure");
    field.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "figures"]
async fn time_of_the_server() {
    let server = server!();
    raw(&server, 64).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    raw(&server, 64).await;
    let pair = 2.0 * cost(&server, "evalsha");
    let set = server.command(&[
        "SCRIPT",
        "LOAD",
        "return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])",
    ]);
    let wire = wire(&server).await;
    server.command(&["CONFIG", "RESETSTAT"]);
    pairs(64, move || {
        let (mut wire, set) = (wire.clone(), set.clone());
        async move {
            let mut cmd = redis::cmd("EVALSHA");
            cmd.arg(&set).arg(1).arg(fresh()).arg(format!("{:032x}", rand::random::<u128>())).arg(30_000);
            let () = cmd.query_async(&mut wire).await.unwrap();
        }
    })
    .await;
    let yardstick = cost(&server, "evalsha");
    say(&format!(
        "native pair {pair:.2} us, SET NX PX in a script {yardstick:.2} us: {:.2}",
        pair / yardstick
    ));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Two threads with a runtime and a client each: release here, running there.
#[test]
#[ignore = "figures"]
fn hand_over_between_two_processes_clients() {
    let server = server!();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (tell, told) = std::sync::mpsc::channel::<Instant>();
    let (order, go) = std::sync::mpsc::channel::<()>();
    let url = server.url("");
    const ROUNDS: usize = 2000;
    let other = std::thread::spawn(move || {
        runtime().block_on(async {
            let client = Client::connect(&url).await.unwrap();
            for _ in 0..ROUNDS {
                go.recv().unwrap();
                let guard = client.mutex("a").lock().await.unwrap();
                tell.send(Instant::now()).unwrap();
                guard.release().await.unwrap();
            }
        });
    });
    let times = runtime().block_on(async {
        let client = Client::connect(server.url("")).await.unwrap();
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let guard = client.mutex("a").lock().await.unwrap();
            order.send(()).unwrap();
            while server.command(&["ZCARD", "cotter:{a}:q"]) != "1" {}
            tokio::time::sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            guard.release().await.unwrap();
            times.push(told.recv().unwrap() - start);
        }
        times
    });
    other.join().unwrap();
    say(&format!("hand-over {:?}, raw PUBLISH {:?} (medians)", median(times), publish(&server)));
}

/// A raw PUBLISH to a subscriber on the same driver that wakes a task on another thread.
fn publish(server: &Redis) -> Duration {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = format!("redis://127.0.0.1:{}", server.port());
    let (tell, told) = std::sync::mpsc::channel::<Instant>();
    let (subscribed, go) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        runtime().block_on(async {
            let mut ears = redis::Client::open(url).unwrap().get_async_pubsub().await.unwrap();
            ears.subscribe("c").await.unwrap();
            subscribed.send(()).unwrap();
            let mut messages = ears.on_message();
            loop {
                use futures_core::Stream;
                let next = std::future::poll_fn(|cx| std::pin::Pin::new(&mut messages).poll_next(cx)).await;
                if next.is_none() || tell.send(Instant::now()).is_err() {
                    return;
                }
            }
        });
    });
    go.recv().unwrap();
    runtime().block_on(async {
        let mut wire = wire(server).await;
        let mut times = Vec::new();
        for _ in 0..2000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let start = Instant::now();
            let () = redis::cmd("PUBLISH").arg("c").arg("m").query_async(&mut wire).await.unwrap();
            times.push(told.recv().unwrap() - start);
        }
        median(times)
    })
}
