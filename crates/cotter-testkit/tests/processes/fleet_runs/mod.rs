//! Runs that mostly wait, and in which a busy machine does not matter.

mod etcd;
mod replicas;
mod storm;
