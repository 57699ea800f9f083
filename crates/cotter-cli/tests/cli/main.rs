//! The `cotter` command as its users see it: started as a process, looked at from outside.

mod admin;
mod bench;
mod boards;
mod clear_orders;
mod clusters;
mod config;
#[cfg(feature = "dashboard")]
mod dashboard;
mod databases;
mod elect;
mod env;
#[cfg(feature = "etcd")]
mod etcd;
mod flock;
mod generated;
mod jobs;
mod latch;
mod leased;
mod limits;
mod loss;
mod migrate;
#[cfg(feature = "mysql")]
mod mysql;
mod namespaces;
mod nested;
mod options;
mod orphans;
mod pages;
mod passwords;
mod plays;
#[cfg(feature = "postgres")]
mod postgres;
mod programs;
mod prune;
mod quorum;
mod redisson;
mod reports;
mod run_metrics;
mod running;
mod schedule;
mod scripts;
mod seckill;
mod secrets;
mod semaphore;
mod sentinels;
mod shared;
mod shim;
mod signals;
mod sqlite;
mod terminal;
mod tickets;
mod usage;
#[cfg(feature = "verify")]
mod verify;
mod waiting;
#[cfg(feature = "zookeeper")]
mod zookeeper;
