//! Latches from scripts.

use crate::env::TestEnv;

#[test]
fn it_opens_when_every_party_has_counted_down() {
    let env = TestEnv::new();
    let latch = |words: &[&str]| env.run([&["latch", "a"], words].concat());
    latch(&["create", "2"]).code(0).silent();
    latch(&["create", "2"]).code(0).silent();
    latch(&["create", "3"]).code(65).one_line(&["\"a\"", "for 2 parties, not 3"]);
    let waiting = env.start(["latch", "a", "wait"]);
    assert_eq!(latch(&["count-down", "--id", "x"]).code(0).silent().stdout, "1 left\n");
    assert_eq!(latch(&["count-down", "--id", "x"]).code(0).silent().stdout, "1 left\n");
    assert_eq!(latch(&["show"]).code(0).silent().stdout, "a: 1 of 2, 1 left\n  x\n");
    latch(&["wait", "-w", "20ms"]).code(75).one_line(&["a is not open", "20 ms"]);
    // Without an id it is the script that counts: all of this is one.
    let script = "for i in 1 2 3; do cotter latch a count-down; done";
    let cotter = std::path::Path::new(env!("CARGO_BIN_EXE_cotter")).parent().unwrap();
    let path = format!("{}:{}", cotter.display(), std::env::var("PATH").unwrap());
    let mut sh = env.anywhere("sh".as_ref());
    sh.args(["-c", script]).env("PATH", path).env("COTTER_URL", env.url());
    let output = crate::env::Running::start(&mut sh).end().code(0).silent();
    assert_eq!(output.stdout, "0 left\n0 left\n0 left\n");
    waiting.end().code(0).silent();
    let state = env.run(["--json", "latch", "a", "show"]).code(0).json();
    assert_eq!((&state[0]["open"], &state[0]["left"], &state[0]["of"]), (&true.into(), &0.into(), &2.into()));
    assert_eq!(state[0]["parties"].as_array().unwrap().len(), 2);
    let ended = env.run(["--json", "latch", "a", "wait"]).code(0).json();
    assert_eq!(ended[0]["state"], "open");
}

#[test]
fn deleting_it_wakes_those_who_wait() {
    let env = TestEnv::new();
    env.run(["latch", "a", "create", "2"]).code(0);
    let waiting = env.start(["latch", "a", "wait"]);
    env.run(["latch", "a", "delete"]).code(0).silent();
    waiting.end().code(1).one_line(&["\"a\"", "no latch"]);
    env.run(["latch", "a", "count-down"]).code(1).one_line(&["\"a\"", "no latch of this name"]);
    env.run(["latch", "a", "show"]).code(1).one_line(&["no latch"]);
    let shown = env.run(["--json", "latch", "a", "show"]).code(1).json();
    assert_eq!(shown[0]["exists"], false);
    env.run(["latch", "a", "create", "0"]).code(64);
    let flock = format!("flock:{}", env.path("lock").display());
    env.run(["--url", &flock, "latch", "a", "create", "1"]).code(64);
}
