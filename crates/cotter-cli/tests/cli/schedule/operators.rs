//! `cotter jobs`.

use super::{event, once, printed};
use crate::env::{Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn jobs_are_listed_paused_resumed_and_asked_for() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"50ms\"\nshell = \"echo a\"\n[job.b]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"echo b; exit 4\"\n");
    printed(&mut run);
    let path = env.path("jobs.toml");
    let jobs = |words: &[&str]| env.run([&["jobs", "--file", path.to_str().unwrap()], words].concat());
    jobs(&["pause", "a"]).code(0).silent();
    let paused = event(&mut run, "paused");
    assert!(paused["by"].as_str().unwrap().contains(" on "), "{paused}");
    jobs(&["trigger", "b"]).code(0).silent();
    while printed(&mut run) != "b" {}
    assert_eq!(event(&mut run, "ended")["code"], 4);
    let history = || env.run(["--json", "jobs", "--group", "g", "history", "b"]).code(0).silent().json();
    // It is told before it is written down.
    until("it is in the history", || !history().is_empty());
    let output = env.run(["jobs", "--group", "g", "list"]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert!(lines[0].starts_with("JOB  STATE") && lines.len() == 3, "{output:?}");
    assert!(lines[1].starts_with("a    paused by "), "{output:?}");
    assert!(lines[2].contains("failed: exit code 4"), "{output:?}");
    assert!(
        lines[0].ends_with("OUTCOME") && lines[2].contains("  in ") && lines[2].contains(" d "),
        "{output:?}"
    );
    let wide = env.run(["jobs", "--group", "g", "list", "--wide"]).code(0).silent().stdout;
    assert!(wide.contains("2099-01-01T00:00:00Z") && wide.contains("  fixed rate 50ms\n"), "{wide}");
    let history = history();
    assert_eq!(
        (history.len(), &history[0]["asked"], &history[0]["outcome"]),
        (1, &true.into(), &"failed".into())
    );
    let table = jobs(&["history", "b"]).code(0);
    assert!(table.stdout.contains("(triggered)"), "{table:?}");
    jobs(&["resume", "a"]).code(0);
    event(&mut run, "resumed");
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_failed_run_is_shown_with_host_code_and_output_until_it_is_forgotten() {
    let env = TestEnv::new();
    let retries = "retries = 1\nretry_delay = \"1h\"\n";
    let mut run = env.schedule(&[&once("a", "echo one; echo two >&2; exit 4"), retries].concat());
    event(&mut run, "retrying");
    run.signal(Signal::TERM);
    run.end().code(0);
    let jobs = |words: &[&str]| env.run([&["--json", "jobs", "--group", "g"], words].concat());
    let history = jobs(&["history", "a"]).code(0).json();
    let mut printed: Vec<_> = history[0]["output"].as_str().unwrap().lines().collect();
    printed.sort();
    assert_eq!((history.len(), &history[0]["code"], &printed[..]), (1, &4.into(), &["one", "two"][..]));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    assert_eq!(history[0]["host"], host);
    let table = env.run(["jobs", "--group", "g", "history", "a", "--output"]).code(0).stdout;
    assert!(table.contains("2020-01-01T00:00:00Z, attempt 1:\n  ") && table.contains("\n  two\n"), "{table}");
    let table = env.run(["jobs", "--group", "g", "list", "--wide"]).code(0).stdout;
    assert!(table.contains("retrying, attempt 2") && table.contains(&host), "{table}");
    assert!(jobs(&["list"]).json()[0]["retry_at"].is_string(), "another scheduler carries on");
    jobs(&["forget", "a"]).code(0).silent();
    assert_eq!(jobs(&["list"]).code(0).stdout, "");
    jobs(&["forget", "a"]).code(64).one_line(&["has no job \"a\""]);
}

#[test]
fn a_triggered_run_has_its_arguments_in_its_environment() {
    let env = TestEnv::new();
    let script = "echo since=$COTTER_ARG_SINCE path=$COTTER_ARG_PATH; env | grep -c ^COTTER_ARG_";
    let mut run = env.schedule(&format!("[job.a]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"{script}\"\n"));
    event(&mut run, "remark");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("it is known", || jobs(&["trigger", "a"]).code == 0);
    assert_eq!((printed(&mut run), printed(&mut run)), ("since= path=".into(), "0".into()));
    jobs(&["trigger", "a", "SINCE=a b=c", "PATH=x"]).code(0).silent();
    assert_eq!((printed(&mut run), printed(&mut run)), ("since=a b=c path=x".into(), "2".into()));
    jobs(&["trigger", "a", "SINCE"]).code(64).one_line(&["write NAME=VALUE"]);
    jobs(&["trigger", "a", "a-b=1"]).code(64).one_line(&["\"a-b\" is not the name of a variable"]);
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn tables_of_jobs_fit_eighty_columns_and_show_what_was_asked_for() {
    let env = TestEnv::new();
    let day = "cron = \"0 0 3 1 1 ? 2099\"\n";
    let mut run = env.schedule(&format!(
        "[job.orders-clean-up]\n{day}shell = \"true\"\n[job.report]\n{day}shell = \"test ! -e down\"\ncwd = \"{}\"\n",
        env.path("").display(),
    ));
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("they are known", || jobs(&["list"]).stdout.lines().count() == 3);
    for fails in [false, true, false] {
        if fails {
            std::fs::write(env.path("down"), "").unwrap();
        }
        jobs(&["trigger", "report"]).code(0);
        let ended = event(&mut run, "ended");
        assert_eq!(ended["outcome"] == "failed", fails, "{ended}");
        let _ = std::fs::remove_file(env.path("down"));
    }
    let runs = |words: &[&str]| jobs(&[&["history", "report"], words].concat()).code(0).stdout;
    until("all are in the history", || runs(&[]).lines().count() == 4);
    let list = jobs(&["list"]).code(0).stdout;
    let row = list.lines().find(|line| line.starts_with("report")).unwrap_or_default();
    demand(row.contains("  .x.      ok"), Kind::Untrue, format!("one of three has failed: {list}"));
    let objects = jobs(&["list", "--json"]).code(0).json();
    assert_eq!(objects[1]["last_outcomes"], serde_json::json!(["ok", "failed", "ok"]));
    for table in [jobs(&["list"]).code(0).stdout, runs(&[])] {
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
    assert!(runs(&["-n", "1"]).ends_with("  ok\n") && runs(&["-n", "1"]).lines().count() == 2);
    let failed = runs(&["--failed"]);
    assert!(failed.lines().count() == 2 && failed.contains("failed: exit code 1"), "{failed}");
    assert!(runs(&["--wide"]).contains("TOKEN") && !failed.contains("TOKEN"));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn schedulers_are_listed_and_who_asks_is_told_if_there_is_none() {
    let env = TestEnv::new();
    let mut run = env.schedule("workers = 4\n[job.a]\non_demand = true\nshell = \"echo a\"\n");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat()).code(0);
    let listed = || env.run(["--json", "jobs", "--group", "g", "hosts"]).code(0).silent().json();
    until("it says that it runs", || listed().len() == 1);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let found = &listed()[0];
    assert_eq!(
        (&found["host"], &found["workers"], &found["busy"]),
        (&host.clone().into(), &4.into(), &0.into())
    );
    let table = jobs(&["hosts"]).silent().stdout;
    assert!(table.starts_with("HOST  ") && table.contains(&host) && table.contains("  0 of 4  "), "{table}");
    jobs(&["trigger", "a"]).silent();
    while printed(&mut run) != "a" {}
    run.signal(Signal::TERM);
    run.end().code(0);
    assert_eq!(listed(), [] as [Value; 0], "it has said that it ends");
    let says = ["no scheduler of this group runs", "when one is started"];
    for request in [&["trigger", "a"][..], &["add-once", "a", "--after", "1m"]] {
        let output = jobs(request);
        assert!(output.stderr.contains(says[0]), "violation[unseen]: {request:?} is silent: {output:?}");
        output.one_line(&says);
    }
}

#[test]
fn jobs_are_watched() {
    let env = TestEnv::new();
    let run = env.schedule("[job.a]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"exit 3\"\n");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("it is known", || !jobs(&["list"]).stdout.is_empty());
    let mut watch = env.start(["--json", "jobs", "--group", "g", "list", "--watch=20ms"]);
    let changed = |watch: &mut Running| -> Value { serde_json::from_str(&watch.line()).unwrap() };
    assert_eq!(changed(&mut watch)["outcome"], Value::Null);
    let mut table = env.start(["jobs", "--group", "g", "list", "-w=20ms"]);
    for _ in 0..2 {
        assert!(table.line().starts_with("JOB  STATE"));
        assert!(table.line().starts_with("a    waiting"));
        assert_eq!(table.line(), "");
    }
    jobs(&["trigger", "a"]).code(0);
    while changed(&mut watch)["outcome"] != "failed" {}
    run.signal(Signal::TERM);
    run.end().code(0);
    jobs(&["forget", "a"]).code(0);
    while changed(&mut watch)["gone"] != true {}
}

#[test]
fn a_whole_group_is_paused_with_a_reason() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"50ms\"\nshell = \"echo a\"\n");
    printed(&mut run);
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    jobs(&["pause"]).code(64);
    jobs(&["pause", "a", "--all"]).code(64);
    jobs(&["pause", "--all", "--reason", "the database moves"]).code(0).silent();
    let paused = event(&mut run, "paused");
    assert_eq!((&paused["job"], &paused["reason"]), (&Value::Null, &"the database moves".into()));
    let listed = jobs(&["list"]).code(0).stdout;
    assert!(listed.contains("paused by ") && listed.contains(": the database moves"), "{listed}");
    jobs(&["resume", "--all"]).code(0).silent();
    event(&mut run, "resumed");
    event(&mut run, "started");
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_request_that_changes_nothing_says_so() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"1h\"\nshell = \"true\"\n[job.off]\nenabled = false\nfixed_rate = \"1h\"\nshell = \"true\"\n");
    event(&mut run, "started");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    jobs(&["resume", "a"]).code(0).one_line(&["a: was not paused"]);
    jobs(&["resume", "--all"]).code(0).one_line(&["the group was not paused"]);
    jobs(&["pause", "a", "--reason", "one"]).code(0).silent();
    jobs(&["pause", "a", "--reason", "two"]).code(0).one_line(&[
        "a: was paused already, by ",
        " on ",
        ": one",
    ]);
    jobs(&["resume", "a"]).code(0).silent();
    jobs(&["pause", "--all", "--reason", "all of it"]).code(0).silent();
    jobs(&["pause", "--all"]).code(0).one_line(&["the group: was paused already, by ", ": all of it"]);
    let still = ["a: it has no pause of its own", "the whole group is paused, by ", ": all of it", "--all"];
    jobs(&["resume", "a"]).code(0).one_line(&still);
    jobs(&["pause", "a"]).code(0).silent();
    jobs(&["resume", "a"]).code(0).one_line(&["a: its own pause has ended", "the whole group is paused"]);
    until("it is known", || jobs(&["list"]).stdout.contains("off "));
    jobs(&["trigger", "off"]).code(64).one_line(&["\"off\"", "disabled"]);
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn what_no_scheduler_starts_is_listed_as_overdue() {
    let env = TestEnv::new();
    let mut run = env.schedule("[job.a]\nfixed_rate = \"100ms\"\nshell = \"true\"\n");
    event(&mut run, "ended");
    let list = |words: &[&str]| env.run([words, &["jobs", "--group", "g", "list"]].concat()).code(0);
    assert_eq!(list(&["--json"]).json()[0]["overdue_since"], Value::Null);
    run.signal(Signal::TERM);
    run.end().code(0);
    until("it is overdue", || list(&[]).stdout.contains("no host has this job, overdue for "));
    let json = list(&["--json"]).json();
    assert!(json[0]["overdue_since"].is_string() && json[0]["first_started"].is_string(), "{json:?}");
}

#[test]
fn a_job_that_nobody_knows_is_64() {
    let env = TestEnv::new();
    env.run(["jobs", "--group", "g", "pause", "x"]).code(64).one_line(&["has no job \"x\""]);
    env.run(["jobs", "list"]).code(64).one_line(&["--file", "--group"]);
    let nothing = env.run(["jobs", "--group", "g", "list"]).code(0).silent();
    assert_eq!(nothing.stdout, "");
}

#[test]
fn a_broken_file_is_78_with_the_first_mistake() {
    let env = TestEnv::new();
    let path = env.jobs("wrokers = 3\n[job.b]\n");
    let output = env.run(["jobs", "--file", path.to_str().unwrap(), "list"]).code(78);
    output.one_line(&["line 2: unknown key `wrokers`", "2 more, see `cotter schedule --validate`"]);
}
