//! Looking at locks and taking them away.

use crate::env::{Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Redis, acl_rule};
use cotter_testkit::timing::until;
use serde_json::Value;

#[test]
fn list_shows_who_holds_what() {
    let env = TestEnv::new();
    let empty = env.run(["list"]).code(0).silent();
    assert_eq!(empty.stdout, "");
    let (first, token) = env.hold(&["--label", "deploy"], "orders:cleanup");
    let (other, _) = env.hold(&[], "mail");
    let output = env.run(["list"]).code(0).silent();
    let lines: Vec<Vec<&str>> = output.stdout.lines().map(|l| l.split_whitespace().collect()).collect();
    let is_narrow = output.stdout.lines().all(|line| line.chars().count() <= 80);
    assert!(is_narrow, "violation[too-wide]: a terminal of 80 columns tears it apart: {output:?}");
    assert_eq!(lines[0], ["NAME", "HELD", "BY", "HELD", "FOR", "LEFT"], "nothing else is worth a column");
    assert_eq!(lines.len(), 3, "{output:?}");
    assert_eq!(lines[1][0], "mail");
    assert_eq!(lines[2][0], "orders:cleanup");
    assert!(lines[2].contains(&"(deploy)"), "{output:?}");
    let wide = env.run(["list", "--wide"]).code(0).silent().stdout;
    let heads = wide.lines().next().unwrap().split("  ").map(str::trim).filter(|head| !head.is_empty());
    let all = ["NAME", "HELD BY", "MODE", "HELD FOR", "LEFT", "TOKEN", "WAITING", "PERMITS"];
    assert_eq!(heads.collect::<Vec<_>>(), all);
    assert!(wide.contains(&token.to_string()) && wide.contains("exclusive"), "{wide}");
    let waiting = env.start(["run", "mail", "true"]);
    until("who waits is worth one", || {
        let list = env.run(["list"]).stdout;
        list.lines().next().is_some_and(|head| head.ends_with("WAITING")) && list.contains("  1\n")
    });
    let some = env.run(["ls", "orders:"]).code(0);
    assert!(some.stdout.contains("orders:cleanup") && !some.stdout.contains("mail"), "{some:?}");
    first.let_go().code(0);
    other.let_go().code(0);
    waiting.end().code(0);
    assert_eq!(env.run(["list"]).code(0).stdout, "");
    let all = env.run(["list", "--all"]).code(0);
    assert!(all.stdout.contains("mail") && all.stdout.contains("nobody"), "{all:?}");
}

#[test]
fn who_watches_is_told_what_changes_and_what_is_gone() {
    let env = TestEnv::new();
    let (first, token) = env.hold(&[], "a");
    let mut watch = env.start(["list", "--json", "--watch=20ms"]);
    let next = |watch: &mut Running| -> Value { serde_json::from_str(&watch.line()).unwrap() };
    assert_eq!(next(&mut watch)["holders"][0]["token"], token.to_string());
    let mut table = env.start(["list", "--watch=20ms"]);
    for _ in 0..2 {
        assert!(table.line().starts_with("NAME  HELD BY"));
        assert!(table.line().starts_with("a  "));
        assert_eq!(table.line(), "");
    }
    let second = env.start(["run", "a", "true"]);
    while next(&mut watch)["waiters"] != 1 {}
    first.let_go().code(0);
    second.end().code(0);
    while next(&mut watch)["gone"] != true {}
}

#[test]
fn list_as_json_is_one_object_a_line() {
    let env = TestEnv::new();
    let (first, token) = env.hold(&["--label", "deploy \"now\""], "orders:cleanup");
    let (other, _) = env.hold(&[], "mail");
    let locks = env.run(["list", "--json"]).code(0).json();
    assert_eq!(locks.len(), 2);
    let (lock, holder) = (&locks[1], &locks[1]["holders"][0]);
    assert_eq!(lock["name"], "orders:cleanup");
    assert_eq!(lock["held"], true);
    assert_eq!(lock["waiters"], 0);
    assert_eq!(holder["token"], token.to_string(), "a token is a string");
    assert_eq!(holder["mode"], "exclusive");
    assert_eq!(holder["pid"], first.pid().as_raw_nonzero().get());
    assert!(holder["label"].as_str().unwrap().ends_with("(deploy \"now\")"));
    let since = holder["since"].as_str().unwrap();
    assert!(since.starts_with("20") && since.contains('T') && since.ends_with('Z'), "{since}");
    first.let_go().code(0);
    other.let_go().code(0);
}

#[test]
fn show_tells_of_one_lock_held_or_free() {
    let env = TestEnv::new();
    let free = env.run(["show", "a"]).code(0);
    assert!(free.stdout.contains("held by     nobody"), "{free:?}");
    let (first, token) = env.hold(&["--label", "deploy"], "a");
    let mut second = env.start(["run", "-v", "a", "true"]);
    second.waiting_line();
    let held = env.run(["show", "a"]).code(0).stdout;
    for line in [
        "name        a",
        "(deploy)",
        &format!("token       {token}"),
        "mode        exclusive",
        "waiting     1",
    ] {
        assert!(held.contains(line), "{line} in {held}");
    }
    let json = env.run(["show", "--json", "a"]).code(0).json();
    assert_eq!((json.len(), &json[0]["name"], &json[0]["waiters"]), (1, &"a".into(), &1.into()));
    first.let_go().code(0);
    second.end().code(0);
    let last: u64 =
        env.run(["show", "--json", "a"]).code(0).json()[0]["last_token"].as_str().unwrap().parse().unwrap();
    assert!(last > token);
}

#[test]
fn a_lock_that_lives_with_its_process_is_not_evicted_but_named() {
    let env = TestEnv::new();
    let (first, _) = env.hold(&[], "a");
    let pid = first.pid().as_raw_nonzero().get();
    let says = format!("end that process (kill {pid})");
    env.run(["evict", "a"]).code(75).one_line(&["\"a\"", &says]);
    env.run(["break", "--now", "a"]).code(75).one_line(&[&says]);
    let json = env.run(["--json", "evict", "a"]).code(75).json();
    assert_eq!((&json[0]["result"], &json[0]["pid"]), (&"holder_must_exit".into(), &pid.into()));
    first.let_go().code(0);
}

#[test]
fn evicting_what_nobody_holds_is_done_already() {
    let env = TestEnv::new();
    let output = env.run(["evict", "a"]).code(0).silent();
    assert_eq!(output.stdout, "a: not held by anybody; nothing to do\n");
    let (first, token) = env.hold(&[], "a");
    let other = (token - 1).to_string();
    let output = env.run(["evict", "--token", &other, "a"]).code(0);
    assert_eq!(output.stdout, format!("a: not held by anybody with token {other}; nothing to do\n"));
    let json = env.run(["--json", "evict", "--token", &other, "a"]).code(0).json();
    assert_eq!((&json[0]["name"], &json[0]["result"]), (&"a".into(), &"not_held".into()));
    first.let_go().code(0);
}

/// A fail-over may forget the last locks: the first line must not promise more than the findings leave.
#[test]
#[ignore = "needs redis-server"]
fn doctor_promises_no_more_than_what_it_has_found() {
    let durable = Redis::builder().with("appendonly", "yes").with("appendfsync", "always");
    let (redis, replica) = (durable.start(), Redis::start());
    redis.command(&["ACL", "SETUSER", acl_rule("native")[2], "+info", "+config|get"]);
    let env = TestEnv::new();
    let doctor =
        |args: &[&str]| Running::start(env.cotter(args).env("COTTER_URL", redis.url(""))).end().code(0);
    let alone = doctor(&["doctor"]).stdout;
    assert!(alone.contains("promises   L1") && alone.contains("keeping a lock"), "{alone}");
    assert!(alone.contains("tickets") && alone.contains("semaphores"), "{alone}");
    replica.follow(&redis);
    until("it is attached", || redis.command(&["INFO", "replication"]).contains("connected_slaves:1"));
    let text = doctor(&["doctor"]).stdout;
    demand(text.contains("promises   L0, best effort") && !text.contains("L1"), Kind::Untrue, &*text);
    assert!(text.contains("because of: replicas\n"), "{text}");
    assert_eq!(doctor(&["--json", "doctor"]).json()[0]["level"], "L0");
}

/// What can be read of a server says nothing against it, and every lock fails.
#[test]
#[ignore = "needs redis-server"]
fn doctor_fails_where_no_lock_can_be_taken() {
    let redis = Redis::start();
    redis.command(&["ACL", "SETUSER", acl_rule("native")[2], "-time"]);
    let env = TestEnv::on(redis.url(""));
    env.run(["run", "-n", "a", "true"]).code(77);
    let text = env.run(["doctor"]).code(78).stdout;
    assert!(text.contains("problem    locks: a lock could not be taken"), "{text}");
    demand(text.contains("once the problems"), Kind::Untrue, &*text);
    let findings = env.run(["--json", "doctor"]).code(78).json()[0]["findings"].clone();
    let of = |subject: &str| {
        findings.as_array().unwrap().iter().find(|f| f["subject"] == subject).unwrap().clone()
    };
    assert_eq!(
        (&of("locks")["severity"], &of("locks")["level"]),
        (&"problem".into(), &serde_json::Value::Null)
    );
}

/// Whoever reads from a replica may read what was true long ago.
#[test]
#[ignore = "needs redis-server"]
fn list_and_show_warn_of_a_replica() {
    let redis = Redis::builder().with("repl-diskless-sync-delay", "0").start();
    let replica = Redis::start();
    replica.follow(&redis);
    until("it follows", || replica.command(&["INFO", "replication"]).contains("master_link_status:up"));
    let (above, below) = (TestEnv::on(redis.url("")), TestEnv::on(replica.url("")));
    for args in [&["list"][..], &["--json", "list"], &["show", "a"]] {
        above.run(args.iter().copied()).code(0).silent();
        below.run(args.iter().copied()).code(0).one_line(&["replica", "ask its master"]);
    }
}

/// Something else has been written where a part of it was kept.
#[test]
#[ignore = "needs redis-server"]
fn list_says_what_is_wrong_with_one_name_and_shows_the_others() {
    let redis = Redis::start();
    let env = TestEnv::on(redis.url(""));
    let (good, _) = env.hold(&[], "good");
    let (broken, _) = env.hold(&["--shared"], "broken");
    let (second, _) = env.hold(&["--shared"], "broken");
    redis.command(&["SET", "cotter:{broken}:r", "theirs"]);
    let listed = env.run(["list"]).code(0);
    let lines: Vec<Vec<&str>> = listed.stdout.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!((lines.len(), lines[2][0]), (3, "good"), "{listed:?}");
    demand(
        lines[1][..2] == ["broken", "unknown"],
        Kind::Untrue,
        format!("who holds it is not known: {listed:?}"),
    );
    assert!(listed.stderr.contains("broken: ") && listed.stderr.contains("WRONGTYPE"), "{listed:?}");
    let records = env.run(["--json", "list"]).code(0).json();
    assert!(records[0]["problem"].as_str().is_some_and(|why| why.contains("WRONGTYPE")), "{records:?}");
    assert!(records[1].get("problem").is_none(), "{records:?}");
    redis.command(&["DEL", "cotter:{broken}:r"]);
    second.let_go().code(0);
    broken.let_go().code(0);
    good.let_go().code(0);
}

/// What the mode can: one lock by its name.
#[test]
#[ignore = "needs redis-server"]
fn older_modes_show_and_evict_one_lock() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let cotter = |options: &str, args: &[&str]| {
        Running::start(env.cotter(args).env("COTTER_URL", redis.url(options))).end()
    };
    redis.command(&["SET", "a", "order-7", "PX", "60000"]);
    let held = cotter("mode=plain", &["show", "a"]).code(0).stdout;
    assert!(held.contains("held by     value order-7") && !held.contains("token"), "{held}");
    cotter("mode=plain", &["evict", "--now", "a"]).code(0);
    cotter("mode=plain", &["run", "-n", "a", "true"]).code(0);
    for mode in ["mode=plain", "mode=getset"] {
        let refused = cotter(mode, &["list"]).code(64).stderr;
        assert!(
            refused.contains(&format!("{mode} can do")) && refused.contains("show one by its name"),
            "{refused}"
        );
        assert!(cotter(mode, &["doctor"]).code(0).stdout.contains("persistence"));
    }
    for flaw in ["clocks", "losers", "owner"] {
        assert!(cotter("mode=getset", &["doctor"]).code(0).stdout.contains(flaw), "{flaw}");
    }
}

#[test]
fn doctor_says_what_the_store_promises() {
    let env = TestEnv::new();
    let text = env.run(["doctor"]).code(0).silent().stdout;
    for part in [&env.url(), "this host, this user only", "L1, lease-exclusive"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let zones = text.lines().find_map(|line| line.strip_prefix("time zones ")).expect(&text);
    assert!(env.run(["--version"]).stdout.ends_with(&format!("\ntime zones {zones}\n")), "{text}");
    let json = env.run(["--json", "doctor"]).code(0).json();
    assert_eq!(json[0]["time_zones"], zones);
    assert_eq!((json.len(), &json[0]["scheme"], &json[0]["level"]), (1, &"file".into(), &"L1".into()));
    assert!(json[0]["capabilities"].is_object() && json[0]["findings"].is_array());
}

/// Locks of a group are not called those of one user.
#[test]
fn doctor_and_verbose_runs_name_the_group_as_the_scope() {
    let env = TestEnv::new();
    let group = std::process::Command::new("id").arg("-gn").output().unwrap().stdout;
    let group = String::from_utf8(group).unwrap();
    let url = format!("file://{}?shared={}", env.path("of-a-group").display(), group.trim());
    let doctor = env.run(["--url", &url, "doctor"]).code(0).stdout;
    let run = env.run(["-v", "--url", &url, "run", "a", "true"]).code(0).stderr;
    for text in [&doctor, &run] {
        assert!(text.contains("this host, one group of users") && !text.contains("this user"), "{text}");
    }
    assert!(doctor.contains("only the processes of one group"), "{doctor}");
}

/// Moving such a file away would let a second holder in: whoever wrote it may hold the lock.
#[test]
fn the_file_of_another_version_is_left_where_it_is() {
    let env = TestEnv::new();
    env.run(["run", "a", "true"]).code(0);
    let path = env.path("locks/a.lock");
    let text = std::fs::read_to_string(&path).unwrap();
    let newer = text.replacen("cotter lock 1\n", "cotter lock 2\n", 1);
    assert_ne!(newer, text);
    std::fs::write(&path, &newer).unwrap();
    let refused = env.run(["run", "a", "true"]).code(65);
    assert!(!refused.stderr.contains("move") && !refused.stderr.contains("foreign key"), "{refused:?}");
    refused.one_line(&["a.lock", "another version of cotter", "stop every cotter"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
}

#[test]
fn a_quiet_show_answers_with_its_exit_code() {
    let env = TestEnv::new();
    assert_eq!(env.run(["show", "-q", "a"]).code(1).silent().stdout, "");
    let (first, _) = env.hold(&[], "a");
    assert_eq!(env.run(["show", "--quiet", "a"]).code(0).silent().stdout, "");
    first.let_go().code(0);
    env.run(["show", "-q", "a"]).code(1);
    env.run(["show", "-q", ""]).code(64);
}

#[test]
fn a_name_cannot_turn_the_line_around() {
    let env = TestEnv::new();
    let name = "backup-\u{202e}gnp";
    let (first, _) = env.hold(&[], name);
    for command in [&["list"][..], &["show", name], &["evict", "--token", "1", name]] {
        let output = env.run(command).code(0).stdout;
        assert!(output.contains("backup-\\u{202e}gnp") && !output.contains(name), "{output}");
    }
    assert_eq!(env.run(["list", "--json"]).code(0).json()[0]["name"], name, "programs get it as it is");
    first.let_go().code(0);
}
