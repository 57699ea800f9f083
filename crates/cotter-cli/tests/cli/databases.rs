//! What the commands do on every store that is a database.

use crate::env::TestEnv;
use crate::schedule::a_job_runs_and_is_recorded;
use cotter_testkit::timing::Stopwatch;
use rustix::process::Signal;
use std::time::Duration;

/// All of it, in a database whose tables are there.
#[track_caller]
pub(crate) fn works(env: &TestEnv) {
    locks_are_held_listed_passed_on_and_taken_away(env);
    a_killed_holder_and_a_killed_waiter_block_nobody(env);
    a_ticket_a_latch_and_an_election(env);
    a_job_runs_and_is_recorded(env);
}

#[track_caller]
fn locks_are_held_listed_passed_on_and_taken_away(env: &TestEnv) {
    let (holder, token) = env.hold(&["--label", "deploy"], "listed");
    env.run(["run", "-n", "listed", "true"]).code(75);
    let listed = env.run(["list", "--json"]).code(0).json();
    assert_eq!(listed[0]["holders"][0]["token"], token.to_string());
    let mut waiter = env.start(["run", "-v", "listed", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    waiter.waiting_line();
    let began = Stopwatch::start();
    holder.let_go().code(0);
    let next: u64 = waiter.line().parse().unwrap();
    assert!(next > token);
    began.at_most(Duration::from_secs(3), "the next one has it");
    waiter.end().code(0);
    let mut evicted =
        env.start(["run", "--ttl", "1s", "evicted", "--", "sh", "-c", "echo in; exec sleep 60"]);
    assert_eq!(evicted.line(), "in");
    env.run(["evict", "evicted"]).code(0);
    evicted.end().code(74);
}

/// The holder keeps the lock to the end of its lease, and a waiter its place for not much longer, whatever its own ttl is.
#[track_caller]
fn a_killed_holder_and_a_killed_waiter_block_nobody(env: &TestEnv) {
    let (holder, _) = env.hold(&["--ttl", "2s"], "killed");
    let mut waiter = env.start(["run", "-v", "--ttl", "60s", "killed", "true"]);
    waiter.waiting_line();
    waiter.signal(Signal::KILL);
    holder.signal(Signal::KILL);
    let began = Stopwatch::start();
    env.run(["run", "-w", "10s", "killed", "true"]).code(0);
    began.at_most(Duration::from_secs(6), "the killed block nobody");
}

#[track_caller]
fn a_ticket_a_latch_and_an_election(env: &TestEnv) {
    let ticket = env.run(["--json", "acquire", "ticket", "--ttl", "30s"]).code(0).json();
    let ticket = ticket[0]["ticket"].as_str().expect("a ticket").to_owned();
    env.run(["run", "-n", "ticket", "true"]).code(75);
    let mut release = env.cotter(["release"]);
    assert!(release.env("COTTER_TICKET", &ticket).status().unwrap().success());
    env.run(["run", "-n", "ticket", "true"]).code(0);
    env.run(["latch", "ready", "create", "1"]).code(0);
    env.run(["latch", "ready", "count-down", "--id", "x"]).code(0);
    env.run(["latch", "ready", "wait", "--wait", "5s"]).code(0);
    env.run(["elect", "leader", "--", "true"]).code(0);
}
