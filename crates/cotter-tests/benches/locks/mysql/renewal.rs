//! Many leases that are renewed: what it costs here and in the server, and whether any is late.

use super::server;
use crate::processor_time;
use crate::renewal::by_statements;
use cotter_testkit::servers::Mariadb;
use std::time::Duration;

pub(crate) fn run() {
    let server = server();
    by_statements(server.url(""), || statements(&server), || server_cpu(&server));
}

fn statements(server: &Mariadb) -> f64 {
    let count =
        "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'QUESTIONS'";
    server.sql(count).parse().unwrap()
}

fn server_cpu(server: &Mariadb) -> Duration {
    let pid = std::fs::read_to_string(server.socket().with_file_name("pid")).unwrap();
    processor_time::of(pid.trim())
}
