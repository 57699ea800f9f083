//! `mysql:` on MariaDB beside bare statements through the same driver.

mod pairs;
mod raw;
mod renewal;

pub(crate) use pairs::run as pairs;
pub(crate) use renewal::run as renewal;

use cotter_testkit::servers::Mariadb;

/// A server with cotter's tables; it and its clients may use all cores. Its log and its buffers have the sizes that a server has by
/// default: with the small ones of the tests it writes pages out most of the time.
fn server() -> Mariadb {
    let server = Mariadb::builder()
        .with("max-connections", "400")
        .with("innodb-log-file-size", "96M")
        .with("innodb-buffer-pool-size", "128M")
        .start();
    server.migrate("");
    server
}
