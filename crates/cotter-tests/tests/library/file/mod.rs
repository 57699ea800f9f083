//! The file store through the public API: several clients in one process are several processes to the kernel.

mod api;
mod loss;
mod permits;
pub(crate) mod place;
mod prune;
mod readers;
