//! The same without cotter.

use cotter_testkit::servers::Postgres;
use std::process::Command;
use tokio_postgres::{Client, NoTls, Statement};

/// A connection of the driver's own.
pub(super) async fn wire(settings: &str) -> Client {
    let (client, driver) = tokio_postgres::connect(settings, NoTls).await.unwrap();
    tokio::spawn(driver);
    client
}

pub(super) fn settings(server: &Postgres) -> String {
    format!("host=127.0.0.1 port={} user=app password=secret dbname=cotter", server.port())
}

/// Two statements that keep a lock in the session, on a connection of their own.
pub(super) struct Session {
    client: Client,
    first: Vec<Statement>,
    last: Statement,
    key: i64,
}

impl Session {
    pub(super) async fn advisory(settings: &str, key: i64) -> Self {
        Self::of(settings, key, &["select pg_try_advisory_lock($1)"], "select pg_advisory_unlock($1)").await
    }

    /// The row has to be there.
    pub(super) async fn row(settings: &str, key: i64) -> Self {
        let lock = "select from raw_row where id = $1 for update nowait";
        Self::of(settings, key, &["begin", lock], "rollback").await
    }

    async fn of(settings: &str, key: i64, first: &[&str], last: &str) -> Self {
        let client = wire(settings).await;
        let mut prepared = Vec::new();
        for statement in first {
            prepared.push(client.prepare(statement).await.unwrap());
        }
        let last = client.prepare(last).await.unwrap();
        Self { client, first: prepared, last, key }
    }

    pub(super) async fn pair(&self) {
        for statement in self.first.iter().chain([&self.last]) {
            match statement.params() {
                [] => self.client.execute(statement, &[]).await.unwrap(),
                _ => self.client.execute(statement, &[&self.key]).await.unwrap(),
            };
        }
    }
}

const SCRIPT: &str = "select out_answer, out_number, out_turns, out_left, out_place from cotter_acquire_v1( \
    'raw ' || :client_id, md5('raw ' || :client_id)::uuid, 'x', 0, null, 30000000, 1, 'bench', '', null);\n\
    select cotter_release_v1('raw ' || :client_id, md5('raw ' || :client_id)::uuid, 1, null);\n";

/// Thousands of pairs a second of `pgbench` with the two statements of `mode=lease`, on so many connections.
pub(super) fn pgbench(server: &Postgres, protocol: &str, connections: usize) -> f64 {
    let script = server.dir().join("pairs.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let mut pgbench = Command::new("pgbench");
    pgbench
        .args(["-n", "-T", "1", "-h", "127.0.0.1", "-U", "app", "-M", protocol])
        .env("PGPASSWORD", "secret");
    pgbench.args(["-c", &connections.to_string(), "-p", &server.port().to_string()]);
    let done = pgbench.arg("-f").arg(&script).arg("cotter").output().expect("pgbench is in PATH");
    let said = String::from_utf8(done.stdout).unwrap();
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = ")).expect(&said);
    rate.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e3
}
