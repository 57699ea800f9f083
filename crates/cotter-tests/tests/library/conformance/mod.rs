//! The stores against the contract (`src/conformance`): one test for each case and store.

#[cfg(feature = "etcd")]
mod etcd;
mod file;
mod memory;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod quorum;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "redis")]
mod redlock;
#[cfg(all(feature = "sqlite", not(cotter_portable)))]
mod sqlite;
#[cfg(feature = "zookeeper")]
mod zookeeper;
