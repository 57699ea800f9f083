//! The file store against the contract.

use super::{costs, elsewhere};
use cotter::{Name, conformance::Fixture, file};

fn fixture() -> Fixture {
    let place = tempfile::tempdir().expect("a private place");
    let locks = place.path().join("locks");
    let remove = {
        let locks = locks.clone();
        move |name: &Name| std::fs::remove_file(locks.join(format!("{name}.lock"))).expect("it stands there")
    };
    let url = format!("file://{}", locks.display());
    let fixture = Fixture::keeping(file::Store::at(locks), place).removing(remove);
    fixture.waiting_elsewhere(elsewhere(url, costs("`file:`")))
}

cotter::conformance_tests!(file_store, fixture());
