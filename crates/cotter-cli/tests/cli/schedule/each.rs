//! Jobs on each host.

use super::{event, printed};
use crate::env::{Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use rustix::system::uname;
use std::path::Path;

const JOBS: &str = "[job.dump]\nfixed_rate = \"100ms\"\nshell = \"uname -n\"\non = \"each\"\n";

/// A scheduler with these arguments on a host of this name.
fn on_host(env: &TestEnv, name: &str, words: &str) -> Running {
    let mut command = env.anywhere(Path::new("unshare"));
    command.args(["--user", "--map-root-user", "--uts", "sh", "-c"]);
    command.arg(format!("echo {name} > /proc/sys/kernel/hostname && exec \"$0\" --json schedule {words}"));
    command.arg(env!("CARGO_BIN_EXE_cotter")).env("COTTER_URL", env.url());
    Running::start(&mut command)
}

fn stop(run: Running) {
    run.signal(Signal::TERM);
    run.end().code(0).silent();
}

#[test]
#[ignore = "needs unprivileged namespaces"]
fn each_host_has_its_own_slots_history_and_name_of_a_job() {
    let env = TestEnv::new();
    let path = env.jobs(JOBS).to_str().unwrap().to_owned();
    let own = uname().nodename().to_string_lossy().into_owned();
    let mut here = env.start(["--json", "schedule", &path]);
    let mut there = on_host(&env, "web-9", &path);
    assert_eq!((printed(&mut here), printed(&mut there)), (own.clone(), "web-9".to_owned()));
    assert_eq!(event(&mut there, "ended")["job"], "dump@web-9");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    let table = || jobs(&["list"]).code(0).stdout;
    until("both are listed", || {
        table().contains(&format!("dump@{own}  ")) && table().contains("dump@web-9  ")
    });
    assert!(!table().contains("stand"), "{}", table());
    for words in [&["trigger", "dump"][..], &["pause", "dump"], &["stop", "dump"], &["history", "dump"]] {
        jobs(words)
            .code(64)
            .one_line(&["has \"dump\" for each host by itself: name \"dump@", "\" or 1 more"]);
    }
    let asked = ["--json", "jobs", "--group", "g", "trigger", "dump@web-9", "--wait"];
    assert_eq!(env.run(asked).code(0).json()[0]["host"], "web-9");
    for host in [&own, "web-9"] {
        let name = format!("dump@{host}");
        let history = || env.run(["--json", "jobs", "--group", "g", "history", &name]).code(0).json();
        until("it has run twice", || history().len() > 1);
        assert!(history().iter().all(|run| run["host"] == *host), "{:?}", history());
    }
    assert_eq!(jobs(&["check", "dump"]).code(0).stdout, "ok: 2 jobs; 2 schedulers\n");
    stop(there);

    until("it is overdue", || table().contains("dump@web-9  no host has the label host=web-9, overdue for "));
    let check = jobs(&["check", "dump", "--max-overdue", "1s"]).code(1).stdout;
    assert!(
        check.contains("dump@web-9: no host has the label") && !check.contains(&format!("dump@{own}")),
        "{check}"
    );
    assert_eq!(jobs(&["forget", "--orphaned"]).code(0).stdout, "", "it may come back");
    env.jobs(&JOBS.replace("uname -n", "echo $COTTER_NAME"));
    here.signal(Signal::HUP);
    until("it runs what the file says now", || printed(&mut here) == format!("g/dump@{own}"));
    stop(here);
}

#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_host_without_a_name_of_its_own_or_without_the_label_says_so() {
    let env = TestEnv::new();
    let path = env.jobs(JOBS).to_str().unwrap().to_owned();
    let mut nameless = on_host(&env, "localhost", &path);
    let told = event(&mut nameless, "remark");
    let message = told["message"].as_str().unwrap();
    assert!(message.ends_with("; \"dump\" is left to hosts with a name of their own"), "{message}");
    stop(nameless);
    let path = env.jobs(&JOBS.replace("\"each\"", "[\"each\", \"role=db\"]")).to_str().unwrap().to_owned();
    let mut web = on_host(&env, "web-9", &path);
    let told = event(&mut web, "remark");
    let message = told["message"].as_str().unwrap();
    assert!(message.ends_with("; \"dump\" is left to hosts with role=db"), "{message}");
    stop(web);
    let mut db = on_host(&env, "db-1", &format!("{path} --label role=db"));
    assert_eq!(printed(&mut db), "db-1");
    stop(db);
}

#[test]
fn one_whose_label_no_host_has_had_is_told_by_the_file() {
    let env = TestEnv::new();
    let other = "[job.here]\non_demand = true\nshell = \"true\"\n";
    let on_each = JOBS.replace("\"each\"", "[\"each\", \"role=db\"]");
    let path = env.jobs(&format!("{on_each}{other}")).to_str().unwrap().to_owned();
    let jobs = |words: &[&str]| env.run([&["jobs", "--file", &path], words].concat());
    let says = "dump: no host with the label role=db has had this job";
    for (words, is_missing) in [("", true), ("--label role=db", false)] {
        let run = env.start(format!("schedule {path} {words}").split_whitespace());
        until("what it has is known", || {
            jobs(&["list"]).stdout.lines().count() == if is_missing { 2 } else { 3 }
        });
        let (list, check) = (jobs(&["list"]).code(0), jobs(&["check"]));
        let is_told = list.stderr.contains(says) && check.stdout.contains(says) && check.code == 1;
        demand(is_told == is_missing, Kind::Untrue, format!("{words:?}: {list:?}, {check:?}"));
        assert_eq!(jobs(&["check", "dump"]).code, i32::from(is_missing));
        run.signal(Signal::TERM);
        run.end().code(0);
    }
}
