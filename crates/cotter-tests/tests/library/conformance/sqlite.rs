//! The SQLite store against the contract.

use super::{costs, elsewhere};
use cotter::{Client, Name, conformance::Fixture, sqlite};

fn fixture() -> Fixture {
    let place = tempfile::tempdir().expect("a private place");
    let path = place.path().join("locks.db");
    let (store, url) = (sqlite::Store::at(&path), format!("sqlite://{}", path.display()));
    Client::builder().migrate_store(store.clone()).wait().expect("the tables are made");
    let remove = move |name: &Name| {
        let deleted = rusqlite::Connection::open(&path)
            .and_then(|db| db.execute("DELETE FROM cotter_locks WHERE name = ?1", [name.as_str()]));
        assert_eq!(deleted, Ok(1), "it is there");
    };
    Fixture::keeping(store, place).removing(remove).waiting_elsewhere(elsewhere(url, costs("`sqlite:`")))
}

cotter::conformance_tests!(sqlite_store, fixture());
