//! The file store between real processes: this test program starts itself, and tells its copies what to do. A program of its
//! own, because it judges within how many milliseconds a process is woken, which other tests beside it would spoil.

mod copy;
mod exclusive;
mod group;
mod migration;
mod namespaces;
mod permits;
mod prune;
mod readers;
