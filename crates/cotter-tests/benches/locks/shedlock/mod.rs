//! `mode=lease` and `mode=shedlock` beside the real ShedLock on the same server: pairs of lock and unlock of names that nobody else
//! wants.

use crate::peer::Peer;
use crate::redis::two_workers;
use crate::rounds::{compare, thousands};
use cotter::{Client, Mutex};
use cotter_testkit::servers::{Mariadb, Postgres};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_secs(1);

pub(crate) fn run() {
    println!("PostgreSQL");
    let server = Postgres::start();
    server.migrate_all();
    let jdbc = format!("jdbc:postgresql://127.0.0.1:{}/cotter", server.port());
    beside(&jdbc, |options| server.url(options));
    drop(server);
    println!("\nMariaDB");
    let server = Mariadb::start();
    server.migrate_all();
    let jdbc = format!("jdbc:mariadb://127.0.0.1:{}/cotter", server.port());
    beside(&jdbc, |options| server.url(options));
}

/// The real ShedLock, on the database of this JDBC URL.
fn shedlock(database: &str) -> Peer {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("java");
    command.arg("-cp").arg(here.join("../../target/servers/java/*"));
    command.arg(here.join("benches/locks/shedlock/ShedLock.java")).args([database, "app", "secret"]);
    Peer::start(&mut command)
}

fn beside(jdbc: &str, url: impl Fn(&str) -> String) {
    let (runtime, mut peer) = (two_workers(), shedlock(jdbc));
    let client = |options: &str| Client::connect(url(options)).wait().unwrap();
    let (lease, shedlock) = (client(""), client("mode=shedlock"));
    for tasks in [1, 16, 64] {
        println!("\n{tasks} threads or tasks with a name each; ShedLock has a connection for each thread");
        compare(
            "thousand pairs a second",
            &mut [
                ("ShedLock", &mut || peer.round(format_args!("{tasks} {}", ROUND.as_millis()))),
                ("mode=lease", &mut || by_cotter(&runtime, &lease, tasks)),
                ("mode=shedlock", &mut || by_cotter(&runtime, &shedlock, tasks)),
            ],
        );
    }
}

fn by_cotter(runtime: &Runtime, client: &Client, tasks: usize) -> f64 {
    let mutexes: Arc<Vec<Mutex>> =
        Arc::new((0..tasks).map(|task| client.mutex(format!("bench {task}"))).collect());
    thousands(runtime, ROUND, tasks, move |task| {
        let mutexes = mutexes.clone();
        async move { mutexes[task].lock().await.unwrap().finish().await.unwrap() }
    })
}
