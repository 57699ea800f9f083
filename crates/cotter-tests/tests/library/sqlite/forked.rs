//! A process that uses a database and forks. SQLite knows the locks of its process from a table, which the child has a copy of,
//! and the system gives it none of the locks.

use super::place::Place;
use crate::forks::{fork, forking};
use cotter::{Client, ErrorKind, LossCause};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::FAR;

#[test]
#[ignore = "needs cc"]
fn a_fork_of_a_process_that_uses_sqlite_gets_no_connection() {
    forking("sqlite::forked::a_fork_of_a_process_that_uses_sqlite_gets_no_connection", || {
        let place = Place::new();
        let client = place.client();
        let held = client.mutex("a").lock().wait().unwrap();
        let child = fork(|| {
            let connected = Client::builder().connect_to(place.store()).wait().map(drop);
            let migrated = Client::builder().migrate_store(place.store()).wait();
            for answer in [connected, migrated] {
                let why = "a fork uses it without file locks: others delete the log that it writes to";
                demand(answer.is_err(), Kind::Overlap, why);
                let error = answer.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
                assert!(error.to_string().contains("connect after the fork"), "{error}");
            }
            assert_eq!(held.check().unwrap_err().cause, LossCause::Forked);
        });
        child.end();
        held.finish().wait().unwrap();
    });
}

/// No connection of the parent is in the child's copy of the table.
#[test]
#[ignore = "needs cc"]
fn a_fork_of_a_process_that_has_closed_its_connection_gets_one() {
    forking("sqlite::forked::a_fork_of_a_process_that_has_closed_its_connection_gets_one", || {
        let place = Place::new();
        let client = place.client();
        client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
        client.close(FAR).wait().unwrap();
        let child = fork(|| {
            let client = place.client();
            client.mutex("a").lock().wait().unwrap().finish().wait().unwrap();
        });
        child.end();
        place.client().mutex("a").lock().wait().unwrap().finish().wait().unwrap();
    });
}
