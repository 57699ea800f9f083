//! `mode=shedlock` beside the real ShedLock, whatever the database: whoever holds a name keeps the other out, in both directions.

use cotter::{Client, ErrorKind, EvictOrder, Eviction, FencingToken, Lease, LossCause, Released};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::Stopwatch;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

/// A database with ShedLock's table.
pub(crate) trait Database {
    /// What cotter connects to, in this mode.
    fn url(&self, options: &str) -> String;

    /// The same, as a user who may do everything in the database.
    fn url_of_owner(&self, options: &str) -> String;

    /// Runs statements as superuser.
    fn sql(&self, statements: &str) -> String;
}

pub(crate) async fn client(url: &str) -> Client {
    Client::builder().lease(Lease::renewed(TTL)).local_turns(false).connect(url).await.unwrap()
}

/// A program in Java that locks with ShedLock.
pub(crate) struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts it on the database of this JDBC URL, with this clock: `db` or `own`.
    pub(crate) fn start(database: &str, clock: &str) -> Self {
        let jars = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/java/*");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library/shedlock/ShedLockPeer.java");
        let mut java = Command::new("java");
        java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp"]).arg(jars).arg(program);
        java.arg(database).args(["app", "secret", clock]);
        // The zone of its process does not matter.
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

    pub(crate) fn does(&mut self, order: &str) -> bool {
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

/// Whoever has inserted the row of a name.
pub(crate) async fn exclude_each_other(database: &impl Database, peer: &mut Peer) {
    let ours = client(&database.url("")).await;
    for name in ["first-java", "first-cotter"] {
        for round in 0..2 {
            if (name == "first-java") == (round == 0) {
                theirs_first(peer, &ours, name).await;
            } else {
                ours_first(peer, &ours, name).await;
            }
        }
    }
    kept_after_a_release(peer, &ours).await;
    late_releases_free_nobody(database, peer, &ours).await;
    assert_eq!(
        database.sql("select count(*) from shedlock where name = 'kept'"),
        "1",
        "rows are never deleted"
    );
}

async fn theirs_first(peer: &mut Peer, ours: &Client, name: &str) {
    assert!(peer.does(&format!("lock {name} 20000 0")));
    let taken = ours.mutex(name).try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, format!("{name}: ShedLock holds it"));
    assert!(peer.does(&format!("extend {name} 20000")));
    let taken = ours.mutex(name).try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, format!("{name}: ShedLock holds it still"));
    let waiting = {
        let mutex = ours.mutex(name);
        tokio::spawn(async move { mutex.lock().await.unwrap() })
    };
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(!waiting.is_finished());
    assert!(peer.does(&format!("unlock {name}")));
    let guard = waiting.await.unwrap();
    let taken = peer.does(&format!("lock {name} 20000 0"));
    demand(!taken, Kind::Overlap, format!("{name}: cotter holds it"));
    guard.finish().await.unwrap();
}

async fn ours_first(peer: &mut Peer, ours: &Client, name: &str) {
    let guard = ours.mutex(name).lock().await.unwrap();
    let taken = peer.does(&format!("lock {name} 20000 0"));
    demand(!taken, Kind::Overlap, format!("{name}: cotter holds it"));
    guard.extend(TTL).await.unwrap();
    let taken = peer.does(&format!("lock {name} 20000 0"));
    demand(!taken, Kind::Overlap, format!("{name}: cotter holds it still"));
    guard.finish().await.unwrap();
    assert!(peer.does(&format!("lock {name} 20000 0")), "{name}: cotter has given it back");
    assert!(peer.does(&format!("unlock {name}")));
}

async fn kept_after_a_release(peer: &mut Peer, ours: &Client) {
    // From before it was locked: how long the other process takes to say so does not count. Its clock has milliseconds.
    let start = Stopwatch::start();
    assert!(peer.does("lock kept 20000 600"));
    assert!(peer.does("unlock kept"));
    let guard = ours.mutex("kept").lock().await.unwrap();
    start.at_least(Duration::from_millis(590), "lockAtLeastFor");
    assert_eq!(guard.keep_for(Duration::from_millis(600)).await.unwrap(), Released::Yes);
    assert!(!peer.does("lock kept 20000 0"), "cotter keeps it");
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(peer.does("lock kept 20000 0"));
}

/// A holder whose time is over can neither extend nor free what is the other's by now.
async fn late_releases_free_nobody(database: &impl Database, peer: &mut Peer, ours: &Client) {
    assert!(peer.does("lock over 200 0"));
    let guard = ours.mutex("over").lock().await.unwrap();
    assert!(!peer.does("extend over 20000"));
    assert!(ours.mutex("over").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
    let short = Client::builder().lease(Lease::fixed(Duration::from_millis(200)));
    let short = short.connect(database.url("")).await.unwrap();
    let guard = short.mutex("ours-over").lock().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!guard.is_valid() && peer.does("lock ours-over 20000 0"));
    drop(guard);
    let taken = ours.mutex("ours-over").try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, "a late release has freed ShedLock's lock");
}

/// Two holders on one host have different values, so a late release frees nobody; a row is never deleted.
pub(crate) async fn every_claim_has_a_value_of_its_own(database: &impl Database) {
    let client = client(&database.url("")).await;
    let mut values = Vec::new();
    for _ in 0..3 {
        let guard = client.mutex("own").lock().await.unwrap();
        values.push(database.sql("select locked_by from shedlock where name = 'own'"));
        guard.finish().await.unwrap();
    }
    values.dedup();
    assert_eq!(values.len(), 3, "{values:?}");
    let guard = client.mutex("own").lock().await.unwrap();
    database.sql("update shedlock set locked_by = 'somebody else' where name = 'own'");
    assert_eq!(guard.extend(TTL).await.unwrap_err().lost().map(|lost| lost.cause), Some(LossCause::Gone));
    drop(guard);
    let taken = client.mutex("own").try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, "it is somebody else's");
}

/// Even if the clock was set back since, or the statement that gives the next one has been on its way for longer.
pub(crate) async fn tokens_rise_whatever_the_clock_says(database: &impl Database) {
    const HOUR: u64 = 3_600_000_000;
    let client = client(&database.url("")).await;
    for before in ["", "released ", "released evicted "] {
        let guard = client.mutex("rising").lock().await.unwrap();
        let last = guard.token().get() + HOUR;
        guard.finish().await.unwrap();
        let holder = format!("{before}cotter:00112233445566778899aabbccddeeff a host, 12 {last}");
        database.sql(&format!("update shedlock set locked_by = '{holder}' where name = 'rising'"));
        let guard = client.mutex("rising").lock().await.unwrap();
        let token = guard.token().get();
        demand(token > last, Kind::TokenOrder, format!("{token} after {last}"));
        let listed = client.holder("rising").await.unwrap().expect("it is held");
        assert_eq!(listed.holders[0].token.get(), token);
        guard.finish().await.unwrap();
        // What others leave there is no token.
        for other in ["host 77", "cotter: none", "12345678901234567890 12345678901234567890"] {
            database.sql(&format!("update shedlock set locked_by = '{other}' where name = 'rising'"));
            client.mutex("rising").lock().await.unwrap().finish().await.unwrap();
        }
        database.sql("update shedlock set locked_by = 'host' where name = 'rising'");
    }
}

/// A name that was released, and is kept for a while, has the same holder as before. One that is evicted again has been evicted.
pub(crate) async fn holders_are_named_after_their_end(database: &impl Database) {
    let client = client(&database.url("")).await;
    let guard = client.mutex("named").lock().await.unwrap();
    let held = held_by(&client, "named").await;
    assert_eq!(guard.keep_for(TTL).await.unwrap(), Released::Yes);
    assert_eq!(held_by(&client, "named").await, held);
    let order = EvictOrder::new().only(held.1);
    for order in [order, order, order.at_once()] {
        let evicted = client.admin().evict_with("named", order).await.unwrap();
        assert_eq!(evicted, Eviction::Evicted { token: held.1 });
    }
    for (name, last) in [("again", EvictOrder::new()), ("again at once", EvictOrder::new().at_once())] {
        let guard = client.mutex(name).lock().await.unwrap();
        let held = held_by(&client, name).await;
        for order in [EvictOrder::new(), last] {
            assert_eq!(held_by(&client, name).await, held);
            let evicted = client.admin().evict_with(name, order).await.unwrap();
            assert_eq!(evicted, Eviction::Evicted { token: held.1 });
        }
        let lost = guard.extend(TTL).await.unwrap_err();
        assert_eq!(lost.lost().map(|lost| lost.cause), Some(LossCause::Evicted), "{lost}");
    }
}

async fn held_by(client: &Client, name: &str) -> (String, FencingToken) {
    let record = client.holder(name).await.unwrap().expect("it is held");
    (record.holders[0].label.clone(), record.holders[0].token)
}

pub(crate) async fn what_the_table_cannot_hold_is_refused(database: &impl Database) {
    let client = self::client(&database.url("")).await;
    let error = client.mutex("x".repeat(65)).lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidName, false), "{error}");
    assert!(error.to_string().contains("64 characters"), "{error}");
    client.mutex("é".repeat(64)).lock().await.unwrap().finish().await.unwrap();
    let error = Client::connect(database.url_of_owner("&table=absent")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("absent") && error.to_string().contains("cotter migrate"), "{error}");
}

/// Clients whose sessions are in different time zones agree on who holds a name, and for how long.
pub(crate) async fn agree(clients: &[Client]) {
    for one in clients {
        let guard = one.mutex("zone").lock().await.unwrap();
        for other in clients {
            let taken = other.mutex("zone").try_lock().await.unwrap();
            demand(taken.is_none(), Kind::Overlap, "a held lock was taken from another time zone");
            let record = other.holder("zone").await.unwrap().expect("it is held");
            let left = record.holders[0].remaining.unwrap();
            assert!(left > TTL / 2 && left <= TTL + Duration::from_millis(10), "{left:?}");
        }
        guard.finish().await.unwrap();
    }
}
