//! Many guards that are renewed on a cluster, beside as many on one server: a script is for names of one slot there.

use super::{cost, server_anywhere, server_cpu, two_workers};
use crate::renewal::{TTL, take, watch};
use cotter::{Client, Lease};
use cotter_testkit::servers::{Redis, RedisCluster};
use std::time::Duration;

const GUARDS: usize = 10_000;
/// Nobody is replaced.
const PATIENT: Duration = Duration::from_secs(15);

pub(crate) fn run() {
    let single = server_anywhere();
    print!("one server: ");
    measure(single.open_url(""), &[single]);
    let cluster = RedisCluster::start(PATIENT);
    print!("three masters: ");
    measure(cluster.url(""), &cluster.nodes[..3]);
}

fn measure(url: String, servers: &[Redis]) {
    let client = Client::builder().lease(Lease::renewed(TTL)).connect(url).wait().unwrap();
    let guards = take(&two_workers(), &client, GUARDS);
    for server in servers {
        server.command(&["CONFIG", "RESETSTAT"]);
    }
    let elapsed = watch(&guards, || servers.iter().map(server_cpu).sum());
    let scripts: f64 = servers.iter().map(|server| cost(server, "evalsha", "calls")).sum();
    let periods = elapsed.as_secs_f64() / (TTL / 3).as_secs_f64();
    println!("{:.0} scripts each time that all are renewed", scripts / periods);
}
