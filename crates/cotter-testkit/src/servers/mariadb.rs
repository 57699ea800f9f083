//! A real MariaDB server.

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
pub struct MariadbBuilder {
    settings: Vec<String>,
    tls: Option<CertificateFiles>,
    /// The file of the authority that has to vouch for clients.
    authority: Option<PathBuf>,
    skewed: bool,
}

/// A running MariaDB server that forgets everything when it is dropped.
///
/// It has a database `cotter`, which belongs to the user `owner`, and a user `app` for the programs, who owns nothing. Both
/// have the password `secret`.
#[derive(Debug)]
pub struct Mariadb {
    instance: Instance,
    settings: Vec<String>,
}

const START_TIMEOUT: Duration = Duration::from_secs(30);
const FOLDER: Recipe = Recipe {
    server: "mariadbd",
    maker: "mariadb-install-db",
    arguments: &[
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--innodb-log-file-size=4M",
        "--innodb-data-file-path=ibdata1:4M:autoextend",
        "--datadir=",
    ],
    layout: 1,
};
/// Quick, because what is written need not survive the machine, only the server; small, because several may run at once.
const SETTINGS: [&str; 14] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=fsync",
    "--innodb-log-file-size=4M",
    "--innodb-data-file-path=ibdata1:4M:autoextend",
    "--innodb-buffer-pool-size=16M",
    "--innodb-doublewrite=0",
    "--innodb-use-native-aio=0",
    "--innodb-fast-shutdown=2",
    "--performance-schema=0",
    "--key-buffer-size=1M",
    "--aria-pagecache-buffer-size=1M",
    "--max-connections=300",
];
const USERS: &str = "DROP USER IF EXISTS ''@localhost; CREATE DATABASE cotter; \
    CREATE USER owner@'%' IDENTIFIED BY 'secret', app@'%' IDENTIFIED BY 'secret'; GRANT ALL ON cotter.* TO owner@'%'";

/// The statements of the documentation that give the user `app` what cotter needs.
fn grants() -> &'static str {
    const PAGE: &str = include_str!("../../../../docs/stores/mysql.md");
    let start = PAGE.find("GRANT SELECT").expect("docs/stores/mysql.md has GRANT statements");
    let statements = &PAGE[start..];
    &statements[..statements.find("```").expect("an end")]
}

impl MariadbBuilder {
    /// One more setting: `("max-connections", "10")`.
    #[must_use]
    pub fn with(mut self, setting: &str, value: &str) -> Self {
        self.settings.push(format!("--{setting}={value}"));
        self
    }

    /// With TLS, under this certificate.
    #[must_use]
    pub fn with_tls(mut self, cert: &Path, key: &Path) -> Self {
        self.tls = Some((cert.into(), key.into()));
        self.with("ssl-cert", "cert.pem").with("ssl-key", "cert.key")
    }

    /// Asks the user `app` for a certificate of this authority, besides the password.
    #[must_use]
    pub fn asking_for_certificates(mut self, authority: &Path) -> Self {
        self.authority = Some(authority.into());
        self.with("ssl-ca", "ca.pem")
    }

    /// With a clock that [`step_clock`](Mariadb::step_clock) moves.
    #[must_use]
    pub fn skewed(mut self) -> Self {
        self.skewed = true;
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// When it does not start, or is not in `PATH`.
    pub fn start(self) -> Mariadb {
        let instance = Instance::make(&FOLDER, self.tls.as_ref());
        let mut instance =
            instance.unwrap_or_else(|e| panic!("no MariaDB ({e}); scripts/servers installs it"));
        if let Some(authority) = &self.authority {
            cluster::give_file(authority, &instance.data().join("ca.pem"))
                .expect("its folder can be written");
        }
        if self.skewed {
            instance.skew().expect("a clock shim");
        }
        let mut server = Mariadb { instance, settings: self.settings };
        server.instance.first_start(|instance| spawn(instance, &server.settings));
        server.sql_in("mysql", USERS);
        if self.authority.is_some() {
            server.sql("ALTER USER app REQUIRE X509");
        }
        server
    }
}

impl Mariadb {
    /// A server with defaults.
    ///
    /// # Panics
    /// As [`MariadbBuilder::start`].
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Settings before the start.
    pub fn builder() -> MariadbBuilder {
        MariadbBuilder::default()
    }

    /// A server with cotter's tables, which the tests of this process share as long as one of them uses it.
    ///
    /// # Panics
    /// As [`MariadbBuilder::start`].
    pub fn migrated() -> Arc<Self> {
        static SHARED: Shared<Mariadb> = Shared::new();
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
        self.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    }

    /// Creates the tables of a store with these options as the owner of the database, and gives `app` what `docs/stores/mysql.md` says.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn migrate(&self, options: &str) {
        database::migrate(self.url_of("owner", options));
        if !options.contains("mode=shedlock") {
            self.sql(grants());
        }
    }

    /// Creates a user with the password `secret` who may do what `app` may on cotter's tables.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn add_user(&self, name: &str) {
        let to = format!("TO {name}");
        self.sql(&format!(
            "CREATE USER {name}@'%' IDENTIFIED BY 'secret'; {}",
            grants().replace("TO app", &to)
        ));
    }

    /// Ends every session of a user, and waits until they have gone.
    ///
    /// # Panics
    /// When the server does not answer, or they do not go.
    pub fn end_sessions_of(&self, user: &str) {
        self.sql(&format!("KILL USER {user}"));
        let left = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{user}'");
        let end = Instant::now() + START_TIMEOUT;
        while self.sql(&left) != "0" {
            assert!(Instant::now() < end, "sessions of {user} stay");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        socket(&self.instance)
    }

    /// Sets its clock ahead by this many seconds from now on, or behind; only for a [`skewed`](MariadbBuilder::skewed) server.
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
        if let Some(mut child) = self.instance.child.take() {
            let _ = child.kill();
            let _ = child.wait();
            let _ = fs::remove_file(self.socket());
        }
    }

    /// Has it stand still: connections stay open, and nothing is answered.
    ///
    /// # Panics
    /// When it does not run.
    pub fn freeze(&self, frozen: bool) {
        let signal = if frozen { Signal::STOP } else { Signal::CONT };
        let child = self.instance.child.as_ref().expect("it runs");
        kill_process(Pid::from_child(child), signal).expect("it is ours");
    }

    /// How many sessions the user `app` has.
    ///
    /// # Panics
    /// When the server does not answer.
    pub fn sessions(&self) -> usize {
        self.sql("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'")
            .parse()
            .expect("a number")
    }

    /// Teaches it a time zone of the system.
    ///
    /// # Panics
    /// When the system does not have it.
    pub fn load_time_zone(&self, zone: &str) {
        let mut convert =
            Command::new(cluster::find("mariadb-tzinfo-to-sql").expect("it comes with the server"));
        let done = convert.arg(format!("/usr/share/zoneinfo/{zone}")).arg(zone).output().expect("it starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        self.sql_in("mysql", &String::from_utf8_lossy(&done.stdout));
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.instance.port
    }

    /// A URL of the user `app` with these options: `""` or `"prefix=other"`.
    pub fn url(&self, options: &str) -> String {
        self.url_of("app", options)
    }

    /// A URL of a user with these options.
    pub fn url_of(&self, user: &str, options: &str) -> String {
        format!("mysql://{user}:secret@127.0.0.1:{}/cotter?{options}", self.port())
    }

    /// Runs statements as superuser in the database `cotter`; the values of the answer, a tab between columns.
    ///
    /// # Panics
    /// When the server refuses.
    pub fn sql(&self, statements: &str) -> String {
        self.sql_in("cotter", statements)
    }

    fn sql_in(&self, database: &str, statements: &str) -> String {
        output(self.client(database).arg("-e"), statements)
    }

    /// `mariadb` as superuser, for sessions that stay open.
    ///
    /// # Panics
    /// When it is not in `PATH`.
    pub fn client(&self, database: &str) -> Command {
        client(&self.instance, database)
    }
}

fn socket(instance: &Instance) -> PathBuf {
    instance.dir().join("socket")
}

fn client(instance: &Instance, database: &str) -> Command {
    let mut client = Command::new(cluster::find("mariadb").expect("mariadb is in PATH"));
    client.args(["--no-defaults", "-N", "-B", "-u", "root", "-D", database, "-S"]).arg(socket(instance));
    client
}

/// Starts it and waits until it answers; false when it has ended instead.
fn spawn(instance: &mut Instance, settings: &[String]) -> io::Result<bool> {
    let mut command = cluster::program("mariadbd")?;
    let path = |option: &str, path: PathBuf| format!("--{option}={}", path.display());
    command.arg("--no-defaults").arg(path("datadir", instance.data()));
    command.arg(path("socket", socket(instance))).arg(path("tmpdir", instance.dir().into()));
    command.arg(format!("--port={}", instance.port)).arg(path("pid-file", instance.dir().join("pid")));
    command.args(SETTINGS).args(settings);
    instance.start(&mut command, START_TIMEOUT, |instance| {
        let asked = || client(instance, "mysql").args(["-e", "DO 0"]).output();
        socket(instance).exists() && asked().is_ok_and(|answer| answer.status.success())
    })
}

impl Database for Mariadb {
    fn restart(&mut self) {
        self.kill();
        self.instance.restart(|instance| spawn(instance, &self.settings));
    }

    fn end_sessions(&self) -> usize {
        let there = self.sessions();
        self.sql("KILL USER app");
        there
    }

    fn end_one_session(&self) -> bool {
        let one = "SELECT id FROM information_schema.processlist WHERE user = 'app' ORDER BY RAND() LIMIT 1";
        let id = self.sql(one);
        // It may have ended by itself in the meantime.
        let kill = format!("KILL {id}");
        !id.is_empty() && self.client("cotter").args(["-e", &kill]).output().is_ok_and(|o| o.status.success())
    }
}

impl Drop for Mariadb {
    fn drop(&mut self) {
        self.kill();
    }
}
