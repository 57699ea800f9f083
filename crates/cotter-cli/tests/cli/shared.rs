//! Many that share a lock, and one that does not.

use crate::env::TestEnv;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
fn several_share_it_and_an_exclusive_run_waits_for_all() {
    sharing(&TestEnv::new());
}

#[test]
#[ignore = "needs redis-server"]
fn on_redis_several_share_it_and_an_exclusive_run_waits_for_all() {
    let redis = Redis::start();
    sharing(&TestEnv::on(redis.url("")));
}

fn sharing(env: &TestEnv) {
    let (first, older) = env.hold(&["--shared", "--label", "one"], "a");
    let (second, newer) = env.hold(&["-s", "-n", "--label", "two"], "a");
    assert!(newer > older, "one counter for all");
    let busy = env.run(["run", "-n", "a", "true"]).code(75);
    busy.one_line(&["a is held by ", "(one) for ", " and one other; gave up"]);
    let mut writer = env.start(["run", "-v", "a", "--", "sh", "-c", "echo $COTTER_TOKEN"]);
    let line = writer.waiting_line();
    assert!(line.contains("(one) for ") && line.ends_with(" and one other, next in queue"), "{line}");
    env.run(["run", "-s", "-n", "a", "true"]).code(75);
    first.let_go().code(0).silent();
    second.let_go().code(0).silent();
    let written: u64 = writer.line().parse().unwrap();
    assert!(written > newer);
    writer.end().code(0);
}

#[test]
fn an_exclusive_run_keeps_readers_out() {
    writing(&TestEnv::new());
}

#[test]
#[ignore = "needs redis-server"]
fn on_redis_an_exclusive_run_keeps_readers_out() {
    let redis = Redis::start();
    writing(&TestEnv::on(redis.url("")));
}

fn writing(env: &TestEnv) {
    let (writer, older) = env.hold(&[], "a");
    env.run(["run", "--shared", "--wait", "50ms", "a", "true"]).code(75);
    let read = || env.start(["run", "-v", "-s", "a", "--", "sh", "-c", "echo $COTTER_TOKEN; read line"]);
    let mut readers = [read(), read()];
    for reader in &mut readers {
        assert!(reader.waiting_line().starts_with("waiting for a, held by "));
    }
    writer.let_go().code(0);
    // Neither ends before both have begun.
    let tokens = readers.each_mut().map(|reader| reader.line().parse::<u64>().unwrap());
    assert!(tokens[0] != tokens[1] && tokens.iter().all(|t| *t > older), "{tokens:?}");
    for reader in readers {
        reader.let_go().code(0);
    }
}

#[test]
fn list_and_show_name_all_who_share_it() {
    let env = TestEnv::new();
    let (first, older) = env.hold(&["-s", "--label", "one"], "a");
    let (second, newer) = env.hold(&["-s", "--label", "two"], "a");
    let (other, _) = env.hold(&[], "b");
    let list = env.run(["list"]).code(0).silent().stdout;
    let lines: Vec<Vec<&str>> = list.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 4, "{list}");
    assert!(lines[1][0] == "a" && lines[1].contains(&"(one)") && lines[1].contains(&"shared"), "{list}");
    assert!(lines[2].contains(&"(two)") && lines[2].contains(&"shared"), "{list}");
    assert!(lines[3][0] == "b" && lines[3].contains(&"exclusive"), "{list}");
    let text = env.run(["show", "a"]).code(0).silent().stdout;
    assert_eq!(text.matches("mode        shared").count(), 2, "{text}");
    let json = env.run(["show", "--json", "a"]).code(0).json();
    let holders = json[0]["holders"].as_array().unwrap();
    assert_eq!(holders.len(), 2);
    for (holder, (run, token)) in holders.iter().zip([(&first, older), (&second, newer)]) {
        assert_eq!((&holder["mode"], &holder["token"]), (&"shared".into(), &token.to_string().into()));
        assert_eq!(holder["pid"], run.pid().as_raw_nonzero().get());
    }
    env.run(["evict", "a"]).code(75).one_line(&[&format!("kill {}", first.pid().as_raw_nonzero())]);
    for run in [first, second, other] {
        run.let_go().code(0);
    }
    assert_eq!(env.run(["list"]).code(0).stdout, "");
}

#[test]
#[ignore = "needs redis-server"]
fn on_redis_list_and_show_name_all_who_share_it_and_evict_takes_it_from_one_or_all() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    let (first, older) = env.hold(&["-s", "--label", "one"], "a");
    let (mut second, newer) = env.hold(&["-s", "--ttl", "900ms", "--label", "two"], "a");
    let list = env.run(["list"]).code(0).silent().stdout;
    let lines: Vec<Vec<&str>> = list.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines.len(), 3, "{list}");
    assert!(lines[1][0] == "a" && lines[1].contains(&"(one)") && lines[1].contains(&"shared"), "{list}");
    assert!(lines[2].contains(&"(two)") && lines[2].contains(&"shared"), "{list}");
    let json = env.run(["show", "--json", "a"]).code(0).json();
    let tokens: Vec<_> = json[0]["holders"].as_array().unwrap().iter().map(|h| h["token"].clone()).collect();
    assert_eq!(tokens, [older.to_string(), newer.to_string()]);
    env.run(["evict", "--token", &newer.to_string(), "a"]).code(0);
    assert!(second.error_line().contains("evicted"));
    second.end().code(74);
    env.run(["run", "-n", "a", "true"]).code(75);
    env.run(["evict", "--now", "a"]).code(0);
    env.run(["run", "-n", "a", "true"]).code(0);
    first.let_go().code(74);
    assert_eq!(env.run(["list"]).code(0).stdout, "");
}

/// Only some of them are named.
#[test]
#[ignore = "needs redis-server"]
fn very_many_who_share_it_are_counted() {
    const OTHERS: &str = "for i = 1, 300 do
        redis.call('ZADD', KEYS[1] .. ':r', 9e15, i)
        redis.call('HSET', KEYS[1] .. ':h', i, '-- 0000000000000001 00001 0000000000000001 0000000000 x')
    end";
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    let (reader, _) = env.hold(&["-s"], "a");
    // A reader that is alone has no entry beside which others could be.
    env.run(["run", "-s", "a", "true"]).code(0);
    redis.command(&["EVAL", OTHERS, "1", "cotter:{a}"]);
    let busy = env.run(["run", "-n", "a", "true"]).code(75);
    demand(
        busy.stderr.contains(" and 300 others; gave up"),
        Kind::Untrue,
        format!("so many hold it: {busy:?}"),
    );
    let listed = env.run(["list"]).code(0).stdout;
    demand(listed.contains("and 45 more"), Kind::Untrue, format!("these are not all: {listed}"));
    assert!(env.run(["show", "a"]).code(0).stdout.contains("and 45 more"));
    assert_eq!(env.run(["show", "--json", "a"]).code(0).json()[0]["unlisted"], 45);
    reader.let_go().code(0);
}

#[test]
#[ignore = "needs redis-server"]
fn one_name_is_not_a_lock_and_a_semaphore() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    let (reader, _) = env.hold(&["-s"], "a");
    env.run(["run", "--limit", "3", "a", "true"])
        .code(65)
        .one_line(&["in use as a lock, not as a semaphore of 3"]);
    reader.let_go().code(0);
    let (holder, _) = env.hold(&["--limit", "3"], "a");
    env.run(["run", "--limit", "2", "a", "true"]).code(65).one_line(&["in use as a semaphore of 3"]);
    env.run(["run", "a", "true"]).code(65).one_line(&["in use as a semaphore of 3, not as a lock"]);
    env.run(["run", "-s", "a", "true"]).code(65).one_line(&["in use as a semaphore of 3, not as a lock"]);
    holder.let_go().code(0);
}

#[test]
fn a_killed_reader_is_not_shown_and_keeps_nobody() {
    let env = TestEnv::new();
    let mut reader = env.start(["run", "-s", "a", "--", "sh", "-c", "echo $$; exec sleep 600"]);
    reader.ward();
    let (other, _) = env.hold(&["-s"], "a");
    reader.signal(Signal::KILL);
    until("it is gone from the list", || env.run(["list"]).code(0).stdout.lines().count() == 2);
    other.let_go().code(0);
    env.run(["run", "-n", "a", "true"]).code(0);
}

#[test]
fn the_help_tells_what_it_means() {
    let env = TestEnv::new();
    let help = env.run(["run", "--help"]).code(0).stdout;
    for part in ["-s, --shared", "Take a shared lock", "Both kinds are served"] {
        assert!(help.contains(part), "{part} in {help}");
    }
    let doctor = env.run(["--json", "doctor"]).code(0).json();
    assert_eq!(doctor[0]["capabilities"]["shared_locks"], true, "{doctor:?}");
}
