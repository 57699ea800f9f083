//! The tests and benchmarks of `cotter`, apart from it so that one store is built and tested alone: each store is a feature.
//!
//! | target | what it is |
//! |---|---|
//! | `tests/library` | what the library promises, and every store against the contract |
//! | `tests/file_processes` | processes that share a directory, and kernel locks beside them |
//! | `benches/locks` | what a lock costs, beside the store's own limit and other clients |
