//! A PgBouncer in transaction mode before a PostgreSQL server.

use super::{Postgres, cluster, free_port};
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A running `pgbouncer` with two sessions for the database `cotter`, whatever number of clients it has; ends when it is dropped.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    port: u16,
    dir: TempDir,
}

const START_TIMEOUT: Duration = Duration::from_secs(10);

/// So often its port may be somebody else's by the time it listens.
const TRIES: usize = 5;

impl Pooler {
    /// Starts it and waits until it listens.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn start(server: &Postgres) -> Self {
        (0..TRIES).find_map(|_| Self::try_start(server)).expect("pgbouncer listens at one of several ports")
    }

    /// None: it has ended before it listened.
    fn try_start(server: &Postgres) -> Option<Self> {
        let (dir, port) = (tempfile::tempdir().expect("a temporary folder"), free_port());
        let file = |name: &str| dir.path().join(name);
        fs::write(file("users"), "\"app\" \"secret\"\n").expect("it can be written");
        let settings = format!(
            "[databases]\ncotter = host=127.0.0.1 port={} pool_size=2\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = plain\nauth_file = {}\npool_mode = transaction\nlogfile = {}\n",
            server.port(),
            file("users").display(),
            file("log").display(),
        );
        fs::write(file("settings"), settings).expect("it can be written");
        cluster::hand_over(dir.path()).expect("the folder can be given away");
        let mut command = cluster::program("pgbouncer").expect("scripts/servers installs pgbouncer");
        command.arg("-q").arg(file("settings"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        let child = command.spawn().expect("it starts");
        let mut pooler = Self { child, port, dir };
        let end = Instant::now() + START_TIMEOUT;
        // Whoever connects may find somebody else at its port.
        while !pooler.log().contains("process up") {
            if pooler.child.try_wait().expect("it is ours").is_some() {
                return None;
            }
            assert!(Instant::now() < end, "pgbouncer does not listen: {}", pooler.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(pooler)
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL of the user `app` through it.
    pub fn url(&self, options: &str) -> String {
        format!("postgres://app:secret@127.0.0.1:{}/cotter?{options}", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
