//! `lock`, `limit` and `concurrency` of commands.

use super::{event, printed};
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;

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
