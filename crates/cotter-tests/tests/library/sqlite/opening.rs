//! Databases that cannot be used, and what the errors say.

use super::place::Place;
use cotter::backend::Connect as _;
use cotter::{Client, Error, ErrorKind, Severity, sqlite};
use std::path::Path;

fn refused(path: &Path) -> Error {
    Client::builder().connect_to(sqlite::Store::at(path)).wait().unwrap_err()
}

#[test]
fn a_missing_database_is_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.db");
    let error = refused(&path);
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("cotter migrate") && error.to_string().contains("none.db"), "{error}");
    assert!(!path.exists());
}

#[test]
fn missing_tables_are_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("app.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE orders (id INTEGER)").unwrap();
    let error = refused(&path);
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("cotter migrate"), "{error}");
}

#[test]
fn another_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.txt");
    let text = "not a database, but long enough to be taken for the header of one: ".repeat(4);
    std::fs::write(&path, &text).unwrap();
    let error = refused(&path);
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("not an SQLite database"), "{error}");
    assert!(Client::builder().migrate_store(sqlite::Store::at(&path)).wait().is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_relative_path_is_refused() {
    let error = refused("locks.db".as_ref());
    assert!(error.kind() == ErrorKind::Config && error.to_string().contains("not absolute"), "{error}");
}

#[test]
fn migrating_twice_keeps_what_is_there() {
    let place = Place::new();
    let client = place.client();
    let guard = client.mutex("a").lock().wait().unwrap();
    place.migrate();
    assert!(place.client().mutex("a").try_lock().wait().unwrap().is_none());
    guard.finish().wait().unwrap();
}

/// The statements that `cotter migrate --print` shows are all that is needed.
#[test]
fn the_printed_schema_is_enough() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("locks.db");
    let store = sqlite::Store::at(&path);
    let schema = store.schema().expect("tables are needed");
    rusqlite::Connection::open(&path).unwrap().execute_batch(&schema).unwrap();
    let client = Client::builder().connect_to(store).wait().unwrap();
    client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
    // Without WAL it works as well, and doctor says what that costs.
    let findings = client.admin().diagnose().wait().unwrap();
    let journal = findings.iter().find(|f| f.subject == "journal").unwrap();
    assert!(journal.severity == Severity::Warning && journal.message.contains("delete"), "{journal}");
}

#[test]
fn what_is_printed_can_be_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("locks.db");
    let store = sqlite::Store::at(&path);
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE cotter_orders (id INTEGER)").unwrap();
    for _ in 0..2 {
        database.execute_batch(&store.schema().unwrap()).unwrap();
        database.execute_batch(&store.drop_statements().unwrap()).unwrap();
    }
    let left =
        database.query_row("SELECT group_concat(name) FROM sqlite_schema", [], |row| row.get::<_, String>(0));
    assert_eq!(left.unwrap(), "cotter_orders");
}

#[test]
fn doctor_has_nothing_against_a_migrated_database() {
    let findings = Place::new().client().admin().diagnose().wait().unwrap();
    assert!(findings.iter().all(|f| f.severity == Severity::Ok), "{findings:?}");
    assert!(findings.iter().any(|f| f.message.contains("WAL")), "{findings:?}");
}
