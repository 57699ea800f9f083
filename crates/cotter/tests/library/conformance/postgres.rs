//! The PostgreSQL store against the contract.

use cotter::Name;
use cotter::conformance::Fixture;
use cotter::postgres::Store;
use cotter_testkit::servers::Postgres;

/// A store on a server that all cases share, as the user of docs/stores.md.
fn fixture(options: &str) -> Fixture {
    let server = Postgres::migrated();
    let store = Store::from_url(server.url(options)).expect("a good URL");
    let removing = server.clone();
    Fixture::keeping(store, server).removing(move |name: &Name| {
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
