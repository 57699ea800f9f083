//! Quorums of memory stores against the contract.

use cotter::conformance::Fixture;
use cotter::{memory, quorum};

fn fixture(members: usize) -> Fixture {
    let members = (0..members).map(|_| memory::Store::new());
    Fixture::sharing(quorum::Store::new(members).expect("enough members"))
}

cotter::conformance_tests!(of_three, fixture(3));
cotter::conformance_tests!(of_five, fixture(5));
