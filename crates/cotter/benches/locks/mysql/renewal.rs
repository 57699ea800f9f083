//! Many leases that are renewed: what it costs here and in the server, and whether any is late.

use super::server;
use crate::processor_time;
use crate::redis::two_workers;
use crate::renewal::{TTL, take, watch};
use cotter::{Client, Lease};
use cotter_testkit::servers::Mariadb;
use std::time::{Duration, Instant};

pub(crate) fn run() {
    let server = server();
    let client = Client::builder().url(server.url("")).lease(Lease::renewed(TTL)).connect().wait().unwrap();
    let began = Instant::now();
    let guards = take(&two_workers(), &client);
    println!("taken in {:.1?}", began.elapsed());
    let before = statements(&server);
    let elapsed = watch(&guards, || server_cpu(&server));
    println!("{:.1} statements a second", (statements(&server) - before) / elapsed.as_secs_f64());
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
