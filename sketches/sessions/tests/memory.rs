use cotter::{conformance::Fixture, memory};
cotter::conformance_tests!(memory_store, Fixture::sharing(memory::Store::new()));
