//! The MySQL store against the contract, on MariaDB.

use super::{costs, elsewhere_on, patient};
use cotter::Name;
use cotter::conformance::{Fixture, Waiter};
use cotter::mysql::Store;
use cotter_testkit::servers::{Mariadb, Proxy, Splitter};
use std::sync::atomic::{AtomicU32, Ordering};

/// Other processes that wait for locks of this store.
fn elsewhere(server: &Mariadb, options: &str) -> impl Fn(&Name) -> Box<dyn Waiter> + use<> {
    let row = if options.is_empty() { String::new() } else { format!(" `{options}`") };
    let (options, row) = (options.to_owned(), format!("`mysql:`{row}"));
    elsewhere_on(server.port(), move |proxy: &Proxy| proxy.mysql_url(&options), costs(&row))
}

/// A store on a server that all cases share, as the user of docs/stores/mysql.md.
fn fixture(options: &str) -> Fixture {
    let server = Mariadb::migrated();
    let store = Store::from_url(server.url(&patient(options))).expect("a good URL");
    let (removing, waiting) = (server.clone(), elsewhere(&server, options));
    Fixture::keeping(store, server).waiting_elsewhere(waiting).removing(move |name: &Name| {
        let deleted =
            removing.sql(&format!("DELETE FROM cotter_locks WHERE name = '{name}'; SELECT ROW_COUNT()"));
        assert_eq!(deleted, "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    lease,
    fixture("")
);

/// ShedLock's table.
fn shedlock() -> Fixture {
    let server = Mariadb::migrated();
    let store = Store::from_url(server.url("mode=shedlock")).expect("a good URL");
    let (removing, waiting) = (server.clone(), elsewhere(&server, "mode=shedlock"));
    let fixture = Fixture::keeping(store, server).names_up_to(64).waiting_elsewhere(waiting);
    fixture.removing(move |name: &Name| {
        let deleted =
            removing.sql(&format!("DELETE FROM shedlock WHERE name = '{name}'; SELECT ROW_COUNT()"));
        assert_eq!(deleted, "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    shedlock,
    shedlock()
);

/// Behind something that sends reads to a replica that is far behind.
fn behind_a_splitter(options: &str) -> Fixture {
    let server = Mariadb::migrated();
    let splitter = Splitter::before_mariadb(&server);
    let store = Store::from_url(splitter.url(&patient(options))).expect("a good URL");
    Fixture::keeping(store, (NothingDiverted(splitter), server))
}

/// At its end, no statement has read a table of the replica.
struct NothingDiverted(Splitter);

impl Drop for NothingDiverted {
    fn drop(&mut self) {
        let diverted = self.0.diverted();
        assert!(diverted.is_empty() || std::thread::panicking(), "read from a replica: {diverted:#?}");
    }
}

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    lease_behind_a_splitter,
    behind_a_splitter("")
);

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    shedlock_behind_a_splitter,
    behind_a_splitter("mode=shedlock").names_up_to(64)
);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A store whose locks live with sessions.
fn sessions(mode: &str) -> Fixture {
    let (server, number) = (Mariadb::migrated(), NEXT.fetch_add(1, Ordering::Relaxed));
    // The sessions of this case are those of a user of its own, so that ending them concerns no other.
    let user = format!("case{number}");
    server.add_user(&user);
    let store = Store::from_url(server.url_of(&user, &format!("mode={mode}&session_timeout=2s")));
    let (ending, waiting) = (server.clone(), elsewhere(&server, &format!("mode={mode}")));
    Fixture::keeping(store.expect("a good URL"), server)
        .holding_at_most(20)
        .waiting_elsewhere(waiting)
        .ending_sessions(move || ending.end_sessions_of(&user))
}

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    row,
    sessions("row")
);

cotter::conformance_tests!(
    #[ignore = "needs mariadbd"]
    advisory,
    sessions("advisory")
);
