//! `mode=shedlock` beside the real ShedLock.

use super::setup::{client, server};
use crate::shedlock::{self, Database, Peer};
use cotter::{Client, ErrorKind};
use cotter_testkit::servers::Postgres;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

impl Database for Postgres {
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

async fn exclude_each_other(clock: &str) {
    let server = shed();
    let mut peer = Peer::start(&format!("jdbc:postgresql://127.0.0.1:{}/cotter", server.port()), clock);
    shedlock::exclude_each_other(&server, &mut peer).await;
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
    shedlock::agree(&clients).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn what_a_row_says_is_one_claims_own() {
    let server = Postgres::migrated();
    shedlock::every_claim_has_a_value_of_its_own(&*server).await;
    shedlock::tokens_rise_whatever_the_clock_says(&*server).await;
    shedlock::holders_are_named_after_their_end(&*server).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn what_the_table_cannot_hold_is_refused() {
    let server = Postgres::migrated();
    shedlock::what_the_table_cannot_hold_is_refused(&*server).await;
    server.migrate("mode=shedlock&table=other");
    server.sql("grant select, insert, update on other to app");
    let other = client(&server.url("mode=shedlock&table=other"), TTL).await;
    other.mutex("only there").lock().await.unwrap().finish().await.unwrap();
    assert_eq!(server.sql("select count(*) from shedlock where name = 'only there'"), "0");
}

/// Without a schema the table is the one that ShedLock finds, in the `search_path` of the role.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn the_schema_of_the_table_can_be_named() {
    let server = Postgres::migrated();
    server.migrate("mode=shedlock&schema=ops");
    server.sql("grant usage on schema ops to app; grant select, insert, update on ops.shedlock to app");
    let ops = client(&server.url("mode=shedlock&schema=ops"), TTL).await;
    ops.mutex("only in ops").lock().await.unwrap().finish().await.unwrap();
    let rows = |table: &str| server.sql(&format!("select count(*) from {table} where name = 'only in ops'"));
    assert_eq!((rows("ops.shedlock"), rows("public.shedlock")), ("1".into(), "0".into()));
}

/// Such a column means another moment in each time zone. What the error says makes it one that does not.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs postgres"]
async fn columns_with_a_zone_are_refused() {
    let server = server();
    server.sql(
        "create table zoned(name varchar(64) primary key, lock_until timestamptz not null, locked_at timestamptz not null, \
         locked_by varchar(255) not null)",
    );
    server.sql("grant select, insert, update on zoned to app");
    let url = server.url("mode=shedlock&table=zoned");
    let error = Client::connect(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let text = error.to_string();
    let remedy = &text[text.find("alter table").expect("it says what to do")..];
    server.sql(remedy);
    let client = client(&url, TTL).await;
    client.mutex("a").lock().await.unwrap().finish().await.unwrap();
}
