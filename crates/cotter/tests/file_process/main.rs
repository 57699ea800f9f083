//! The file store between real processes: this test binary starts itself, and tells its copies what to do.

mod copy;
mod exclusive;
mod group;
mod migration;
mod namespaces;
mod readers;
