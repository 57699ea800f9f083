//! What these tests share.

pub(crate) use cotter_testkit::bare::{backend, claim, client, clock, eventually, queued, take};

/// A server, or the end of the test where there is none and that was said.
macro_rules! server {
    () => {
        server!(cotter_testkit::servers::Redis::builder())
    };
    ($builder:expr) => {
        match $builder.start() {
            Some(server) => server,
            None => return,
        }
    };
}
pub(crate) use server;
