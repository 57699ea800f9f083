//! Runs with cotter's own processes on the other stores with a server.

use super::{passes, verify};
use crate::env::TestEnv;

#[test]
#[ignore = "needs postgres"]
fn postgres_passes() {
    let server = cotter_testkit::servers::Postgres::migrated();
    passes(&TestEnv::on(server.url("")), &[]);
}

#[test]
#[ignore = "needs mariadbd"]
fn mysql_passes() {
    let server = cotter_testkit::servers::Mariadb::migrated();
    passes(&TestEnv::on(server.url("")), &[]);
}

#[test]
#[ignore = "needs etcd"]
fn etcd_passes() {
    let server = cotter_testkit::servers::Etcd::start(1);
    let env = TestEnv::on(server.url(""));
    verify(&env, &[]).code(64).one_line(&["ttl"]);
    passes(&env, &["--ttl", "2s", "--time", "10s"]);
}

#[test]
#[ignore = "needs zookeeper"]
fn zookeeper_passes() {
    let server = cotter_testkit::servers::ZooKeeper::start(1);
    passes(&TestEnv::on(server.url("session=4s")), &["--ttl", "4s", "--time", "12s"]);
}
