//! The tables of docs/which-store.md against the code.

use cotter::backend::Capabilities;
use cotter::{Client, Level, Owner};
#[cfg(feature = "postgres")]
use cotter_testkit::servers::Postgres;
#[cfg(feature = "redis")]
use cotter_testkit::servers::{Redis, redlock_url};

const PAGE: &str = include_str!("../../../../docs/which-store.md");

/// The text in the row of a store and the column of this title. Each of the tables has one row per store.
pub(crate) fn cell(store: &str, column: &str) -> &'static str {
    let cells = |line: &'static str| line.split('|').map(str::trim).collect::<Vec<_>>();
    let tables = PAGE.split("\n\n").filter(|part| part.starts_with("| store |"));
    let with_column = |table: &'static str| {
        let at = cells(table.lines().next()?).iter().position(|title| title.starts_with(column))?;
        Some((table, at))
    };
    let (table, at) = tables.filter_map(with_column).next().unwrap_or_else(|| panic!("no column {column}"));
    let mut rows = table.lines().map(cells).filter(|row| row[1] == store);
    let row = rows.next().unwrap_or_else(|| panic!("no row for {store} in the table with {column}"));
    assert!(rows.next().is_none(), "{store} has two rows in the table with {column}");
    row[at]
}

/// Fails if the cell of a column does not begin as it should.
fn assert_says(store: &str, column: &str, expected: &str) {
    let said = cell(store, column);
    assert!(
        said.starts_with(expected),
        "docs/which-store.md, row {store}, column {column}: {said:?}; the code says {expected:?}"
    );
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}

/// Where something is missing because of an option of the store, the error names more than the scheme: it goes on with the stores
/// that have it, and that may be this one without the option.
async fn assert_names_another(client: &Client) {
    let info = client.info();
    let shared = client.rwlock("which-store").try_read().await.map(drop);
    let permits = client.semaphore("which-permits", 2).try_acquire().await.map(drop);
    for error in [shared.err(), permits.err()].into_iter().flatten() {
        let said = error.to_string();
        assert!(info.variant != info.scheme || !said.contains(&format!(" {}:", info.scheme)), "{said}");
    }
}

async fn assert_true(store: &str, url: &str) {
    let connect = async || Client::connect(url).await.expect("the store can be reached");
    let (one, other) = (connect().await, connect().await);
    let info = one.info();
    let Capabilities { leases, ordered, shared, permits, tickets, notes, swap, records, .. } =
        info.capabilities;
    for (column, is) in [
        ("mutex", true),
        ("rwlock", shared),
        ("semaphore", permits),
        ("latch", swap),
        ("election", notes && records),
        ("tickets", tickets),
        ("notes", notes),
        ("loss signal", true),
    ] {
        assert_says(store, column, yes(is));
    }
    assert_says(store, "exclusive", if info.level == Level::BestEffort { "L0" } else { "L1" });
    let dies = match (leases, info.scheme) {
        (true, _) => "free when its lease ends",
        (false, "zookeeper") => "free when its session ends",
        (false, _) => "free at once",
    };
    assert_says(store, "the holder dies", dies);
    assert_eq!(cell(store, "order") == "arrival", ordered, "{store}");
    let older = info.variant.contains("redis in mode=") || info.variant.contains("shedlock");
    assert_says(store, "waiting", if older { "polls" } else { "woken" });

    assert_names_another(&one).await;

    let owner = Owner::new();
    let mutex = one.mutex("which-store").owner(&owner);
    let (first, second) = (mutex.lock().await.unwrap(), mutex.lock().await.unwrap());
    assert_says(store, "re-entrant", "by owner");
    let is_seen = other.mutex("which-store").try_lock().await.unwrap().is_none();
    assert_eq!(cell(store, "visible to") != "one process", is_seen, "{store}");
    second.finish().await.unwrap();
    first.finish().await.unwrap();
}

#[tokio::test]
async fn the_rows_of_the_embedded_stores_are_true() {
    assert_true("`memory:`", "memory:").await;
    {
        let dir = tempfile::tempdir().unwrap();
        assert_true("`file:`", &format!("file://{}", dir.path().join("locks").display())).await;
        let tokens = dir.path().join("locks").display().to_string();
        let url = format!("flock:{}?tokens={tokens}", dir.path().join("lock").display());
        assert_true("`flock:`", &url).await;
    }
}

#[cfg(feature = "redis")]
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_rows_of_redis_are_true() {
    let server = Redis::start();
    for (store, options) in
        [("`redis:`", ""), ("`redis:` `mode=plain`", "mode=plain"), ("`redis:` `mode=getset`", "mode=getset")]
    {
        assert_true(store, &server.url(options)).await;
    }
}

#[cfg(feature = "etcd")]
#[tokio::test]
#[ignore = "needs etcd"]
async fn the_rows_of_etcd_are_true() {
    let server = cotter_testkit::servers::Etcd::start(1);
    for (store, options) in [("`etcd:`", ""), ("`etcd:` `dialect=concurrency`", "dialect=concurrency")] {
        assert_true(store, &server.url(options)).await;
    }
}

#[cfg(feature = "zookeeper")]
#[tokio::test]
#[ignore = "needs zookeeper"]
async fn the_rows_of_zookeeper_are_true() {
    let server = crate::zookeeper::shared();
    for (store, options) in [
        ("`zookeeper:`", ""),
        ("`zookeeper:` `dialect=curator`", "dialect=curator"),
        ("`zookeeper:` `dialect=kazoo`", "dialect=kazoo"),
    ] {
        assert_true(store, &server.url(options)).await;
    }
}

#[cfg(feature = "postgres")]
#[tokio::test]
#[ignore = "needs postgres"]
async fn the_rows_of_postgres_are_true() {
    let server = Postgres::migrated();
    for (store, options) in [
        ("`postgres:`", ""),
        ("`postgres:` `mode=row`", "mode=row"),
        ("`postgres:` `mode=advisory`", "mode=advisory"),
        ("`postgres:` `mode=shedlock`", "mode=shedlock"),
    ] {
        assert_true(store, &server.url(options)).await;
    }
}

#[cfg(feature = "mysql")]
#[tokio::test]
#[ignore = "needs mariadbd"]
async fn the_rows_of_mysql_are_true() {
    let server = cotter_testkit::servers::Mariadb::migrated();
    for (store, options) in [
        ("`mysql:`", ""),
        ("`mysql:` `mode=row`", "mode=row"),
        ("`mysql:` `mode=advisory`", "mode=advisory"),
        ("`mysql:` `mode=shedlock`", "mode=shedlock"),
    ] {
        assert_true(store, &server.url(options)).await;
    }
}

#[cfg(all(feature = "sqlite", not(cotter_portable)))]
#[tokio::test]
async fn the_row_of_sqlite_is_true() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", dir.path().join("locks.db").display());
    Client::builder().url(&url).migrate().await.unwrap();
    assert_true("`sqlite:`", &url).await;
}

#[cfg(feature = "redis")]
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_row_of_a_quorum_is_true() {
    let servers = [Redis::start(), Redis::start(), Redis::start()];
    let url = redlock_url(servers.iter().map(Redis::port), "");
    Client::connect(&url).await.unwrap().initialize().await.unwrap();
    assert_true("`redlock:`", &url).await;
    let plain = Client::connect(redlock_url(servers.iter().map(Redis::port), "mode=plain")).await.unwrap();
    assert_eq!(plain.info().variant, "redis in mode=plain");
    assert_names_another(&plain).await;
}

/// A row that no test compares could be wrong.
#[test]
fn every_row_is_compared() {
    const STORES: [&str; 21] = [
        "`memory:`",
        "`file:`",
        "`flock:`",
        "`redis:`",
        "`redlock:`",
        "`redis:` `mode=plain`",
        "`redis:` `mode=getset`",
        "`etcd:`",
        "`etcd:` `dialect=concurrency`",
        "`zookeeper:`",
        "`zookeeper:` `dialect=curator`",
        "`zookeeper:` `dialect=kazoo`",
        "`postgres:`",
        "`postgres:` `mode=row`",
        "`postgres:` `mode=advisory`",
        "`postgres:` `mode=shedlock`",
        "`mysql:`",
        "`mysql:` `mode=row`",
        "`mysql:` `mode=advisory`",
        "`mysql:` `mode=shedlock`",
        "`sqlite:`",
    ];
    let tables = PAGE.split("\n\n").filter(|part| part.starts_with("| store |"));
    for table in tables {
        let rows = table.lines().skip(2).map(|row| row.split('|').nth(1).unwrap().trim());
        assert_eq!(rows.collect::<Vec<_>>(), STORES, "{table}");
    }
}
