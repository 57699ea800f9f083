//! Lock and release of names that nobody else wants: thousands of pairs a second.

use super::raw::{Scripts, fresh, wire};
use super::{others, runtime, server, server_anywhere, two_workers};
use crate::rounds::{compare, thousands};
use cotter::Client;
use cotter_testkit::servers::Redis;
use rslock::LockManager;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_millis(700);

#[derive(Clone, Copy)]
enum Pair {
    Native,
    Plain,
}

pub(crate) fn by_cotter(runtime: &Runtime, client: &Client, tasks: usize) -> f64 {
    let client = client.clone();
    thousands(runtime, ROUND, tasks, move |_| {
        let mutex = client.mutex(fresh());
        async move { _ = mutex.lock().await.unwrap().release().await.unwrap() }
    })
}

fn by_readers(runtime: &Runtime, client: &Client, tasks: usize) -> f64 {
    let client = client.clone();
    thousands(runtime, ROUND, tasks, move |_| {
        let lock = client.rwlock(fresh());
        async move { _ = lock.read().await.unwrap().release().await.unwrap() }
    })
}

pub(crate) fn by_rslock(runtime: &Runtime, manager: &LockManager, tasks: usize) -> f64 {
    let manager = manager.clone();
    thousands(runtime, ROUND, tasks, move |_| {
        let manager = manager.clone();
        async move { others::pair(&manager).await }
    })
}

/// One thread; it and the server have a core each where there are two.
pub(crate) fn on_one_thread() {
    let server = server();
    if let Some(thousands) = others::redis_py(&server) {
        println!("redis-py, one thread: {thousands:.3} thousand pairs a second");
    }
    run(&server, &runtime());
}

/// Two workers, as most services run, and nothing bound to a core.
pub(crate) fn on_threads() {
    run(&server_anywhere(), &two_workers());
}

fn run(server: &Redis, runtime: &Runtime) {
    let scripts = Arc::new(Scripts::load(server));
    let wire = runtime.block_on(wire(server));
    let client = |options: &str| Client::connect(server.open_url(options)).wait().unwrap();
    let (native, plain) = (client(""), client("mode=plain"));
    let manager = others::rslock(&server.open_url(""));
    for tasks in [1, 64, 512] {
        println!("\n{tasks} tasks");
        let bare = |wanted: Pair| {
            let (scripts, wire) = (scripts.clone(), wire.clone());
            thousands(runtime, ROUND, tasks, move |_| {
                let (scripts, mut wire) = (scripts.clone(), wire.clone());
                async move {
                    match wanted {
                        Pair::Native => scripts.native(&mut wire).await,
                        Pair::Plain => scripts.plain(&mut wire).await,
                    }
                }
            })
        };
        compare(
            "thousand pairs a second",
            &mut [
                ("raw: the two scripts", &mut || bare(Pair::Native)),
                ("native", &mut || by_cotter(runtime, &native, tasks)),
                ("native, a reader of each name", &mut || by_readers(runtime, &native, tasks)),
                ("raw: SET NX PX, compare-and-delete", &mut || bare(Pair::Plain)),
                ("plain", &mut || by_cotter(runtime, &plain, tasks)),
                ("rslock", &mut || by_rslock(runtime, &manager, tasks)),
            ],
        );
        server.command(&["FLUSHALL"]);
    }
}
