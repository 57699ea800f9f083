//! A quorum of Redis servers on the command line.

use crate::bench::measures_and_leaves_nothing;
use crate::env::{Running, TestEnv};
use crate::schedule::a_job_runs_and_is_recorded;
use cotter_testkit::servers::{Redis, redlock_url};

fn quorum() -> (Vec<Redis>, TestEnv) {
    let servers: Vec<_> = (0..3).map(|_| Redis::start()).collect();
    let env = TestEnv::on(redlock_url(servers.iter().map(Redis::port), "timeout=500ms"));
    (servers, env)
}

#[test]
#[ignore = "needs redis-server"]
fn new_servers_vote_when_an_operator_says_so() {
    let (_servers, env) = quorum();
    let error = env.run(["run", "-n", "a", "true"]).code(69);
    error.one_line(&["0 of 3 members vote, and 2 are needed", "cotter doctor --init"]);
    let report = env.run(["doctor"]).code(78).stdout;
    assert!(report.contains("problem    quorum: 0 of 3 members vote, and 2 are needed"), "{report}");
    let report = env.run(["doctor", "--init"]).code(0).stdout;
    assert!(report.contains("ok         quorum: 3 of 3 members vote, and 2 are needed"), "{report}");
    env.run(["run", "-n", "a", "true"]).code(0);
}

#[test]
#[ignore = "needs redis-server"]
fn a_lock_is_shown_and_evicted_while_a_server_is_down() {
    let (mut servers, env) = quorum();
    env.run(["doctor", "--init"]).code(0);
    servers[1].kill();
    let (holder, token) = env.hold(&["--label", "one"], "a");
    let list = env.run(["list", "--wide"]).code(0).stdout;
    assert!(list.contains("(one)") && list.contains(&token.to_string()), "{list}");
    env.run(["run", "-n", "a", "true"]).code(75).one_line(&["a is held by ", "(one)"]);
    env.run(["evict", "--now", "a"]).code(0);
    env.run(["run", "-n", "a", "true"]).code(0);
    drop(holder);
}

#[test]
#[ignore = "needs redis-server"]
fn without_a_majority_the_command_does_not_run() {
    let (mut servers, env) = quorum();
    env.run(["doctor", "--init"]).code(0);
    servers[0].kill();
    servers[1].kill();
    let error = env.run(["run", "-n", "a", "echo", "ran"]).code(69);
    error.one_line(&["only 1 of 3 members can be reached, and 2 are needed"]);
}

#[test]
#[ignore = "needs redis-server"]
fn it_is_measured_and_sells_each_phone_once() {
    let (servers, env) = quorum();
    env.run(["doctor", "--init"]).code(0);
    let url = env.store.clone().expect("a quorum");
    crate::seckill::exact(&TestEnv::new(), &url, &["--work", "1ms"], 1);
    measures_and_leaves_nothing(&url, || 0);
    drop(servers);
}

/// The state of a job is a note that is swapped: it needs a majority, and no more.
#[test]
#[ignore = "needs redis-server"]
fn jobs_run_while_a_majority_is_there() {
    let (mut servers, env) = quorum();
    env.run(["doctor", "--init"]).code(0);
    a_job_runs_and_is_recorded(&env);
    env.run(["latch", "ready", "create", "1"]).code(0);
    servers.pop();
    env.run(["latch", "ready", "count-down", "--id", "x"]).code(0);
    env.run(["latch", "ready", "wait", "--wait", "5s"]).code(0);
    crate::clear_orders::exact(&TestEnv::new(), &env.url(), &[]);
}

#[test]
#[ignore = "needs redis-server"]
fn all_members_get_the_password_of_a_file() {
    let servers: Vec<_> =
        (0..3).map(|_| Redis::builder().with("requirepass", "open sesame").start()).collect();
    let hosts: Vec<_> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
    let env = TestEnv::on(format!("redlock://{}?timeout=500ms", hosts.join(",")));
    let file = env.path("password");
    std::fs::write(&file, "open sesame\n").unwrap();
    env.run(["doctor", "--init"]).code(77);
    env.run(["--password-file", file.to_str().unwrap(), "doctor", "--init"]).code(0);
    let mut run = env.cotter(["run", "-n", "a", "true"]);
    Running::start(run.env("COTTER_PASSWORD_FILE", &file)).end().code(0);
}
