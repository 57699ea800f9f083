//! `postgres:` beside bare statements through the same driver, and beside `pgbench` with the same statements.

mod contended;
mod handover;
mod pairs;
mod raw;
mod renewal;

pub(crate) use contended::run as contended;
pub(crate) use handover::{child as handover_child, run as handover};
pub(crate) use pairs::run as pairs;
pub(crate) use renewal::run as renewal;

use cotter_testkit::servers::Postgres;

/// A server with cotter's tables; it and its clients may use all cores.
fn server() -> Postgres {
    let server = Postgres::builder().with("max_connections", "400").start();
    server.migrate("");
    server
}
