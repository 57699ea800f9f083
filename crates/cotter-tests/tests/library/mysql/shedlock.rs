//! `mode=shedlock` beside the real ShedLock.

use super::setup::{backend, claim, client};
use crate::shedlock::{self, Database, Peer};
use cotter::backend::{Acquired, Backend, Grant, Until};
use cotter::{Client, ErrorKind, Eviction, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);
/// With columns that depend on the zone of a session, as ShedLock's own documentation creates it.
const THEIRS: &str = "CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL, \
    locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name)); \
    GRANT SELECT, INSERT, UPDATE ON shedlock TO app";

impl Database for Mariadb {
    fn url(&self, options: &str) -> String {
        Self::url(self, &format!("mode=shedlock{options}"))
    }

    fn url_of_owner(&self, options: &str) -> String {
        self.url_of("owner", &format!("mode=shedlock{options}"))
    }

    fn sql(&self, statements: &str) -> String {
        Self::sql(self, statements)
    }
}

/// A server in this time zone, with ShedLock's table as its own documentation has it.
fn in_zone(zone: &str) -> Mariadb {
    let server = Mariadb::start();
    server.load_time_zone("Europe/Berlin");
    server.sql(&format!("SET GLOBAL time_zone = '{zone}'; {THEIRS}"));
    server
}

fn jdbc(server: &Mariadb, options: &str) -> String {
    format!("jdbc:mariadb://127.0.0.1:{}/cotter?{options}", server.port())
}

/// Java and cotter keep each other out, whoever has inserted the row, by the clock of the server, which is in a zone with summer time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd and java"]
async fn shedlock_on_mariadb_and_cotter_exclude_each_other() {
    let server = in_zone("Europe/Berlin");
    let mut peer = Peer::start(&jdbc(&server, ""), "db");
    shedlock::exclude_each_other(&server, &mut peer).await;
}

/// So they do where Java writes times of its own clock, in sessions of another zone, if the columns have none.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd and java"]
async fn shedlock_on_mariadb_with_a_clock_of_its_own_and_cotter_exclude_each_other() {
    let server = Mariadb::migrated();
    let mut peer = Peer::start(&jdbc(&server, "sessionVariables=time_zone='+09:00'"), "own");
    shedlock::exclude_each_other(&*server, &mut peer).await;
}

/// The columns of the table that `cotter migrate` creates have no zone: what is in them is always a reading of UTC.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_zone_of_a_session_does_not_matter() {
    let server = Mariadb::start();
    server.migrate("mode=shedlock");
    server.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    server.load_time_zone("Europe/Berlin");
    let mut clients = Vec::new();
    for zone in ["+00:00", "Europe/Berlin", "-09:30"] {
        server.sql(&format!("SET GLOBAL time_zone = '{zone}'"));
        clients.push(client(&server.url("mode=shedlock"), TTL).await);
    }
    shedlock::agree(&clients).await;
}

/// A connection whose session sees this time of day, in seconds since 1970, and no other.
async fn at(server: &Mariadb, seconds: f64) -> Arc<dyn Backend> {
    server.sql(&format!("SET GLOBAL init_connect = 'SET timestamp = {seconds}'"));
    let one = backend(&server.url("mode=shedlock&connections=1")).await;
    server.sql("SET GLOBAL init_connect = ''");
    one
}

async fn attempt(by: &Arc<dyn Backend>, name: &str) -> cotter::Result<Option<Grant>> {
    by.acquire(&claim(name, TTL), Until::Now).await.map(Acquired::granted)
}

/// In the hour that is repeated, and in the one that is skipped, of a zone with summer time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn the_ends_of_summer_time() {
    // What the server's clock reads in UTC is stored as if it were local: 2026-10-25 02:30 is there twice.
    const REPEATED: f64 = 1_792_895_400.0;
    // 2026-03-29 02:30 is no local time.
    const SKIPPED: f64 = 1_774_751_400.0;
    let server = in_zone("Europe/Berlin");
    let (first, second) = (at(&server, REPEATED).await, at(&server, REPEATED + 20.0).await);
    let after = at(&server, REPEATED + 31.0).await;
    let held = attempt(&first, "repeated").await.unwrap().expect("it is free");
    for other in [&first, &second] {
        let taken = attempt(other, "repeated").await.unwrap();
        demand(taken.is_none(), Kind::Overlap, "it was taken in the hour that is repeated");
    }
    let next = attempt(&after, "repeated").await.unwrap().expect("its time is over");
    demand(next.number > held.number, Kind::TokenOrder, "the clock goes on");
    let skipped = at(&server, SKIPPED).await;
    let error = attempt(&skipped, "skipped").await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Config, false), "{error}");
    assert!(error.to_string().contains("DATETIME(3)"), "{error}");
    // The columns that `cotter migrate` creates can hold it.
    server.sql("DROP TABLE shedlock");
    server.migrate("mode=shedlock");
    server.sql("GRANT SELECT, INSERT, UPDATE ON shedlock TO app");
    attempt(&skipped, "skipped").await.unwrap().expect("it is free");
    let taken = attempt(&skipped, "skipped").await.unwrap();
    demand(taken.is_none(), Kind::Overlap, "it was taken in the hour that is skipped");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn what_a_row_says_is_one_claims_own() {
    let server = Mariadb::migrated();
    shedlock::every_claim_has_a_value_of_its_own(&*server).await;
    shedlock::tokens_rise_whatever_the_clock_says(&*server).await;
    shedlock::holders_are_named_after_their_end(&*server).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn what_the_table_cannot_hold_is_refused() {
    let server = Mariadb::migrated();
    shedlock::what_the_table_cannot_hold_is_refused(&*server).await;
    server.sql("CREATE TABLE odd (name VARCHAR(64) CHARACTER SET latin1 PRIMARY KEY, lock_until DATETIME(3) NOT NULL, \
        locked_at DATETIME(3) NOT NULL, locked_by VARCHAR(255) NOT NULL); GRANT SELECT, INSERT, UPDATE ON odd TO app; \
        CREATE TABLE half (name VARCHAR(64) PRIMARY KEY); GRANT SELECT ON half TO app");
    let error = Client::connect(server.url("mode=shedlock&table=half")).await.unwrap_err();
    assert!(
        error.to_string().contains("lock_until") && error.to_string().contains("cotter migrate"),
        "{error}"
    );
    let odd = client(&server.url("mode=shedlock&table=odd"), TTL).await;
    let error = odd.mutex("雪").lock().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidName, false), "{error}");
    // Names that the collation of a table takes for equal are one lock there, under each of them.
    let guard = odd.mutex("Job").lock().await.unwrap();
    for same in ["job", "job "] {
        assert!(odd.mutex(same).try_lock().await.unwrap().is_none(), "{same}");
        assert_eq!(odd.holder(same).await.unwrap().expect("it is held").holders.len(), 1);
    }
    guard.finish().await.unwrap();
}

/// A table from the times when a first `TIMESTAMP` column set itself to the time of each change.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn a_column_that_sets_itself_changes_no_lease() {
    let server = Mariadb::start();
    server.sql("SET GLOBAL explicit_defaults_for_timestamp = OFF");
    server.sql(&format!("SET GLOBAL time_zone = '-09:00'; {THEIRS}"));
    let made = server.sql("SHOW CREATE TABLE shedlock").to_lowercase();
    assert!(made.contains("on update current_timestamp"), "{made}");
    let (one, other) =
        (client(&server.url("mode=shedlock"), TTL).await, client(&server.url("mode=shedlock"), TTL).await);
    let guard = one.mutex("a").lock().await.unwrap();
    let until = "SELECT lock_until FROM shedlock";
    let before = server.sql(until);
    assert!(matches!(other.admin().evict("a").await.unwrap(), Eviction::Evicted { .. }));
    let taken = other.mutex("a").try_lock().await.unwrap();
    demand(taken.is_none(), Kind::Overlap, "an evicted holder has not let go yet");
    assert_eq!(server.sql(until), before);
    assert_eq!(guard.extend(TTL).await.unwrap_err().lost().map(|lost| lost.cause), Some(LossCause::Evicted));
    drop(guard);
}

/// What the column cuts off is not believed, and does not end a lease that is renewed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn columns_without_fractions_give_nobody_more_than_they_keep() {
    let server = Mariadb::migrated();
    server.sql(
        "CREATE TABLE coarse (name VARCHAR(64) PRIMARY KEY, lock_until DATETIME NOT NULL, locked_at DATETIME NOT NULL, \
         locked_by VARCHAR(255) NOT NULL); GRANT SELECT, INSERT, UPDATE ON coarse TO app",
    );
    let (url, ttl) = (server.url("mode=shedlock&table=coarse"), Duration::from_millis(1500));
    let (one, other) = (client(&url, ttl).await, client(&url, ttl).await);
    let renewed = one.mutex("renewed").lock().await.unwrap();
    for round in 0..4 {
        let name = format!("fixed {round}");
        let first = one.mutex(&name).lease(cotter::Lease::fixed(ttl)).lock().await.unwrap();
        let next = other.mutex(&name).try_lock_for(TTL).await.unwrap().expect("its lease ends");
        let text = format!("round {round}: {:?} before the end of the first", first.remaining());
        demand(!first.is_valid(), Kind::Overlap, text);
        next.finish().await.unwrap();
    }
    assert!(renewed.is_valid(), "{:?}", renewed.check());
    renewed.finish().await.unwrap();
    let findings = other.admin().diagnose().await.unwrap();
    assert!(
        findings.iter().any(|f| f.subject == "precision" && f.message.contains("DATETIME(3)")),
        "{findings:?}"
    );
}
