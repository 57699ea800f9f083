//! The MySQL store against the contract, on MariaDB.

use cotter::Name;
use cotter::conformance::Fixture;
use cotter::mysql::Store;
use cotter_testkit::servers::Mariadb;

/// A store on a server that all cases share, as the user of docs/stores.md.
fn fixture(options: &str) -> Fixture {
    let server = Mariadb::migrated();
    let store = Store::from_url(server.url(options)).expect("a good URL");
    let removing = server.clone();
    Fixture::keeping(store, server).removing(move |name: &Name| {
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
