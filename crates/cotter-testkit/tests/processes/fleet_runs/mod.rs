//! Runs that mostly wait, and in which a busy machine does not matter.

mod replicas;
mod storm;
mod storm_on_etcd;
mod storm_on_postgres;
