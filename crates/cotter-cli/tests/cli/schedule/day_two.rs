//! The questions of somebody who comes to work in the morning: each is one command.

use super::histories::asked;
use super::once;
use crate::env::{Output, Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use rustix::system::uname;
use serde_json::Value;

/// A group whose last night went wrong in several ways.
struct Night {
    env: TestEnv,
    run: Running,
}

impl Night {
    fn start() -> Self {
        let env = TestEnv::new();
        let defaults = format!("[defaults]\ncwd = \"{}\"\n", env.path("").display());
        let text = [
            defaults,
            // Failed, and succeeded when it was tried again; both long after its slot.
            once("import", "test -e tried || { touch tried; echo no route to db-1; exit 2; }"),
            "retries = 1\nretry_delay = \"1ms\"\n".to_owned(),
            // Does not end, and another one waits for its lock.
            once("backup", "exec sleep 600"),
            "lock = \"db\"\n".to_owned(),
            asked("vacuum", "true"),
            "lock = \"db\"\n".to_owned(),
            asked("report", "echo day=$COTTER_ARG_DAY; test -n \"$COTTER_ARG_DAY\" || exit 4"),
            "[job.tidy]\ncron = \"0 0 3 1 1 ? 2099\"\ncommand = [\"true\"]\n".to_owned(),
        ]
        .concat();
        let run = env.schedule(&text);
        let night = Self { env, run };
        until("the import has ended twice", || night.json(&["history"]).len() == 2);
        until("the backup runs", || night.job("backup")["started"].is_string());
        until("all are known", || night.json(&["list"]).len() == 5);
        night
    }

    fn jobs(&self, words: &[&str]) -> Output {
        self.env.run([&["jobs", "--group", "g"], words].concat())
    }

    fn json(&self, words: &[&str]) -> Vec<Value> {
        self.env.run([&["--json", "jobs", "--group", "g"], words].concat()).code(0).json()
    }

    fn job(&self, name: &str) -> Value {
        self.json(&["list"]).into_iter().find(|job| job["job"] == name).unwrap_or_default()
    }

    /// The line of a job in a table.
    fn row(&self, words: &[&str], job: &str) -> String {
        let table = self.jobs(words).code(0).stdout;
        let row = table.lines().find(|line| line.starts_with(&format!("{job} ")));
        row.unwrap_or_else(|| panic!("no {job}: {table}")).to_owned()
    }

    fn stop(self) {
        self.run.signal(Signal::KILL);
    }
}

fn host() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

#[test]
fn what_failed_last_night_why_and_where() {
    let night = Night::start();
    night.jobs(&["trigger", "report", "--wait"]).code(1);
    let table = night.jobs(&["failed"]).code(0).silent().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 5, "those two, and not the backup, which has not ended: {table}");
    assert!(lines[1].starts_with("import  1 of 2  20") && lines[1].contains(&host()), "{table}");
    assert!(lines[1].ends_with("  failed: exit code 2") && lines[2] == "  no route to db-1", "{table}");
    assert!(lines[3].starts_with("report  1 of 1  20") && lines[3].contains(&host()), "{table}");
    assert!(lines[3].ends_with("  failed: exit code 4") && lines[4] == "  day=", "{table}");
    night.stop();
}

#[test]
fn when_the_next_run_is() {
    let night = Night::start();
    let row = night.row(&["list"], "tidy");
    assert!(row.starts_with("tidy    waiting  ") && row.contains("  in "), "{row}");
    assert!(night.row(&["list", "--wide"], "tidy").contains("  2099-01-01T03:00:00Z  "));
    night.stop();
}

#[test]
fn run_it_again_with_arguments() {
    let night = Night::start();
    night.jobs(&["trigger", "report", "--wait"]).code(1);
    night.jobs(&["trigger", "report", "DAY=2031-05-02", "--wait"]).code(0);
    assert_eq!(night.job("report")["last_outcomes"], serde_json::json!(["failed", "ok"]));
    night.stop();
}

#[test]
fn what_is_stuck_who_holds_it_and_for_how_long() {
    let night = Night::start();
    night.jobs(&["trigger", "vacuum"]).code(0);
    until("it has waited for long", || !night.job("vacuum")["waits"].as_array().unwrap().is_empty());
    let table = night.jobs(&["list"]).code(0).silent().stdout;
    let state = |job: &str| table.lines().find(|line| line.starts_with(job)).unwrap_or_default();
    let (runs, waits) = (state("backup "), state("vacuum "));
    let is_told = runs.contains(&format!("  running on {} for ", host()));
    assert!(is_told, "violation[unseen]: where the backup runs, and for how long: {table}");
    assert!(waits.contains("  waits for db for ") && waits.contains(", held by "), "{table}");
    night.stop();
}

#[test]
fn end_a_run_without_a_crash_on_record() {
    let night = Night::start();
    night.jobs(&["stop", "backup"]).code(0);
    let runs = night.json(&["history", "backup"]);
    assert_eq!((runs.len(), &runs[0]["outcome"]), (1, &"stopped".into()));
    assert!(runs[0]["reason"].as_str().is_some_and(|by| by.ends_with(&format!(" on {}", host()))));
    night.stop();
}

/// From the history, which is that of all hosts, and goes on when a scheduler is restarted.
#[test]
fn what_was_late_within_a_week() {
    let night = Night::start();
    night.jobs(&["trigger", "report", "--wait"]).code(1);
    night.run.signal(Signal::TERM);
    let late = ["history", "--since", "7d", "--late", "1h"];
    let table = night.jobs(&late).code(0).silent().stdout;
    let lines: Vec<_> = table.lines().collect();
    // Not the report, which began as soon as it was asked for, and not the second attempt of the import.
    demand(lines.len() == 2, Kind::Untrue, format!("the first attempt of the import was late: {table}"));
    assert!(lines[0].starts_with("JOB     STARTED  ") && lines[0].contains("  BEGAN  "), "{table}");
    assert!(lines[1].starts_with("import  20") && lines[1].contains(" d "), "{table}");
    let objects = night.json(&late);
    let told = (objects.len(), objects[0]["late_ms"].as_u64() > Some(365 * 86_400_000));
    demand(told == (1, true), Kind::Untrue, format!("{objects:?}"));
    let again = &night.json(&["history", "import"])[1];
    assert_eq!((&again["attempt"], &again["late_ms"]), (&2.into(), &Value::Null));
    night.stop();
}

#[test]
fn who_has_paused_what_since_when_until_when_and_why() {
    let night = Night::start();
    night.jobs(&["pause", "tidy", "--for", "2h", "--reason", "repairs"]).code(0);
    night.jobs(&["pause", "--all", "--reason", "the database moves"]).code(0);
    let row = night.row(&["list"], "tidy");
    assert!(row.contains("  paused by ") && row.contains(&format!(" on {}", host())), "{row}");
    night.jobs(&["resume", "tidy"]).code(0);
    night.jobs(&["resume", "--all"]).code(0);
    assert!(night.row(&["list"], "tidy").contains("  waiting  "));
    let log = night.jobs(&["log"]).code(0).silent().stdout;
    let lines: Vec<_> = log.lines().collect();
    assert!(lines[1].starts_with("20") && lines[1].contains(&format!(" on {}  tidy", host())), "{log}");
    assert!(lines[1].ends_with("  pause"), "{log}");
    assert!(lines[2].starts_with("  until 20") && lines[2].ends_with("Z: repairs"), "{log}");
    assert!(lines[3].ends_with("  (all)  pause") && lines[4] == "  the database moves", "{log}");
    assert!(lines[5].ends_with("  tidy   resume") && lines[6].ends_with("  (all)  resume"), "{log}");
    night.stop();
}

/// The tables of fields are what scripts are written by.
#[test]
fn the_fields_of_json_are_those_of_the_documentation() {
    let night = Night::start();
    night.jobs(&["pause", "tidy"]).code(0);
    night.jobs(&["trigger", "report", "--wait"]).code(1);
    let page = include_str!("../../../../../docs/command-line.md");
    for command in ["list", "history", "failed", "log", "hosts", "check"] {
        let table = page.lines().find(|line| line.starts_with(&format!("| `jobs {command}`"))).unwrap();
        let output = night.env.run(["--json", "jobs", "--group", "g", command]);
        let objects = output.json();
        assert!(!objects.is_empty(), "{command}: {output:?}");
        for (field, value) in objects.iter().flat_map(|object| object.as_object().unwrap()) {
            let is_there = table.contains(&format!("`{field}`"));
            assert!(is_there, "violation[unseen]: `{field}` of `jobs {command}` is not documented");
            assert!(field != "token" || value.is_string() || value.is_null(), "{command}: {value}");
            assert!(!field.ends_with("_ms") || value.is_u64() || value.is_null(), "{command}: {field}");
        }
    }
    night.stop();
}
