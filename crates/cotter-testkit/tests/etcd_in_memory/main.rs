//! The etcd server in memory answers as a real one does: random requests, right and wrong ones, and what watches are told.

mod client;
mod random;
mod requests;
mod watches;
