//! Lock and release of names that nobody else wants: thousands of pairs a second.

use super::raw::{Pair, Session};
use super::server;
use crate::redis::two_workers;
use crate::rounds::{compare, thousands};
use cotter::{Client, Mutex};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_millis(700);

/// What cotter uses in `mode=lease` unless told otherwise.
const CONNECTIONS: usize = 4;

pub(crate) fn run() {
    let (server, runtime) = (server(), two_workers());
    server.sql("CREATE TABLE raw_row (id BIGINT PRIMARY KEY, holder BIGINT NOT NULL) ENGINE = InnoDB");
    let rows: Vec<String> = (0..64).map(|id| format!("({id}, 0)")).collect();
    server.sql(&format!("INSERT INTO raw_row VALUES {}", rows.join(", ")));
    server.sql("GRANT SELECT, UPDATE ON raw_row TO app");
    let client = |options: &str| Client::connect(server.url(options)).wait().unwrap();
    let cotter = [client(""), client("mode=advisory"), client("mode=row")];
    for tasks in [1, 16, 64] {
        println!("\n{tasks} tasks with a name each");
        for ((pair, raw, mode), client) in [
            (Pair::Updates, "raw: two updates of a row", "mode=lease"),
            (Pair::GetLock, "raw: GET_LOCK, RELEASE_LOCK", "mode=advisory"),
            (Pair::ForUpdate, "raw: begin, select for update, rollback", "mode=row"),
        ]
        .into_iter()
        .zip(&cotter)
        {
            // In the others each lock has a session.
            let sessions = if pair == Pair::Updates { tasks.min(CONNECTIONS) } else { tasks };
            let sessions = runtime.block_on(Session::open(&server, pair, sessions));
            compare(
                "thousand pairs a second",
                &mut [
                    (raw, &mut || by_sessions(&runtime, &sessions)),
                    (mode, &mut || by_cotter(&runtime, client, tasks)),
                ],
            );
        }
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

fn by_sessions(runtime: &Runtime, sessions: &Arc<Vec<Session>>) -> f64 {
    let (sessions, tasks) = (sessions.clone(), sessions.len());
    thousands(runtime, ROUND, tasks, move |task| {
        let sessions = sessions.clone();
        async move { sessions[task].pair().await }
    })
}
