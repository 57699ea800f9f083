//! The file store against the contract.

use cotter::{Name, conformance::Fixture, file};

fn fixture() -> Fixture {
    let place = tempfile::tempdir().expect("a private place");
    let locks = place.path().join("locks");
    let remove = {
        let locks = locks.clone();
        move |name: &Name| std::fs::remove_file(locks.join(format!("{name}.lock"))).expect("it stands there")
    };
    Fixture::keeping(file::Store::at(locks), place).removing(remove)
}

cotter::conformance_tests!(file_store, fixture());
