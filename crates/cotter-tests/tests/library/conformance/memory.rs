//! The memory store against the contract.

use cotter::{conformance::Fixture, memory};

cotter::conformance_tests!(memory_store, Fixture::sharing(memory::Store::new()));
