//! The PostgreSQL store against the contract.

use super::{costs, elsewhere_on, patient};
use cotter::Name;
use cotter::conformance::{Fixture, Waiter};
use cotter::postgres::Store;
use cotter_testkit::servers::{Postgres, Proxy, Splitter};
use std::sync::atomic::{AtomicU32, Ordering};

/// Other processes that wait for locks of this store.
fn elsewhere(server: &Postgres, options: &str) -> impl Fn(&Name) -> Box<dyn Waiter> + use<> {
    let row = if options.is_empty() { String::new() } else { format!(" `{options}`") };
    let (options, row) = (options.to_owned(), format!("`postgres:`{row}"));
    elsewhere_on(server.port(), move |proxy: &Proxy| proxy.postgres_url(&options), costs(&row))
}

/// A store on a server that all cases share, as the user of docs/stores/postgres.md.
fn fixture(options: &str) -> Fixture {
    let server = Postgres::migrated();
    let store = Store::from_url(server.url(&patient(options))).expect("a good URL");
    let (removing, waiting) = (server.clone(), elsewhere(&server, options));
    Fixture::keeping(store, server).waiting_elsewhere(waiting).removing(move |name: &Name| {
        let deleted = removing.sql(&format!(
            "with c as (delete from cotter_claim where name = '{name}' returning 1), \
             l as (delete from cotter_lock where name = '{name}' returning 1) select count(*) from l"
        ));
        assert_eq!(deleted, "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs postgres"]
    lease,
    fixture("")
);

/// ShedLock's table.
fn shedlock() -> Fixture {
    let server = Postgres::migrated();
    let store = Store::from_url(server.socket_url("mode=shedlock")).expect("a good URL");
    let (removing, waiting) = (server.clone(), elsewhere(&server, "mode=shedlock"));
    let fixture = Fixture::keeping(store, server).names_up_to(64).waiting_elsewhere(waiting);
    fixture.removing(move |name: &Name| {
        let delete = format!(
            "with d as (delete from shedlock where name = '{name}' returning 1) select count(*) from d"
        );
        assert_eq!(removing.sql(&delete), "1");
    })
}

cotter::conformance_tests!(
    #[ignore = "needs postgres"]
    shedlock,
    shedlock()
);

/// Behind something that sends reads to a replica that is far behind.
fn behind_a_splitter(options: &str) -> Fixture {
    let server = Postgres::migrated();
    let splitter = Splitter::before_postgres(&server);
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
    #[ignore = "needs postgres"]
    lease_behind_a_splitter,
    behind_a_splitter("")
);

cotter::conformance_tests!(
    #[ignore = "needs postgres"]
    shedlock_behind_a_splitter,
    behind_a_splitter("mode=shedlock").names_up_to(64)
);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A store whose locks live with sessions. They log in over the socket, which costs no computing: there are many.
fn sessions(mode: &str) -> Fixture {
    let (server, number) = (Postgres::migrated(), NEXT.fetch_add(1, Ordering::Relaxed));
    // The sessions of this case have a name of their own, so that ending them concerns no other.
    let name = format!("case-{number}");
    let url = server.socket_url(&format!("mode={mode}&session_timeout=2s&client_name={name}"));
    let store = Store::from_url(url).expect("a good URL");
    let (ending, waiting) = (server.clone(), elsewhere(&server, &format!("mode={mode}")));
    Fixture::keeping(store, server).holding_at_most(20).waiting_elsewhere(waiting).ending_sessions(
        move || {
            let all = format!("select pid from pg_stat_activity where application_name = '{name}'");
            ending.sql(&format!("select pg_terminate_backend(pid, 5000) from ({all}) as all_of_them"));
        },
    )
}

cotter::conformance_tests!(
    #[ignore = "needs postgres"]
    row,
    sessions("row")
);

cotter::conformance_tests!(
    #[ignore = "needs postgres"]
    advisory,
    sessions("advisory")
);
