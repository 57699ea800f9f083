//! `cotter jobs log`.

use crate::env::TestEnv;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn it_tells_who_did_what() {
    let env = TestEnv::new();
    let run = env.schedule(
        "[job.a]\non_demand = true\nshell = \"true\"\n[job.b]\non_demand = true\nshell = \"true\"\n",
    );
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat());
    until("both are known", || jobs(&["list"]).stdout.matches("waiting").count() == 2);
    assert_eq!(jobs(&["log"]).code(0).silent().stdout, "");
    jobs(&["pause", "a", "--reason", "repairs"]).code(0);
    jobs(&["trigger", "b", "ORDER=17"]).code(0);
    jobs(&["resume", "--all"]).code(0);
    jobs(&["pause", "--all"]).code(0);
    let table = jobs(&["log"]).code(0).silent().stdout;
    let lines: Vec<_> = table.lines().collect();
    assert!(lines.len() == 6 && lines[0].starts_with("TIME                  BY "), "{table}");
    assert!(lines[1].ends_with("  a      pause") && lines[2] == "  repairs", "{table}");
    assert!(lines[3].ends_with("  b      trigger") && lines[4] == "  ORDER=17", "{table}");
    assert!(lines[5].ends_with("  (all)  pause"), "{table}");
    let objects = jobs(&["log", "a", "-n", "2", "--json"]).code(0).json();
    let told: Vec<_> = objects.iter().map(|one| (&one["job"], &one["action"], &one["about"])).collect();
    let (a, pause) = (Value::from("a"), Value::from("pause"));
    let wanted = [(&a, &pause, &"repairs".into()), (&Value::Null, &pause, &Value::Null)];
    demand(told == wanted, Kind::Untrue, format!("{objects:?}"));
    assert!(objects[0]["by"].as_str().is_some_and(|by| by.contains(" on ")), "{objects:?}");
    assert_eq!(jobs(&["log", "-n", "1"]).stdout.lines().count(), 2);
    run.signal(Signal::TERM);
    run.end().code(0);
}
