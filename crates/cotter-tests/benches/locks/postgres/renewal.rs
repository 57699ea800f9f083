//! Many leases that are renewed: what it costs here and in the server, and whether any is late.

use super::server;
use crate::processor_time;
use crate::renewal::by_statements;
use cotter_testkit::servers::Postgres;
use std::time::Duration;

pub(crate) fn run() {
    let server = server();
    by_statements(server.url(""), || transactions(&server), || server_cpu(&server));
}

fn transactions(server: &Postgres) -> f64 {
    // What a session has done is counted when it has been idle for a moment, or once a second.
    std::thread::sleep(Duration::from_secs(2));
    let count = "select xact_commit from pg_stat_database where datname = 'cotter'";
    server.sql(count).parse().unwrap()
}

/// All its processes.
fn server_cpu(server: &Postgres) -> Duration {
    let folder = server.dir().join("data").canonicalize().unwrap();
    let pid = std::fs::read_to_string(folder.join("postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().to_owned();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    // Of processes that have ended, what their parent was told.
    children.split_whitespace().map(processor_time::of).sum::<Duration>() + processor_time::of_all(&pid)
}
