//! `cotter schedule` and `cotter jobs`, from outside.

mod chains;
mod check;
mod crontab;
mod day_two;
mod diff;
mod each;
mod failures;
mod file;
mod follow_up;
mod histories;
mod labels;
mod leased;
mod limits;
mod log;
pub(crate) mod metrics;
mod one_shots;
mod operators;
mod orphans;
mod replicas;
mod requests;
mod running;
mod slots;
mod stop;
mod stopping;
mod systemd;

use crate::env::{Running, TestEnv};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;

impl TestEnv {
    /// A file of jobs for the group `g`.
    pub(crate) fn jobs(&self, text: &str) -> PathBuf {
        let path = self.path("jobs.toml");
        fs::write(&path, format!("group = \"g\"\n{text}")).unwrap();
        path
    }

    /// A scheduler that runs these, as JSON.
    fn schedule(&self, text: &str) -> Running {
        let path = self.jobs(text);
        self.start(["--json", "schedule", path.to_str().unwrap()])
    }
}

/// A job that is due now, once, and runs this script.
pub(crate) fn once(name: &str, script: &str) -> String {
    format!(
        "[job.{name}]\nonce_at = 2020-01-01T00:00:00Z\nlate_within = \"87600h\"\nmisfire_window = \"87600h\"\nshell = '''{script}'''\n"
    )
}

/// In the store of the environment.
#[track_caller]
pub(crate) fn a_job_runs_and_is_recorded(env: &TestEnv) {
    let jobs = env.jobs("[job.tidy]\nfixed_rate = \"1s\"\nshell = \"echo done\"\n");
    let jobs = jobs.to_str().unwrap();
    let schedule = env.start(["schedule", jobs]);
    let history = ["jobs", "--file", jobs, "--json", "history", "tidy"];
    until("two runs are recorded", || env.run(history).stdout.lines().count() >= 2);
    schedule.signal(Signal::TERM);
    schedule.end().code(0);
}

/// The next event of this kind.
#[track_caller]
fn event(run: &mut Running, kind: &str) -> serde_json::Value {
    loop {
        let line = run.line();
        let event: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
        if event["event"] == kind {
            return event;
        }
    }
}

/// The next line that a command prints on its standard output.
#[track_caller]
fn printed(run: &mut Running) -> String {
    loop {
        let output = event(run, "output");
        if output["stream"] == "stdout" {
            return output["line"].as_str().expect("a line").to_owned();
        }
    }
}
