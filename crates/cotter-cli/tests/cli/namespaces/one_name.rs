//! One host name that leads to several addresses: the server that accepts writes is found, and two of them are an error.

use crate::env::{Output, Running, TestEnv};
use cotter_testkit::servers::{Mariadb, Postgres, Proxy, Redis};
use std::fs;
use std::path::Path;

/// A name that leads to two servers, each behind an address of its own with the same port.
struct TwoServers {
    env: TestEnv,
    /// A URL through this name.
    url: String,
    _proxies: [Proxy; 2],
}

const NAME: &str = "store.test";

impl TwoServers {
    /// `url`: of a server at `port`.
    fn new(url: &str, port: u16, other: u16) -> Self {
        let one = Proxy::start_at("127.0.0.2:0", port);
        let two = Proxy::start_at(&format!("127.0.0.3:{}", one.port()), other);
        let url = url.replace(&format!("127.0.0.1:{port}"), &format!("{NAME}:{}", one.port()));
        let env = TestEnv::new();
        fs::write(env.path("hosts"), format!("127.0.0.2 {NAME}\n127.0.0.3 {NAME}\n")).unwrap();
        Self { env, url, _proxies: [one, two] }
    }

    /// Runs `cotter` where the name leads to both.
    fn run(&self, words: &str) -> Output {
        let mut command = self.env.anywhere(Path::new("unshare"));
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        command.arg(format!(
            "mount --bind '{}' /etc/hosts && exec \"$0\" {words}",
            self.env.path("hosts").display()
        ));
        command.arg(env!("CARGO_BIN_EXE_cotter")).env("COTTER_URL", &self.url).env("RESOLV_MULTI", "on");
        Running::start(&mut command).end()
    }

    /// Nothing depends on which of them answers first.
    fn is_found(&self) {
        for _ in 0..5 {
            let output = self.run("run a -- echo ran").code(0);
            assert_eq!(output.stdout, "ran\n", "{output:?}");
        }
    }

    fn is_refused(&self) {
        for _ in 0..5 {
            let output = self.run("run -n a -- echo ran").code(69);
            assert_eq!(output.stdout, "", "{output:?}");
            assert!(output.stderr.contains("two different servers that accept writes"), "{output:?}");
        }
    }
}

#[test]
#[ignore = "needs unprivileged namespaces and redis-server"]
fn redis() {
    let (one, other) = (Redis::start(), Redis::start());
    let servers = TwoServers::new(&one.url(""), one.port(), other.port());
    servers.is_refused();
    one.follow(&other);
    servers.is_found();
    one.promote();
    other.follow(&one);
    servers.is_found();
    let seen = servers.run("doctor").stdout;
    assert!(seen.lines().any(|line| line.contains("addresses") && line.contains("replica")), "{seen}");
    TwoServers::new(&one.url(""), one.port(), one.port()).is_found();
    // A master that carries nothing out just now is none to be chosen.
    other.promote();
    one.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    servers.is_found();
}

#[test]
#[ignore = "needs unprivileged namespaces and PostgreSQL"]
fn postgres() {
    let (one, mut other) = (Postgres::start(), Postgres::start());
    one.migrate_all();
    other.migrate_all();
    for mode in ["sslmode=disable", "sslmode=disable&mode=row"] {
        TwoServers::new(&one.url(mode), one.port(), other.port()).is_refused();
        TwoServers::new(&one.url(mode), one.port(), one.port()).is_found();
    }
    other.demote();
    for mode in ["sslmode=disable", "sslmode=disable&mode=row"] {
        TwoServers::new(&one.url(mode), one.port(), other.port()).is_found();
        TwoServers::new(&other.url(mode), other.port(), one.port()).is_found();
    }
}

#[test]
#[ignore = "needs unprivileged namespaces and MariaDB"]
fn mariadb() {
    let (one, other) = (Mariadb::start(), Mariadb::start());
    one.migrate_all();
    other.migrate_all();
    for mode in ["sslmode=disable", "sslmode=disable&mode=row"] {
        other.sql("SET GLOBAL read_only = 0");
        TwoServers::new(&one.url(mode), one.port(), other.port()).is_refused();
        TwoServers::new(&one.url(mode), one.port(), one.port()).is_found();
        other.sql("SET GLOBAL read_only = 1");
        TwoServers::new(&one.url(mode), one.port(), other.port()).is_found();
        TwoServers::new(&other.url(mode), other.port(), one.port()).is_found();
    }
}
