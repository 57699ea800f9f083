//! The commands on a MariaDB database.

use crate::env::TestEnv;
use crate::schedule::a_job_runs_and_is_recorded;
use cotter_testkit::servers::Mariadb;
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Instant;

/// Tables of its own on a server that these tests share.
fn on_mariadb(prefix: &str) -> (Arc<Mariadb>, TestEnv) {
    let server = Mariadb::migrated();
    let env = TestEnv::on(server.url_of("owner", &format!("prefix={prefix}")));
    env.run(["migrate"]).code(0);
    (server, env)
}

#[test]
#[ignore = "needs mariadbd"]
fn tables_are_made_on_request_only() {
    let server = Mariadb::start();
    let env = TestEnv::on(server.url_of("owner", ""));
    env.run(["run", "a", "true"]).code(78).one_line(&["cotter migrate", "cotter_locks"]);
    let printed = env.run(["migrate", "--print"]).code(0).silent().stdout;
    assert!(printed.contains("CREATE TABLE IF NOT EXISTS `cotter_locks`"), "{printed}");
    env.run(["run", "a", "true"]).code(78);
    env.run(["migrate"]).code(0);
    env.run(["migrate"]).code(0);
    env.run(["run", "a", "true"]).code(0).silent();
    let findings = env.run(["doctor"]).stdout;
    // The server of the tests does not wait for the disk, and doctor has to say so.
    assert!(findings.contains("innodb_flush_log_at_trx_commit = 2"), "{findings}");
}

#[test]
#[ignore = "needs mariadbd"]
fn locks_are_held_listed_passed_on_and_taken_away() {
    let (_server, env) = on_mariadb("listed");
    let (holder, token) = env.hold(&["--label", "deploy"], "a");
    env.run(["run", "-n", "a", "true"]).code(75);
    let listed = env.run(["list", "--json"]).code(0).json();
    assert_eq!(listed[0]["holders"][0]["token"], token.to_string());
    let mut waiter = env.start(["run", "-v", "a", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    waiter.waiting_line();
    let began = Instant::now();
    holder.let_go().code(0);
    let next: u64 = waiter.line().parse().unwrap();
    assert!(next > token && began.elapsed().as_secs() < 3);
    waiter.end().code(0);
    let mut evicted = env.start(["run", "--ttl", "1s", "b", "--", "sh", "-c", "echo in; exec sleep 60"]);
    assert_eq!(evicted.line(), "in");
    env.run(["evict", "b"]).code(0);
    evicted.end().code(74);
}

/// It keeps the lock to the end of its lease, and no longer.
#[test]
#[ignore = "needs mariadbd"]
fn a_killed_holder_and_a_killed_waiter_block_nobody() {
    let (_server, env) = on_mariadb("killed");
    let (holder, _) = env.hold(&["--ttl", "2s"], "a");
    let mut waiter = env.start(["run", "-v", "a", "true"]);
    waiter.waiting_line();
    waiter.signal(Signal::KILL);
    holder.signal(Signal::KILL);
    let began = Instant::now();
    env.run(["run", "-w", "10s", "a", "true"]).code(0);
    assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
}

#[test]
#[ignore = "needs mariadbd"]
fn a_ticket_a_latch_and_an_election() {
    let (_server, env) = on_mariadb("others");
    let ticket = env.run(["--json", "acquire", "a", "--ttl", "30s"]).code(0).json();
    let ticket = ticket[0]["ticket"].as_str().expect("a ticket").to_owned();
    env.run(["run", "-n", "a", "true"]).code(75);
    let mut release = env.cotter(["release"]);
    assert!(release.env("COTTER_TICKET", &ticket).status().unwrap().success());
    env.run(["run", "-n", "a", "true"]).code(0);
    env.run(["latch", "ready", "create", "1"]).code(0);
    env.run(["latch", "ready", "count-down", "--id", "x"]).code(0);
    env.run(["latch", "ready", "wait", "--wait", "5s"]).code(0);
    env.run(["elect", "leader", "--", "true"]).code(0);
}

#[test]
#[ignore = "needs mariadbd"]
fn a_scheduled_job_keeps_its_notes_there() {
    let (_server, env) = on_mariadb("scheduled");
    a_job_runs_and_is_recorded(&env);
}
