//! Jobs that run after others.

use super::{event, once, printed};
use crate::env::TestEnv;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
fn it_runs_once_all_of_them_have_succeeded_and_is_listed_as_such() {
    let env = TestEnv::new();
    let mail = "[job.mail]\nafter = [\"a\", \"c\"]\nshell = \"echo mail\"\n";
    let demanded = "[job.c]\non_demand = true\nshell = \"echo c\"\n";
    let text = format!("{}{demanded}{mail}", once("a", "echo a"));
    let mut run = env.schedule(&text);
    assert_eq!(printed(&mut run), "a");
    let jobs = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat()).code(0);
    until("all are known", || jobs(&["list"]).stdout.lines().count() == 4);
    jobs(&["trigger", "c"]);
    let lines = [printed(&mut run), printed(&mut run)];
    demand(lines == ["c", "mail"], Kind::Untrue, format!("{lines:?}"));
    while event(&mut run, "ended")["job"] != "mail" {}
    assert!(jobs(&["list", "--wide"]).stdout.contains("  after a, c\n"));
    let listed = jobs(&["list", "--json"]).json();
    assert_eq!((&listed[2]["job"], &listed[2]["after"]), (&"mail".into(), &serde_json::json!(["a", "c"])));
    run.signal(Signal::TERM);
    run.end().code(0);
    // Another one has nothing to run it for.
    let mut run = env.schedule(&text);
    jobs(&["trigger", "c"]);
    jobs(&["trigger", "mail", "A=1"]);
    let mut lines = [printed(&mut run), printed(&mut run)];
    lines.sort();
    demand(lines == ["c", "mail"], Kind::SlotTwice, format!("{lines:?}"));
    run.signal(Signal::TERM);
    let all = run.end().code(0).stdout;
    assert_eq!(all.matches("\"event\":\"started\"").count(), 2, "{all}");
}

#[test]
fn a_chain_that_cannot_go_on_is_a_mistake_with_its_line() {
    let env = TestEnv::new();
    let text = "[job.a]\nafter = \"c\"\nshell = \"x\"\n[job.b]\nafter = [\"a\", \"typo\"]\nshell = \"x\"\n\
        [job.c]\nafter = [\"a\"]\nshell = \"x\"\n[job.d]\nafter = \"d\"\nshell = \"x\"\n[job.e]\nafter = []\nshell = \"x\"\n\
        [job.f]\nafter = \"g\"\nshell = \"x\"\n[job.g]\non_demand = true\non = \"each\"\nshell = \"x\"\n\
        [job.h]\nafter = \"g@web-1\"\nshell = \"x\"\n[job.i]\nafter = \"g\"\ncron = \"0 0 0 * * ?\"\nshell = \"x\"\n";
    let path = env.jobs(text);
    let output = env.run(["schedule", path.to_str().unwrap(), "--validate"]).code(78);
    let lines: Vec<_> = output.stderr.lines().collect();
    let wanted = [
        "line 2: job \"a\": `after`: it would run after itself",
        "line 5: job \"b\": `after`: there is no job \"typo\" in this file",
        "line 8: job \"c\": `after`: it would run after itself",
        "line 11: job \"d\": it cannot run after itself",
        "line 15: job \"e\": `after`: the list is empty",
        "line 17: job \"f\": `after`: each host has \"g\" by itself",
        "line 27: job \"i\": `after`: each host has \"g\" by itself",
        "line 29: job \"i\": only one of `cron`, ",
    ];
    assert!(lines.iter().zip(wanted).all(|(line, says)| line.contains(says)), "{output:?}");
    assert_eq!(lines.len(), wanted.len(), "{output:?}");
}
