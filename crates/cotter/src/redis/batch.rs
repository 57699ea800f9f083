//! Running requests concurrently without tasks.

pub(super) use crate::join::all;

/// The number of grants that one script extends. The server does nothing else while a script runs.
pub(super) const BATCH: usize = 64;
