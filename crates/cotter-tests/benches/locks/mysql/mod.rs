//! `mysql:` on MariaDB beside bare statements through the same driver.

mod pairs;
mod raw;
mod renewal;

pub(crate) use pairs::run as pairs;
pub(crate) use renewal::run as renewal;

use cotter_testkit::servers::Mariadb;

/// A server with cotter's tables; it and its clients may use all cores.
fn server() -> Mariadb {
    let server = Mariadb::builder().with("max-connections", "400").start();
    server.migrate("");
    server
}
