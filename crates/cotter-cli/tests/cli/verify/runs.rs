//! Runs with cotter's own processes.

use super::{PAGE, blocks, not_void, passes, verdict, verify};
use crate::env::{Running, TestEnv, is_alive};
use crate::plays::children;
use cotter_testkit::servers::{Redis, redlock_url};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::fs;

#[test]
fn files_pass() {
    passes(&TestEnv::new(), &[]);
}

#[test]
#[ignore = "needs redis-server"]
fn redis_passes() {
    let redis = Redis::start();
    passes(&TestEnv::on(redis.url("")), &[]);
}

#[test]
fn permits_of_files_pass() {
    passes(&TestEnv::new(), &["--permits", "2", "--names", "1"]);
}

#[test]
#[ignore = "needs redis-server"]
fn permits_of_redis_pass_and_a_store_without_them_refuses() {
    let servers = [Redis::start(), Redis::start(), Redis::start()];
    passes(&TestEnv::on(servers[0].url("")), &["--permits", "2", "--names", "1"]);
    let quorum = TestEnv::on(redlock_url(servers.each_ref().map(Redis::port), ""));
    quorum.run(["doctor", "--init"]).code(0);
    quorum.run(["verify", "--permits", "2"]).code(64).one_line(&["permits"]);
    let crowd = ["verify", "--permits", "4"];
    TestEnv::new().run(crowd).code(64).one_line(&["--holders has to be more than --permits"]);
}

/// Work that is longer than the time between two renewals ends as well.
#[test]
#[ignore = "needs redis-server"]
fn renewals_do_not_prolong_the_work() {
    let redis = Redis::start();
    let options = ["--no-faults", "--names", "1", "--work", "400ms", "--ttl", "300ms"];
    not_void(&TestEnv::on(redis.url("")), &options).code(0).silent();
}

/// What was recorded is judged again to the same, and drawn.
#[test]
fn the_history_and_the_picture_are_those_of_the_run() {
    let env = TestEnv::new();
    let [history, plot] = ["h.jsonl", "p.svg"].map(|name| env.path(name).display().to_string());
    let output =
        not_void(&env, &["--json", "--time", "8s", "--history", &history, "--plot", &plot]).code(0).silent();
    let again = env.run(["verify", "check", &history, "--json", "--min-contended", "5"]).code(0).silent();
    let [mut one, mut other] = [&output, &again].map(verdict);
    for verdict in [&mut one, &mut other] {
        verdict["what"].take();
    }
    assert_eq!(one, other);
    let picture = fs::read_to_string(plot).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    for part in [">process 5<", "was paused for", "✕"] {
        assert!(picture.contains(part), "{part}: {picture}");
    }
}

/// As the page shows it, but for the numbers.
#[test]
fn lines_for_people_fit_a_terminal() {
    let env = TestEnv::new();
    let [shown] = blocks(PAGE, "console")[..] else { panic!("one run is on the page") };
    let (command, shown) = shown.split_once('\n').unwrap();
    let words: Vec<_> = command.strip_prefix("$ cotter verify ").unwrap().split(' ').collect();
    let output = not_void(&env, &words).code(0).silent();
    let plain = |text: &str| {
        let is_told = |word: &&str| !word.contains('/') && !word.contains(|c: char| c.is_ascii_digit());
        text.lines()
            .map(|line| line.split(' ').filter(is_told).collect())
            .collect::<Vec<Vec<_>>>()
            .concat()
            .join(" ")
    };
    assert_eq!(plain(&output.stdout).replace(" ms ", " s "), plain(shown));
    assert!(output.stdout.lines().skip(1).all(|line| line.chars().count() <= 80), "{output:?}");
}

#[test]
fn without_contention_or_without_the_failover_it_is_void() {
    let env = TestEnv::new();
    let calm = ["--time", "1s", "--holders", "2", "--names", "100", "--no-faults"];
    let output = verify(&env, &[&["--ttl", "500ms"], &calm[..]].concat()).code(75).silent();
    assert!(output.stdout.ends_with("VOID: too little happened to prove anything\n"), "{output:?}");
    let output = verify(&env, &["--no-faults", "--during", "exit 3"]).code(75).silent();
    assert!(output.stdout.contains("void: `exit 3` failed"), "{output:?}");
    let mark = env.path("mark");
    let during = format!("touch {}; echo done", mark.display());
    let output = verify(&env, &["--no-faults", "--during", &during]).code(0);
    assert_eq!((mark.exists(), &*output.stderr), (true, "done\n"), "{output:?}");
}

/// What happened until then is judged and reported, and what became of the store is told.
#[test]
#[ignore = "needs redis-server"]
fn a_store_that_dies_meanwhile_is_not_taken_for_a_broken_client() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    let die = format!("redis-cli -p {} shutdown nosave", redis.port());
    let output = verify(&env, &["--no-faults", "--patience", "2s", "--during", &die]);
    assert!([1, 69].contains(&output.code), "{output:?}");
    assert!(
        output.stdout.contains("\n  acquired ") && output.stderr.contains("cannot be reached"),
        "{output:?}"
    );
}

#[test]
fn a_store_that_cannot_be_verified_is_refused() {
    let env = TestEnv::new();
    env.run(["verify", "--url", "memory:"]).code(64).one_line(&["not shared between processes"]);
    let flock = format!("flock:{}", env.path("x").display());
    env.run(["verify", "--url", &flock]).code(64).one_line(&["a single lock"]);
    env.run(["verify", "--url", "redis://127.0.0.1:1"]).code(69);
    env.run(["verify", "--history", "/nonsuch/h"]).code(78).one_line(&["/nonsuch/h cannot be written"]);
}

#[test]
fn a_signal_ends_it_and_what_was_recorded_is_judged() {
    let env = TestEnv::new();
    let history = env.path("h.jsonl").display().to_string();
    let running = env.start(["verify", "--time", "60s", "--ttl", "500ms", "--history", &history]);
    until("there are processes", || children(running.pid()).len() >= 4);
    let others = children(running.pid());
    running.signal(Signal::TERM);
    let output = running.end().code(143).silent();
    assert!(output.stdout.contains("  acquired ") && output.stdout.contains("VOID"), "{output:?}");
    assert!(fs::read_to_string(history).unwrap().contains("\"started\""));
    until("nobody is left", || !others.iter().any(|pid| is_alive(*pid)));
    assert!(env.run(["list", "--json"]).code(0).json().is_empty());
}

#[test]
fn nobody_outlives_a_run_that_was_killed() {
    let env = TestEnv::new();
    for client in [None, Some("while read line; do sleep 100; done")] {
        let options = client.map(|command| ["--client", command]);
        let options = options.as_ref().map_or(&[][..], |options| &options[..]);
        let running = env.start([&["verify", "--time", "60s"], options].concat());
        until("there are processes", || children(running.pid()).len() >= 4);
        let others = children(running.pid());
        running.signal(Signal::KILL);
        until("nobody is left", || !others.iter().any(|pid| is_alive(*pid)));
    }
}

#[test]
#[ignore = "needs redis-server"]
fn a_password_is_in_no_argument_no_history_and_no_report() {
    let redis = Redis::builder().with("requirepass", "s3cret").start();
    let env = TestEnv::new();
    let history = env.path("h.jsonl").display().to_string();
    let mut command = env.cotter(["verify", "--time", "2s", "--ttl", "500ms", "--history", &history]);
    let running =
        Running::start(command.env("COTTER_URL", format!("redis://:s3cret@127.0.0.1:{}", redis.port())));
    until("there are processes", || children(running.pid()).len() >= 4);
    for pid in children(running.pid()) {
        let arguments = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&arguments).contains("s3cret"));
    }
    let output = running.end();
    assert!(output.stdout.contains("redis://@127.0.0.1"), "{output:?}");
    let recorded = fs::read_to_string(history).unwrap();
    assert!(recorded.contains("\"acquired\""), "{recorded}");
    assert!(
        ![&output.stdout, &output.stderr, &recorded].iter().any(|text| text.contains("s3cret")),
        "{output:?}"
    );
}
