//! `mode=redisson` beside Redisson itself, and by itself.

mod course;
mod fair;
mod java;
mod permits;
mod readers;
mod rules;

use cotter_testkit::servers::Redis;

/// The fields of a lock and their values.
fn fields(server: &Redis, name: &str) -> Vec<String> {
    server.command(&["HGETALL", name]).lines().map(str::to_owned).collect()
}
