//! `lock`, `limit` and `concurrency` of commands.

use super::metrics::{AT, address, get, value};
use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn a_slot_replaces_a_command_that_is_still_running() {
    let env = TestEnv::new();
    let text = "[job.a]\nfixed_rate = \"1s\"\nconcurrency = \"replace\"\nshell = \"echo $COTTER_SLOT; exec sleep 60\"\n\
                on_failure = \"echo wrong\"\n";
    let mut run = env.schedule(text);
    let first = printed(&mut run);
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["outcome"], &ended["slot"]), (&"replaced".into(), &first.as_str().into()));
    assert_ne!(printed(&mut run), first);
    run.signal(Signal::TERM);
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_command_waits_for_the_lock_and_the_limit_of_its_job() {
    let env = TestEnv::new();
    let text = "[job.a]\nfixed_rate = \"1h\"\nlock = \"shared\"\nlimit = { name = \"few\", of = 1 }\nshell = \"echo a\"\n\
                [job.b]\nfixed_rate = \"1h\"\nlimit = { name = \"few\", of = 1 }\nshell = \"echo b\"\n";
    let held = env.start(["run", "shared", "--", "sh", "-c", "echo held >&2; exec sleep 60"]);
    until("it is held", || env.run(["show", "-q", "shared"]).code == 0);
    let mut run = env.schedule(text);
    assert_eq!(printed(&mut run), "b", "the other one waits without a place");
    event(&mut run, "ended");
    held.signal(Signal::TERM);
    assert_eq!(printed(&mut run), "a");
    event(&mut run, "ended");
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_job_that_waits_for_others_says_for_what_and_for_whom() {
    let env = TestEnv::new();
    let text = "[job.a]\nfixed_rate = \"200ms\"\nlock = \"shared\"\nshell = \"echo a\"\n\
                [job.b]\nfixed_rate = \"200ms\"\nlimit = { name = \"few\", of = 1 }\nshell = \"echo b\"\n\
                [job.c]\nfixed_rate = \"200ms\"\nlock = \"free\"\nlimit = { name = \"few\", of = 1 }\nshell = \"echo c\"\n\
                [job.d]\nfixed_rate = \"200ms\"\nlock = \"shared\"\nretries = 1000\nretry_delay = \"100ms\"\nshell = \"exit 1\"\n";
    let path = env.jobs(text);
    let mut run = env.start([&["--json", "schedule", path.to_str().unwrap()][..], &AT].concat());
    let at = address(&mut run);
    until("all have run", || env.run(["jobs", "--group", "g", "list"]).stdout.matches(" ok").count() == 3);
    let (shared, _) = env.hold(&["--label", "import"], "shared");
    let (few, _) = env.hold(&["--limit", "1", "--label", "report"], "few");
    let mut told = [0; 4].map(|_| event(&mut run, "waiting"));
    told.sort_by_key(|event| event["job"].to_string());
    const EXPECTED: [(&str, &str); 4] =
        [("shared", "import"), ("few", "report"), ("few", "report"), ("shared", "import")];
    for (event, (lock, by)) in told.iter().zip(EXPECTED) {
        assert_eq!(event["lock"], lock);
        assert!(event["held_by"].as_str().unwrap().ends_with(&format!("({by})")), "{event}");
    }
    let listed = |words: &[&str]| env.run([&["jobs", "--group", "g"], words].concat()).code(0).stdout;
    until("all of them are listed", || listed(&["list"]).matches("waits for ").count() == 4);
    let wide = listed(&["list", "--wide"]);
    let row = |job: &str| wide.lines().find(|line| line.starts_with(job)).unwrap().to_owned();
    assert!(row("a ").contains("waits for shared for ") && row("a ").contains(", held by "), "{wide}");
    assert!(row("d ").contains("waits for shared for "), "a retry that waits says so too: {wide}");
    assert!(row("b ").contains("waits for few for ") && row("c ").contains("waits for few for "), "{wide}");
    let sample = "cotter_job_waiting_seconds{group=\"g\",job=\"a\"}";
    until("the figure is there", || value(&get(&at, "/metrics"), sample) > Some(5.0));
    let waits = |job: usize| {
        let jobs: Vec<Value> =
            listed(&["--json", "list"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        jobs[job]["waits"].clone()
    };
    // What is over is not listed any more, and the other one still waits.
    shared.let_go().code(0);
    until("it runs again", || waits(0) == Value::Array(Vec::new()));
    assert_eq!((&waits(1)[0]["lock"], &waits(2)[0]["lock"]), (&"few".into(), &"few".into()));
    few.let_go().code(0);
    until("nobody waits", || [1, 2].iter().all(|job| waits(*job) == Value::Array(Vec::new())));
    run.signal(Signal::TERM);
    run.end().code(0);
}
