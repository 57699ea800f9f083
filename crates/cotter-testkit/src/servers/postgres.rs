//! A real PostgreSQL server.

use super::cluster::{self, Recipe};
use super::database::{self, Database, Shared};
use super::instance::{CertificateFiles, Instance, output};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a server is to be started.
#[derive(Debug, Clone, Default)]
pub struct PostgresBuilder {
    pub(super) settings: Vec<String>,
    tls: Option<CertificateFiles>,
    /// The file of the authority that has to vouch for clients.
    authority: Option<PathBuf>,
    skewed: bool,
}

/// A running PostgreSQL server that forgets everything when it is dropped.
///
/// It has a database `cotter`, which belongs to the user `owner`, and a user `app` for the programs, who owns nothing. Both
/// have the password `secret`.
#[derive(Debug)]
pub struct Postgres {
    pub(super) instance: Instance,
    pub(super) settings: Vec<String>,
}

const START_TIMEOUT: Duration = Duration::from_secs(20);
const FOLDER: Recipe = Recipe {
    server: "postgres",
    maker: "initdb",
    arguments: &[
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
        "--no-instructions",
        "--wal-segsize=1",
        "--pgdata=",
    ],
    layout: 2,
};
/// Quick, because what is written need not survive the machine; small, because several may run at once.
const SETTINGS: [&str; 10] = [
    "listen_addresses=127.0.0.1",
    "fsync=off",
    "full_page_writes=off",
    "shared_buffers=16MB",
    "max_connections=200",
    "max_wal_size=64MB",
    "min_wal_size=2MB",
    "autovacuum_naptime=5s",
    "log_min_messages=fatal",
    "unix_socket_permissions=0777",
];
/// Passwords are asked for on TCP only: the tests use the socket to arrange things.
const HBA: &str =
    "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 trust\n";
const USERS: &str = "set password_encryption = 'scram-sha-256'; \
    create role owner login password 'secret'; create role app login password 'secret'";

/// The statements of the documentation that give the user `app` what cotter needs.
fn grants() -> &'static str {
    const PAGE: &str = include_str!("../../../../docs/stores/postgres.md");
    let (_, rest) =
        PAGE.split_once("```sql\ngrant usage").expect("docs/stores/postgres.md has GRANT statements");
    let end = rest.find("```").expect("an end");
    let start = PAGE.len() - rest.len() - "grant usage".len();
    &PAGE[start..start + "grant usage".len() + end]
}

impl PostgresBuilder {
    /// One more setting: `("max_connections", "10")`.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.push(format!("{setting}={value}"));
        self
    }

    /// With TLS, under this certificate.
    #[must_use]
    pub fn with_tls(mut self, cert: &Path, key: &Path) -> Self {
        self.tls = Some((cert.into(), key.into()));
        self.with("ssl", "on").with("ssl_cert_file", "cert.pem").with("ssl_key_file", "cert.key")
    }

    /// Asks the user `app` for a certificate of this authority, and for no password.
    #[must_use]
    pub fn asking_for_certificates(mut self, authority: &Path) -> Self {
        self.authority = Some(authority.into());
        self.with("ssl_ca_file", "ca.pem")
    }

    /// With a clock that [`step_clock`](Postgres::step_clock) moves.
    #[must_use]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn start(self) -> Postgres {
        let instance = Instance::make(&FOLDER, self.tls.as_ref());
        let mut instance =
            instance.unwrap_or_else(|e| panic!("no PostgreSQL ({e}); scripts/servers installs it"));
        let mut rules = HBA.to_owned();
        if let Some(authority) = &self.authority {
            cluster::give_file(authority, &instance.data().join("ca.pem"))
                .expect("its folder can be written");
            rules.insert_str(0, "hostssl all app 127.0.0.1/32 cert\n");
        }
        fs::write(instance.data().join("pg_hba.conf"), rules).expect("its folder can be written");
        if self.skewed {
            instance.skew().expect("a clock shim");
        }
        let mut server = Postgres { instance, settings: self.settings };
        server.instance.first_start(|instance| spawn(instance, &server.settings));
        server.sql_in("postgres", USERS);
        server.sql_in("postgres", "create database cotter owner owner");
        server
    }
}

impl Postgres {
    /// A server with defaults.
    ///
    /// # Panics
    /// As [`PostgresBuilder::start`].
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Settings before the start.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// A server with cotter's tables, which the tests of this process share as long as one of them uses it.
    ///
    /// # Panics
    /// As [`PostgresBuilder::start`].
    pub fn migrated() -> Arc<Self> {
        static SHARED: Shared<Postgres> = Shared::new();
        SHARED.get(|| {
            let server = Self::start();
            server.migrate_all();
            server
        })
    }

    /// Creates the tables of all modes, with their default names.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn migrate_all(&self) {
        self.migrate("");
        self.migrate("mode=shedlock");
        self.sql("grant select, insert, update on shedlock to app");
    }

    /// Creates the tables of a store with these options as the owner of the database, and gives `app` what `docs/stores/postgres.md` says.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn migrate(&self, options: &str) {
        database::migrate(self.url_of("owner", options));
        if !options.contains("mode=shedlock") {
            self.sql(grants());
        }
    }

    /// Sets its clock ahead by this many seconds from now on, or behind; only for a [`skewed`](PostgresBuilder::skewed) server.
    ///
    /// # Panics
    /// When the file that the server reads cannot be written.
    pub fn step_clock(&self, seconds: i64) {
        self.instance.step_clock(seconds);
    }

    /// The server's log.
    pub fn log(&self) -> String {
        self.instance.log()
    }

    /// Ends it at once, as a crash does: what was committed survives.
    pub fn kill(&mut self) {
        self.pause(false);
        if let Some(mut child) = self.instance.child.take() {
            let _ = kill_process(Pid::from_child(&child), Signal::QUIT);
            let end = Instant::now() + START_TIMEOUT;
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again as a replica that follows nobody: it takes no writes.
    ///
    /// # Panics
    /// When it does not start.
    pub fn demote(&mut self) {
        self.kill();
        fs::write(self.instance.data().join("standby.signal"), "").expect("its folder can be written");
        self.instance.restart(|instance| spawn(instance, &self.settings));
    }

    /// How many sessions the user `app` has.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn sessions(&self) -> usize {
        self.sql("select count(*) from pg_stat_activity where usename = 'app'").parse().expect("a number")
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// The folder of its socket.
    pub fn dir(&self) -> &Path {
        self.instance.dir()
    }

    /// A URL of the user `app` with these options: `""` or `"mode=row"`.
    pub fn url(&self, options: &str) -> String {
        self.url_of("app", options)
    }

    /// A URL of a user with these options.
    pub fn url_of(&self, user: &str, options: &str) -> String {
        format!("postgres://{user}:secret@127.0.0.1:{}/cotter?{options}", self.port())
    }

    /// The same over the socket, where no password is asked for.
    pub fn socket_url(&self, options: &str) -> String {
        format!("postgres://app@localhost:{}/cotter?host={}&{options}", self.port(), self.dir().display())
    }

    /// Stops all processes of the server, or lets them go on.
    ///
    /// # Panics
    /// When they cannot be found.
    pub fn pause(&self, yes: bool) {
        let Some(child) = &self.instance.child else { return };
        let server = Pid::from_child(child);
        let children = format!("/proc/{server}/task/{server}/children", server = server.as_raw_nonzero());
        let children = fs::read_to_string(children).expect("it runs");
        let children = children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
        let signal = if yes { Signal::STOP } else { Signal::CONT };
        for pid in std::iter::once(server).chain(children) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Runs statements as superuser in the database `cotter`; the values of the answer, `|` between columns.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_in("cotter", statements)
    }

    fn sql_in(&self, database: &str, statements: &str) -> String {
        output(self.psql(database).arg("-c"), statements)
    }

    /// `psql` as superuser, for sessions that stay open.
    ///
    /// # Panics
    /// When it is not in `PATH`.
    pub fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(cluster::find("psql").expect("psql is in PATH"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        psql.arg("-h").arg(self.dir()).arg("-p").arg(self.port().to_string()).current_dir("/");
        psql
    }
}

/// Starts it and waits until it answers; false when it has ended instead.
pub(super) fn spawn(instance: &mut Instance, settings: &[String]) -> io::Result<bool> {
    let mut command = cluster::program("postgres")?;
    command.arg("-D").arg(instance.data()).arg("-p").arg(instance.port.to_string());
    command.arg("-k").arg(instance.dir());
    for setting in SETTINGS.iter().copied().chain(settings.iter().map(String::as_str)) {
        command.args(["-c", setting]);
    }
    instance.start(&mut command, START_TIMEOUT, |instance| {
        // The last line of this file is the state, and the port says whose file it is.
        let state = fs::read_to_string(instance.data().join("postmaster.pid")).unwrap_or_default();
        let ours = state.lines().nth(3) == Some(&*instance.port.to_string());
        ours && state.lines().nth(7).is_some_and(|s| s.trim() == "ready")
    })
}

impl Database for Postgres {
    fn restart(&mut self) {
        self.kill();
        self.instance.restart(|instance| spawn(instance, &self.settings));
    }

    fn end_sessions(&self) -> usize {
        let end = "select count(pg_terminate_backend(pid)) from pg_stat_activity where usename = 'app'";
        self.sql(end).parse().expect("a number")
    }

    fn end_one_session(&self) -> bool {
        let one = "select pid from pg_stat_activity where usename = 'app' order by random() limit 1";
        self.sql(&format!("select pg_terminate_backend(pid) from ({one}) as any_of_them")) == "t"
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}
