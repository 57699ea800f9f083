//! Locks in a directory of this host.
