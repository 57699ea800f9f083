//! `mode=shedlock` beside the real ShedLock: whoever holds a name keeps the other out, in both directions.

use super::setup::{client, server};
use cotter::{Client, ErrorKind, Lease, LossCause, Released};
use cotter_testkit::servers::Postgres;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const TTL: Duration = Duration::from_secs(30);

/// A program in Java that locks with ShedLock.
struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it, with this clock: `db` or `own`.
    fn start(server: &Postgres, clock: &str) -> Self {
        let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/java/*");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/postgres/ShedLockPeer.java");
        let mut java = Command::new("java");
        java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]).arg(jars).arg(program);
        java.arg(format!("jdbc:postgresql://127.0.0.1:{}/cotter", server.port()))
            .args(["app", "secret", clock]);
        // The zone of a process, and with it that of its sessions, does not matter.
        java.env("TZ", "Asia/Tokyo").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = java.spawn().expect("scripts/servers installs java");
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut peer = Self { child, input, output };
        assert_eq!(peer.line(), "ready");
        peer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn does(&mut self, order: &str) -> bool {
        writeln!(self.input, "{order}").unwrap();
        match self.line().as_str() {
            "yes" => true,
            "no" => false,
            other => panic!("{order}: {other}"),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with ShedLock's table, as ShedLock's own documentation creates it.
fn shed() -> Postgres {
    let server = server();
    server.sql(
        "create table shedlock(name varchar(64) not null, lock_until timestamp not null, locked_at timestamp not null, \
         locked_by varchar(255) not null, primary key (name))",
    );
    server.sql("grant select, insert, update on shedlock to app");
    server
}

/// Java and cotter keep each other out, whoever has inserted the row, by the clock of the database.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and java"]
async fn shedlock_and_cotter_exclude_each_other() {
    exclude_each_other("db").await;
}

/// So they do where Java writes times of its own clock.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres and java"]
async fn shedlock_with_a_clock_of_its_own_and_cotter_exclude_each_other() {
    exclude_each_other("own").await;
}

async fn exclude_each_other(clock: &str) {
    let server = shed();
    let mut peer = Peer::start(&server, clock);
    let ours = client(&server.url("mode=shedlock"), TTL).await;
    for name in ["first-java", "first-cotter"] {
        for round in 0..2 {
            if (name == "first-java") == (round == 0) {
                assert!(peer.does(&format!("lock {name} 20000 0")));
                assert!(ours.mutex(name).try_lock().await.unwrap().is_none(), "{name}: ShedLock holds it");
                assert!(peer.does(&format!("extend {name} 20000")));
                assert!(
                    ours.mutex(name).try_lock().await.unwrap().is_none(),
                    "{name}: ShedLock holds it still"
                );
                let waiting = {
                    let mutex = ours.mutex(name);
                    tokio::spawn(async move { mutex.lock().await.unwrap() })
                };
                tokio::time::sleep(Duration::from_millis(150)).await;
                assert!(!waiting.is_finished());
                assert!(peer.does(&format!("unlock {name}")));
                let guard = waiting.await.unwrap();
                assert!(!peer.does(&format!("lock {name} 20000 0")), "{name}: cotter holds it");
                guard.finish().await.unwrap();
            } else {
                let guard = ours.mutex(name).lock().await.unwrap();
                assert!(!peer.does(&format!("lock {name} 20000 0")), "{name}: cotter holds it");
                guard.extend(TTL).await.unwrap();
                assert!(!peer.does(&format!("lock {name} 20000 0")), "{name}: cotter holds it still");
                guard.finish().await.unwrap();
                assert!(peer.does(&format!("lock {name} 20000 0")), "{name}: cotter has given it back");
                assert!(peer.does(&format!("unlock {name}")));
            }
        }
    }
    // What either keeps after a release.
    assert!(peer.does("lock kept 20000 600"));
    let start = Instant::now();
    assert!(peer.does("unlock kept"));
    let guard = ours.mutex("kept").lock().await.unwrap();
    assert!(start.elapsed() > Duration::from_millis(400), "lockAtLeastFor: {:?}", start.elapsed());
    assert_eq!(guard.leave_for(Duration::from_millis(600)).await.unwrap(), Released::Yes);
    assert!(!peer.does("lock kept 20000 0"), "cotter keeps it");
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(peer.does("lock kept 20000 0"));
    // A holder of Java's whose time is over can neither extend nor free what is cotter's by now.
    assert!(peer.does("lock over 200 0"));
    let guard = ours.mutex("over").lock().await.unwrap();
    assert!(!peer.does("extend over 20000"));
    assert!(ours.mutex("over").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
    // And the other way round.
    let short =
        Client::builder().url(server.url("mode=shedlock")).lease(Lease::fixed(Duration::from_millis(200)));
    let short = short.connect().await.unwrap();
    let guard = short.mutex("ours-over").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!guard.is_valid() && peer.does("lock ours-over 20000 0"));
    drop(guard);
    assert!(ours.mutex("ours-over").try_lock().await.unwrap().is_none(), "a late release frees nobody");
    assert_eq!(
        server.sql("select count(*) from shedlock where name = 'kept'"),
        "1",
        "rows are never deleted"
    );
}

/// The column has no zone: what is in it is always a reading of UTC.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_zone_of_a_session_does_not_matter() {
    let server = shed();
    let mut clients = Vec::new();
    for zone in ["UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin"] {
        server.sql(&format!("alter role app set timezone = '{zone}'"));
        clients.push(client(&server.url("mode=shedlock"), TTL).await);
    }
    for one in &clients {
        let guard = one.mutex("zone").lock().await.unwrap();
        for other in &clients {
            assert!(other.mutex("zone").try_lock().await.unwrap().is_none());
            let record = other.holder("zone").await.unwrap().expect("it is held");
            let left = record.holders[0].remaining.unwrap();
            assert!(left > TTL / 2 && left <= TTL + Duration::from_millis(10), "{left:?}");
        }
        guard.finish().await.unwrap();
    }
}

/// Two holders on one host have different values, so a late release frees nobody; a row is never deleted.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn every_claim_has_a_value_of_its_own() {
    let server = shed();
    let client = client(&server.url("mode=shedlock"), TTL).await;
    let mut values = Vec::new();
    for _ in 0..3 {
        let guard = client.mutex("own").lock().await.unwrap();
        values.push(server.sql("select locked_by from shedlock where name = 'own'"));
        guard.finish().await.unwrap();
    }
    values.dedup();
    assert_eq!(values.len(), 3, "{values:?}");
    let guard = client.mutex("own").lock().await.unwrap();
    server.sql("update shedlock set locked_by = 'somebody else' where name = 'own'");
    assert_eq!(guard.extend(TTL).await.unwrap_err().lost().map(|lost| lost.cause), Some(LossCause::Gone));
    drop(guard);
    assert!(client.mutex("own").try_lock().await.unwrap().is_none(), "it is somebody else's");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn what_the_table_cannot_hold_is_refused() {
    let server = shed();
    let client = client(&server.url("mode=shedlock"), TTL).await;
    let error = client.mutex("x".repeat(65)).lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidName, false), "{error}");
    assert!(error.to_string().contains("64 characters"), "{error}");
    client.mutex("é".repeat(64)).lock().await.unwrap().finish().await.unwrap();
    let error = Client::connect(server.url("mode=shedlock&table=other")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("other") && error.to_string().contains("cotter migrate"), "{error}");
    server.migrate("mode=shedlock&table=other");
    server.sql("grant select, insert, update on other to app");
    let other = self::client(&server.url("mode=shedlock&table=other"), TTL).await;
    other.mutex("a").lock().await.unwrap().finish().await.unwrap();
    assert_eq!(server.sql("select count(*) from shedlock where name = 'a'"), "0");
}
