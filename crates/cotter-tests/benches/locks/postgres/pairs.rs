//! Lock and release of names that nobody else wants: thousands of pairs a second.

use super::raw::{Session, pgbench, settings};
use super::server;
use crate::redis::two_workers;
use crate::rounds::{compare, thousands};
use cotter::{Client, Mutex};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_millis(700);
/// One pair.
type Work<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What cotter uses in `mode=lease` unless told otherwise.
const CONNECTIONS: usize = 4;

pub(crate) fn run() {
    let (server, runtime) = (server(), two_workers());
    server.sql(
        "create table raw_row (id bigint primary key); insert into raw_row select generate_series(0, 63)",
    );
    server.sql("grant select, update on raw_row to app");
    let client = |options: &str| Client::connect(server.url(options)).wait().unwrap();
    let (lease, advisory, row) = (client(""), client("mode=advisory"), client("mode=row"));
    for tasks in [1, 16, 64] {
        println!("\n{tasks} tasks with a name each");
        let connections = tasks.min(CONNECTIONS);
        compare(
            "thousand pairs a second",
            &mut [
                ("pgbench: the two statements, prepared", &mut || pgbench(&server, "prepared", connections)),
                ("the same, not prepared", &mut || pgbench(&server, "extended", connections)),
                ("mode=lease", &mut || by_cotter(&runtime, &lease, tasks)),
            ],
        );
        let sessions = |is_row| -> Arc<Vec<Session>> {
            let settings = settings(&server);
            runtime.block_on(async {
                let mut sessions = Vec::new();
                for key in 0..tasks as i64 {
                    sessions.push(match is_row {
                        true => Session::row(&settings, key).await,
                        false => Session::advisory(&settings, key).await,
                    });
                }
                Arc::new(sessions)
            })
        };
        let bare = sessions(false);
        compare(
            "thousand pairs a second",
            &mut [
                ("raw: pg_try_advisory_lock, pg_advisory_unlock", &mut || by_sessions(&runtime, &bare)),
                ("mode=advisory", &mut || by_cotter(&runtime, &advisory, tasks)),
            ],
        );
        drop(bare);
        let bare = sessions(true);
        compare(
            "thousand pairs a second",
            &mut [
                ("raw: begin, select for update, rollback", &mut || by_sessions(&runtime, &bare)),
                ("mode=row", &mut || by_cotter(&runtime, &row, tasks)),
            ],
        );
    }
}

fn by_cotter(runtime: &Runtime, client: &Client, tasks: usize) -> f64 {
    let mutexes: Vec<Mutex> = (0..tasks).map(|task| client.mutex(format!("bench {task}"))).collect();
    each(runtime, &Arc::new(mutexes), |mutex| {
        Box::pin(async { mutex.lock().await.unwrap().finish().await.unwrap() })
    })
}

fn by_sessions(runtime: &Runtime, sessions: &Arc<Vec<Session>>) -> f64 {
    each(runtime, sessions, |session| Box::pin(session.pair()))
}

/// A task for each of them, which does pair after pair.
fn each<T: Send + Sync + 'static>(runtime: &Runtime, all: &Arc<Vec<T>>, pair: fn(&T) -> Work<'_>) -> f64 {
    let (all, tasks) = (all.clone(), all.len());
    thousands(runtime, ROUND, tasks, move |task| {
        let all = all.clone();
        async move { pair(&all[task]).await }
    })
}
