//! The file store against the contract.

use cotter::{conformance::Fixture, file};

fn fixture() -> Fixture {
    let place = tempfile::tempdir().expect("a private place");
    Fixture::keeping(file::Store::at(place.path().join("locks")), place)
}

cotter::conformance_tests!(file_store, fixture());
