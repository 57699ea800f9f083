//! Jobs on hosts with labels.

use super::metrics::{AT, address, get, value};
use super::{event, printed};
use crate::env::{Running, TestEnv};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

/// One for hosts with a label, and one for all.
const JOBS: &str = "[job.dump]\nfixed_rate = \"100ms\"\nmisfire = \"all\"\nshell = \"echo dump\"\non = \"role=db\"\n\
                    [job.tidy]\nfixed_rate = \"100ms\"\nshell = \"true\"\n";

fn stop(run: Running) -> String {
    run.signal(Signal::TERM);
    run.end().code(0).silent().stdout
}

fn listed(env: &TestEnv, job: &str) -> Value {
    let all = env.run(["--json", "jobs", "--group", "g", "list"]).code(0).json();
    all.into_iter().find(|found| found["job"] == job).unwrap_or_default()
}

#[test]
fn a_job_on_a_label_runs_there_only_and_everything_says_so() {
    let env = TestEnv::new();
    let path = env.jobs(JOBS);
    let path = path.to_str().unwrap();
    let mut web = env.start([&["--json", "schedule", path][..], &AT].concat());
    let at = address(&mut web);
    let told = event(&mut web, "remark");
    let message = told["message"].as_str().unwrap();
    assert!(message.ends_with("; \"dump\" is left to hosts with role=db"), "{message}");
    assert_eq!(told["jobs"], 1);
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("what is for all hosts has run", || !listed(&env, "tidy")["succeeded"].is_null());
    let start_db = || env.start(["--json", "schedule", path, "--label", "role=db", "--label", "zone=a"]);
    let mut db = start_db();
    assert_eq!(printed(&mut db), "dump");
    let page = get(&at, "/metrics");
    assert!(
        page.contains("cotter_job_runs_total{group=\"g\",job=\"tidy\"")
            && !page.contains("cotter_job_runs_total{group=\"g\",job=\"dump\""),
        "{page}"
    );
    let hosts = env.run(["--json", "jobs", "--group", "g", "hosts"]).code(0).json();
    let labels: Vec<_> = hosts.iter().map(|host| host["labels"].to_string()).collect();
    assert_eq!(labels, ["[]", "[\"role=db\",\"zone=a\"]"]);
    assert!(jobs(&["hosts"]).code(0).stdout.contains("  role=db zone=a\n"));
    assert_eq!(listed(&env, "dump")["on"].to_string(), "[\"role=db\"]");
    jobs(&["check"]).code(0);
    stop(db);

    until("it is overdue", || !listed(&env, "dump")["overdue_since"].is_null());
    let dump = listed(&env, "dump");
    assert_eq!((&dump["orphaned"], &dump["unlabelled"]), (&true.into(), &true.into()), "{dump}");
    let table = jobs(&["list"]).code(0).stdout;
    assert!(
        table.contains("dump  no host has the label role=db, overdue for ") && table.contains("tidy  "),
        "{table}"
    );
    let check = jobs(&["check", "dump", "--max-overdue", "1s"]).code(1).silent().stdout;
    assert!(
        check.starts_with("dump: overdue for ") && check.ends_with("\ndump: no host has the label role=db\n"),
        "{check}"
    );
    let orphaned = |job: &str| format!("cotter_job_orphaned{{group=\"g\",job=\"{job}\"}}");
    until("it is a figure", || value(&get(&at, "/metrics"), &orphaned("dump")) == Some(1.0));
    assert_eq!(value(&get(&at, "/metrics"), &orphaned("tidy")), Some(0.0));
    jobs(&["trigger", "dump"])
        .code(0)
        .one_line(&["no host has the label role=db: it is done when one is started"]);
    jobs(&["trigger", "tidy"]).code(0).silent();
    jobs(&["add-once", "dump", "--after", "0s"]).code(0).one_line(&["no host has the label role=db"]);
    assert_eq!(jobs(&["forget", "--orphaned"]).code(0).stdout, "", "it was not removed");

    let db = start_db();
    let requested = || listed(&env, "dump")["requests"] == 0;
    until("the request is answered", requested);
    until("nobody waits", || jobs(&["pending"]).code(0).stdout.is_empty());
    let slots = || {
        let runs = env.run(["--json", "jobs", "--group", "g", "history", "dump", "-n", "100"]).code(0).json();
        runs.iter().filter(|run| run["asked"] == false).count()
    };
    until("the slots of the outage are run as well", || slots() > 45);
    stop(db);
    let own = stop(web);
    assert!(own.contains("\"job\":\"tidy\"") && !own.contains("\"job\":\"dump\""), "{own}");
}

/// A file that is read again gives a host no more than its labels do.
#[test]
fn a_file_that_is_read_again_is_for_the_same_labels() {
    let env = TestEnv::new();
    let tidy = JOBS.split_once("[job.tidy]").unwrap().1;
    let mut web = env.schedule(&format!("[job.tidy]{tidy}"));
    event(&mut web, "started");
    env.jobs(&format!(
        "{JOBS}[job.both]\non_demand = true\nshell = \"true\"\non = [\"zone=a\", \"role=db\"]\n"
    ));
    web.signal(Signal::HUP);
    let told = loop {
        let told = event(&mut web, "remark")["message"].as_str().unwrap().to_owned();
        if told.starts_with("the file was reloaded") {
            break told;
        }
    };
    assert_eq!(
        told,
        "the file was reloaded and has 1 job; 2 others are left to hosts with role=db or role=db and zone=a"
    );
    (0..3).for_each(|_| drop(event(&mut web, "started")));
    until("it is known all the same", || listed(&env, "dump")["unlabelled"] == true);
    let check = env.run(["jobs", "--group", "g", "check"]).code(1).stdout;
    assert!(check.contains("dump: no host has the label role=db\n"), "{check}");
    assert!(check.contains("both: no host has the labels role=db and zone=a\n"), "{check}");
    let rest = stop(web);
    assert!(!rest.contains("\"job\":\"dump\""), "{rest}");
}

#[test]
fn what_is_no_label_is_refused_with_what_to_write() {
    let env = TestEnv::new();
    let how = "is not a label: write key=value, such as role=db";
    let path = env.jobs(JOBS);
    let path = path.to_str().unwrap().to_owned();
    let refused = env.run(["schedule", &path, "--label", "db"]).code(64);
    assert!(refused.stderr.contains(&format!("\"db\" {how}")), "{refused:?}");
    env.run(["schedule", &path, "--label", "role=db", "--validate"]).code(64);
    env.run(["schedule", &path, "--validate"]).code(0).silent();
    for (value, says) in [
        ("\"db\"", how),
        ("[\"role=db\", \"zone a\"]", how),
        ("true", "found true or false; write \"role=db\", [\"role=db\", \"zone=a\"] or \"each\""),
    ] {
        env.jobs(&JOBS.replace("\"role=db\"", value));
        env.run(["schedule", &path, "--validate"]).code(78).one_line(&["line 6: job \"dump\": `on`: ", says]);
    }
}
