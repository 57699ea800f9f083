//! The tables of docs/stores/ and docs/which-store.md against the code.

use cotter::backend::Capabilities;
use cotter::{Client, Level, Owner};
#[cfg(feature = "postgres")]
use cotter_testkit::servers::Postgres;
#[cfg(feature = "redis")]
use cotter_testkit::servers::{Redis, redlock_url};

const COMPARISON: &str = include_str!("../../../../docs/which-store.md");
const PAGES: [(&str, &str); 9] = [
    ("memory", include_str!("../../../../docs/stores/memory.md")),
    ("file", include_str!("../../../../docs/stores/file.md")),
    ("redis", include_str!("../../../../docs/stores/redis.md")),
    ("redlock", include_str!("../../../../docs/stores/redlock.md")),
    ("etcd", include_str!("../../../../docs/stores/etcd.md")),
    ("zookeeper", include_str!("../../../../docs/stores/zookeeper.md")),
    ("postgres", include_str!("../../../../docs/stores/postgres.md")),
    ("mysql", include_str!("../../../../docs/stores/mysql.md")),
    ("sqlite", include_str!("../../../../docs/stores/sqlite.md")),
];

/// The lines of the table whose titles begin so, as cells.
fn table(page: &'static str, begin: &str) -> Vec<Vec<&'static str>> {
    let text = page.split("\n\n").find(|part| part.starts_with(begin)).expect("a table");
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect();
    text.lines().filter(|line| !line.starts_with("|---")).map(cells).collect()
}

/// The table of a store's page that has a column for each of its modes.
fn modes(page: &'static str) -> Vec<Vec<&'static str>> {
    table(page, "| | `")
}

/// The page of a store, and its column there: its mode, or the scheme of the URL if that is the default mode.
fn place(store: &str) -> (&'static str, &str) {
    let mut words = store.split('`').skip(1).step_by(2);
    let scheme = words.next().expect("a scheme");
    let page = scheme.trim_end_matches(':').replace("flock", "file");
    let (_, text) =
        PAGES.into_iter().find(|(name, _)| *name == page).unwrap_or_else(|| panic!("no page {page}"));
    (text, words.next().unwrap_or(scheme))
}

/// What the page of a store says in this row.
pub(crate) fn cell(store: &str, row: &str) -> &'static str {
    let (page, mode) = place(store);
    let table = modes(page);
    let at = table[0].iter().position(|title| title.trim_matches('`') == mode);
    let at = at.unwrap_or_else(|| panic!("no column for {store}"));
    let mut rows = table.iter().filter(|cells| cells[0] == row);
    let found = rows.next().unwrap_or_else(|| panic!("no row {row} on the page of {store}"));
    assert!(rows.next().is_none(), "two rows {row} on the page of {store}");
    found[at]
}

/// Fails if the cell of a row does not begin as it should.
fn assert_says(store: &str, row: &str, expected: &str) {
    let said = cell(store, row);
    assert!(said.starts_with(expected), "docs, {store}, row {row}: {said:?}; the code says {expected:?}");
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
    for (row, is) in [
        ("mutex", true),
        ("rwlock", shared),
        ("semaphore", permits),
        ("latch", swap),
        ("election", notes && records),
        ("tickets", tickets),
        ("notes", notes),
    ] {
        assert_says(store, row, yes(is));
    }
    assert_says(store, "exclusive", if info.level == Level::BestEffort { "L0" } else { "L1" });
    let dies = match (leases, info.scheme) {
        (true, _) => "free when its lease ends",
        (false, "zookeeper") => "free when its session ends",
        (false, _) => "free at once",
    };
    assert_says(store, "the holder dies", dies);
    assert_eq!(cell(store, "order") == "arrival", ordered, "{store}");
    let polls = ["mode=plain", "mode=getset", "shedlock"].iter().any(|mode| info.variant.contains(mode));
    assert_says(store, "waiting", if polls { "polls" } else { "woken" });

    assert_names_another(&one).await;

    let owner = Owner::new();
    let mutex = one.mutex("which-store").owner(&owner);
    let (first, second) = (mutex.lock().await.unwrap(), mutex.lock().await.unwrap());
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
    for (store, options) in [
        ("`redis:`", ""),
        ("`redis:` `mode=plain`", "mode=plain"),
        ("`redis:` `mode=getset`", "mode=getset"),
        ("`redis:` `mode=redisson`", "mode=redisson"),
        ("`redis:` `recipe=fair`", "mode=redisson&recipe=fair"),
    ] {
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
    Client::builder().migrate(&url).await.unwrap();
    assert_true("`sqlite:`", &url).await;
}

#[cfg(feature = "redis")]
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_row_of_a_quorum_is_true() {
    let servers = [Redis::start(), Redis::start(), Redis::start()];
    let url = redlock_url(servers.iter().map(Redis::port), "");
    Client::connect(&url).await.unwrap().admin().initialize().await.unwrap();
    assert_true("`redlock:`", &url).await;
    let plain = Client::connect(redlock_url(servers.iter().map(Redis::port), "mode=plain")).await.unwrap();
    assert_eq!(plain.info().variant, "redis in mode=plain");
    assert_names_another(&plain).await;
}

/// A column that no test compares could be wrong.
#[test]
fn every_mode_is_compared() {
    const MODES: [&str; 23] = [
        "memory:",
        "file:",
        "flock:",
        "redis:",
        "mode=plain",
        "mode=getset",
        "mode=redisson",
        "recipe=fair",
        "redlock:",
        "etcd:",
        "dialect=concurrency",
        "zookeeper:",
        "dialect=curator",
        "dialect=kazoo",
        "postgres:",
        "mode=row",
        "mode=advisory",
        "mode=shedlock",
        "mysql:",
        "mode=row",
        "mode=advisory",
        "mode=shedlock",
        "sqlite:",
    ];
    let titles = PAGES.map(|(_, page)| modes(page)[0][1..].to_vec()).concat();
    assert_eq!(titles.iter().map(|title| title.trim_matches('`')).collect::<Vec<_>>(), MODES);
    let pages = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/stores")).unwrap();
    assert_eq!(pages.count(), PAGES.len(), "a page of docs/stores is not compared");
}

/// What one table says of all stores is what the page of each says.
#[test]
fn the_comparison_repeats_the_pages() {
    let table = table(COMPARISON, "| store |");
    assert!(table.len() > PAGES.len(), "each store has a row, and one page has two stores");
    for row in &table[1..] {
        for (title, said) in table[0].iter().zip(row).skip(1) {
            assert_eq!(*said, cell(row[0], title), "docs/which-store.md, {}, {title}", row[0]);
        }
    }
}
