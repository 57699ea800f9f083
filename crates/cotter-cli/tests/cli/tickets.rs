//! `cotter acquire`, `renew` and `release`: locks for scripts that are not run by cotter.

use crate::env::{Running, TestEnv, is_alive};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal};
use std::fs;
use std::path::Path;

/// Runs a shell script in which `cotter` is the program.
fn script(env: &TestEnv, text: &str) -> Running {
    let path = env.path("script");
    fs::write(&path, text).unwrap();
    let bin = Path::new(env!("CARGO_BIN_EXE_cotter")).parent().unwrap();
    let mut shell = env.anywhere(Path::new("sh"));
    let search = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    shell.arg(path).env("PATH", search).env("COTTER_URL", env.url());
    Running::start(&mut shell)
}

fn is_free(env: &TestEnv, name: &str) -> bool {
    env.run(["run", "-q", "-n", name, "true"]).code == 0
}

/// The process that keeps a lock.
fn keeper(env: &TestEnv, name: &str) -> Pid {
    let shown = env.run(["--json", "show", name]).code(0).json();
    let pid = shown[0]["holders"][0]["pid"].as_i64().unwrap();
    Pid::from_raw(pid.try_into().unwrap()).unwrap()
}

#[test]
fn a_script_keeps_a_lock_until_it_releases_it() {
    let env = TestEnv::new();
    let text = "eval \"$(cotter acquire a --pid $$)\" || exit\necho $COTTER_TOKEN\nread go\ncotter renew || exit\n\
                cotter release || exit\necho released\nread go\ncotter release; echo $?";
    let mut shell = script(&env, text);
    let token: u64 = shell.line().parse().unwrap();
    let shown = env.run(["--json", "show", "a"]).code(0).json();
    assert_eq!(shown[0]["holders"][0]["token"], token.to_string());
    assert!(!is_free(&env, "a"), "violation[overlap]");
    shell.write("\n");
    assert_eq!(shell.line(), "released");
    assert!(is_free(&env, "a"), "violation[left-behind]");
    shell.write("\n");
    assert_eq!(shell.line(), "74", "it is not held any more");
    shell.end().code(0);
}

/// However it ends; its children do not count.
#[test]
fn a_lock_ends_with_the_process_that_it_is_bound_to() {
    let env = TestEnv::new();
    for end in ["exit 3", "kill -9 $$"] {
        let text = format!(
            "eval \"$(cotter acquire a --pid $$)\" || exit\nsleep 600 >&- 2>&- &\necho $!\nread go\n{end}"
        );
        let mut shell = script(&env, &text);
        let _child = shell.ward();
        let keeper = keeper(&env, "a");
        assert!(!is_free(&env, "a"), "violation[overlap]");
        shell.write("\n");
        until("the lock is free", || is_free(&env, "a"));
        until("the keeper has ended", || !is_alive(keeper));
    }
}

/// In `eval`, the exit code of `cotter` itself is lost.
#[test]
fn a_script_that_gets_no_lock_does_not_go_on() {
    let env = TestEnv::new();
    let (holder, _) = env.hold(&[], "a");
    for (options, code) in [("-n", "75"), ("-w 50ms", "75"), ("-n -E 9", "9"), ("-n --shared --ttl 0s", "64")]
    {
        let text =
            format!("eval \"$(cotter acquire a --pid $$ {options})\" || {{ echo $?; exit; }}\necho went on");
        assert_eq!(script(&env, &text).end().stdout.trim(), code, "{options}");
    }
    holder.let_go().code(0);
}

#[test]
fn a_wait_that_is_given_up_leaves_nothing() {
    let env = TestEnv::new();
    for signal in [Signal::TERM, Signal::KILL] {
        let (holder, _) = env.hold(&[], "a");
        let me = std::process::id().to_string();
        let mut waiting = env.start(["acquire", "-v", "a", "--pid", &me]);
        waiting.waiting_line();
        waiting.signal(signal);
        let output = waiting.end();
        assert!(output.code == 143 || output.code == -9, "{output:?}");
        holder.let_go().code(0);
        until("the lock is free", || is_free(&env, "a"));
    }
}

#[test]
fn a_killed_keeper_is_a_lost_lock() {
    let env = TestEnv::new();
    let me = std::process::id().to_string();
    let acquired = env.run(["--json", "acquire", "a", "--pid", &me]).code(0).silent().json();
    let ticket = acquired[0]["ticket"].as_str().unwrap().to_owned();
    env.run(["renew", &ticket]).code(0).silent();
    rustix::process::kill_process(keeper(&env, "a"), Signal::KILL).unwrap();
    until("the lock is free", || is_free(&env, "a"));
    env.run(["renew", &ticket]).code(74).one_line(&["not held any more"]);
    env.run(["release", &ticket]).code(74).one_line(&["not held any more"]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let env = TestEnv::new();
    env.run(["acquire", "a", "--ttl", "5s"]).code(64).one_line(&["file", "--pid $$", "cotter run"]);
    env.run(["--url", "memory:", "acquire", "a", "--ttl", "5s"]).code(64).one_line(&["--pid $$"]);
    env.run(["acquire", "a"]).code(64);
    env.run(["acquire", "a", "--pid", "2147483646"]).code(64).one_line(&["no process"]);
    env.run(["release"]).code(64).one_line(&["COTTER_TICKET"]);
    env.run(["release", "no ticket"]).code(64).one_line(&["not a ticket"]);
    env.run(["renew", "ct1.x"]).code(64).one_line(&["not a ticket"]);
}

#[test]
#[ignore = "needs redis-server"]
fn a_ticket_of_a_lease_is_renewed_and_released_by_other_processes() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    let url = redis.url("");
    let cotter = |words: &[&str]| env.run([&["--url", &url], words].concat());
    let acquired = cotter(&["--json", "acquire", "a", "--ttl", "30s"]).code(0).silent().json();
    let ticket = acquired[0]["ticket"].as_str().unwrap();
    let shown = cotter(&["--json", "show", "a"]).code(0).json();
    assert_eq!(shown[0]["holders"][0]["token"], acquired[0]["token"]);
    cotter(&["acquire", "-n", "a", "--ttl", "30s"]).code(75);
    cotter(&["renew", ticket, "--ttl", "60s"]).code(0).silent();
    cotter(&["release", ticket]).code(0).silent();
    cotter(&["release", ticket]).code(74);
    cotter(&["renew", ticket, "--ttl", "60s"]).code(74);
    let acquired = cotter(&["--json", "acquire", "-n", "a", "--ttl", "100ms"]).code(0).json();
    until("its time is over", || cotter(&["run", "-n", "-q", "a", "true"]).code == 0);
    cotter(&["release", acquired[0]["ticket"].as_str().unwrap()]).code(74);
}

#[test]
#[ignore = "needs redis-server"]
fn a_keeper_renews_a_lease() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    let url = redis.url("");
    let me = std::process::id().to_string();
    let acquired =
        env.run(["--json", "--url", &url, "acquire", "a", "--pid", &me, "--ttl", "300ms"]).code(0).json();
    std::thread::sleep(std::time::Duration::from_secs(1));
    env.run(["--url", &url, "run", "-n", "a", "true"]).code(75);
    env.run(["release", acquired[0]["ticket"].as_str().unwrap()]).code(0).silent();
    env.run(["--url", &url, "run", "-n", "a", "true"]).code(0);
}

#[test]
fn a_ticket_that_cannot_be_printed_leaves_no_lock() {
    let env = TestEnv::new();
    let mut shell = script(&env, "cotter acquire a --pid $$ > /dev/full; echo $?\nread go");
    assert_eq!(shell.line(), "71");
    assert!(is_free(&env, "a"), "violation[left-behind]");
    shell.write("\n");
    let output = shell.end().code(0);
    assert!(output.stderr.contains("cannot write the output"), "{output:?}");
}
