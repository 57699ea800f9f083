//! `cotter jobs history` of several jobs.

use super::event;
use crate::env::{Output, Running, TestEnv};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A scheduler whose jobs run when they are asked to.
pub(super) struct Asked {
    pub(super) env: TestEnv,
    run: Running,
}

/// A job that runs this script when it is asked to.
pub(super) fn asked(name: &str, script: &str) -> String {
    format!("[job.{name}]\non_demand = true\nshell = '''{script}'''\n")
}

impl Asked {
    pub(super) fn start(text: &str) -> Self {
        Self::on(TestEnv::new(), text)
    }

    pub(super) fn on(env: TestEnv, text: &str) -> Self {
        let run = env.schedule(text);
        Self { env, run }
    }

    pub(super) fn jobs(&self, words: &[&str]) -> Output {
        self.env.run([&["jobs", "--group", "g"], words].concat())
    }

    /// One object per run or job.
    pub(super) fn json(&self, words: &[&str]) -> Vec<Value> {
        self.env.run([&["--json", "jobs", "--group", "g"], words].concat()).code(0).json()
    }

    /// Runs these one after the other, until each is in the history.
    pub(super) fn run(&mut self, jobs: &[&str]) {
        for job in jobs {
            let newest = |json: Vec<Value>| json.last().map(|run| run["token"].clone());
            until("it is known", || self.jobs(&["history", job]).code == 0);
            let before = newest(self.json(&["history", job]));
            self.jobs(&["trigger", job]).code(0);
            event(&mut self.run, "ended");
            // It is told before it is written down.
            until("it is in the history", || newest(self.json(&["history", job])) != before);
        }
    }

    pub(super) fn stop(self) {
        self.run.signal(Signal::TERM);
        self.run.end().code(0);
    }
}

fn column(runs: &[Value], name: &str) -> Vec<String> {
    runs.iter().map(|run| run[name].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_runs_of_all_jobs_are_one_list_ordered_by_their_start() {
    let text = [asked("orders-clean-up", "echo tidy"), asked("report", "echo gone; exit 4")].concat();
    let mut group = Asked::start(&text);
    assert_eq!(group.jobs(&["history"]).code(0).silent().stdout, "", "nothing has run yet");
    group.run(&["report", "orders-clean-up", "report"]);
    let runs = group.json(&["history"]);
    assert_eq!(column(&runs, "job"), ["report", "orders-clean-up", "report"]);
    assert!(column(&runs, "started").is_sorted(), "{runs:?}");
    let table = group.jobs(&["history"]).code(0).silent().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("JOB              STARTED  ") && lines.len() == 4, "{table}");
    assert!(lines[1].starts_with("report  ") && lines[1].ends_with("  failed: exit code 4"), "{table}");
    assert!(lines[2].starts_with("orders-clean-up  ") && lines[2].ends_with("  ok"), "{table}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{table}");
    let wide = group.jobs(&["history", "--wide"]).code(0).stdout;
    assert!(wide.starts_with("JOB              SLOT  ") && wide.contains("(triggered)"), "{wide}");
    let both = group.jobs(&["history", "report", "orders-clean-up", "report"]).code(0).stdout;
    assert_eq!(both, table, "each once");
    let one = group.jobs(&["history", "report", "report"]).code(0).stdout;
    assert!(one.starts_with("SLOT  ") && one.lines().count() == 3, "{one}");
    let printed = group.jobs(&["history", "--output"]).code(0).stdout;
    assert!(printed.contains("\nreport, 20") && printed.contains(", attempt 1:\n  gone\n"), "{printed}");
    group.jobs(&["history", "report", "x"]).code(64).one_line(&["has no job \"x\""]);
    group.stop();
}

#[test]
fn only_what_is_shown_counts_for_the_number_of_runs() {
    let mut group = Asked::start(&[asked("a", "exit 4"), asked("b", "true")].concat());
    group.run(&["a", "a", "b", "b"]);
    let shown = |words: &[&str]| {
        let runs = group.json(&[&["history"], words].concat());
        (column(&runs, "job").join(" "), column(&runs, "outcome").join(" "))
    };
    let told = |job: &str, outcome: &str| (job.to_owned(), outcome.to_owned());
    for options in [&["--failed", "-n", "1"][..], &["--outcome", "failed", "-n1"]] {
        let found = shown(options);
        assert_eq!(found, told("a", "failed"), "violation[untrue]: {options:?} hides what has failed");
    }
    assert_eq!(shown(&["-n", "3"]), told("a b b", "failed ok ok"));
    assert_eq!(shown(&["--outcome", "ok", "--outcome", "timed out"]), told("b b", "ok ok"));
    assert_eq!(shown(&["--outcome", "crashed"]), told("", ""));
    let all = ["ok", "failed", "panicked", "timed out", "lost", "replaced", "stopped", "crashed"].join(", ");
    let refused = group.jobs(&["history", "--outcome", "oops"]).code(64);
    assert!(refused.stderr.contains("oops") && refused.stderr.contains(&all), "{refused:?}");
    group.stop();
}

/// A run that began yesterday and failed today has failed today.
#[test]
fn a_run_counts_when_it_ends() {
    let mut group = Asked::start(&[asked("a", "sleep 0.05"), asked("b", "sleep 0.05; exit 1")].concat());
    group.run(&["a", "b"]);
    let runs = group.json(&["history"]);
    let ended = column(&runs, "ended");
    let since = |when: &str| column(&group.json(&["history", "--since", when]), "job");
    assert_eq!(since(&ended[0]), ["a", "b"], "violation[untrue]: by the end");
    assert_eq!(since(&ended[1]), ["b"], "violation[untrue]: by the end");
    assert_eq!(since("1h"), ["a", "b"]);
    let later = group.jobs(&["history", "--since", "2099-01-01T00:00:00Z"]).code(0).silent();
    assert_eq!(later.stdout, "");
    let failed = group.json(&["failed", "--since", &ended[1]]);
    assert_eq!(column(&failed, "job"), ["b"]);
    for (wrong, says) in [("12", "write 12s"), ("2031-05-02", "2031-05-02T22:00:00Z")] {
        let refused = group.jobs(&["history", "--since", wrong]).code(64);
        assert!(refused.stderr.contains(says), "{refused:?}");
    }
    group.stop();
}

#[test]
fn a_history_that_is_cut_says_where_it_begins() {
    let text = ["history = 3\n".to_owned(), asked("a", "exit 1"), asked("b", "true")].concat();
    let mut group = Asked::start(&text);
    group.run(&["a", "a", "a", "b"]);
    for words in [&["history", "--since", "1h"][..], &["failed"]] {
        group.jobs(words).code(0).silent();
    }
    assert!(group.json(&["failed"])[0]["kept_from"].is_null());
    group.run(&["a"]);
    let runs = group.json(&["history", "a"]);
    assert_eq!(runs.len(), 3);
    let first = runs[0]["started"].as_str().unwrap();
    let begins = format!("history of `a` begins at {}", first.split('.').next().unwrap());
    for words in [&["history", "--since", "1h"][..], &["failed"], &["--json", "failed"]] {
        let output = group.jobs(words).code(0);
        let is_told = output.stderr.contains(&begins);
        assert!(is_told, "violation[untrue]: {words:?} takes the limit for the end: {output:?}");
        output.one_line(&["runs before that are not kept"]);
    }
    let failed = (group.jobs(&["failed"]).stdout, &group.json(&["failed"])[0]["kept_from"].clone());
    assert!(failed.0.contains("  3 of last 3  ") && failed.1 == first, "{failed:?}");
    group.jobs(&["history"]).code(0).silent();
    let last = runs[2]["started"].as_str().unwrap();
    group.jobs(&["history", "--since", last]).code(0).silent();
    group.stop();
}

/// Where others can read the store, what a command prints may have no place in it.
#[test]
fn output_can_be_kept_out_of_the_store() {
    let env = TestEnv::new();
    let told = env.path("told");
    let quiet = asked("quiet", "echo canary-$((40 + 2)); exit 1");
    let tell = format!("keep_output = false\non_failure = 'echo $COTTER_OUTPUT > {}'\n", told.display());
    let locks = env.path("locks");
    let mut run = Asked::on(env, &[asked("loud", "echo canary-$((40 + 1)); exit 1"), quiet, tell].concat());
    run.run(&["loud", "quiet"]);
    let runs = run.json(&["history"]);
    let outputs: Vec<_> = runs.iter().map(|entry| (&entry["job"], entry["output"].as_str())).collect();
    assert_eq!(outputs, [(&"loud".into(), Some("canary-41\n")), (&"quiet".into(), None)], "{runs:?}");
    until("it is told", || fs::read_to_string(&told).is_ok_and(|text| text == "canary-42\n"));
    let stored = |text: &str| {
        let found = Command::new("grep").args(["-r", "-q", text]).arg(&locks).status().unwrap();
        found.success()
    };
    assert_eq!((stored("canary-41"), stored("canary-42")), (true, false));
    run.stop();
}
