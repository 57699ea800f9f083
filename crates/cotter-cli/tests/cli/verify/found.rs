//! Clients that are broken in known ways, and one that is right.

use super::{PAGE, blocks, not_void, verdict, verify};
use crate::env::TestEnv;
use serde_json::Value;
use std::fs;

const LOCK: &str = include_str!("lock.py");

/// The environment, and the words that make verify try this client.
fn client(way: &str) -> (TestEnv, String) {
    let env = TestEnv::new();
    fs::write(env.path("lock.py"), LOCK).unwrap();
    let folder = env.path("locks");
    let command = format!("exec python3 {} {} {way}", env.path("lock.py").display(), folder.display());
    (env, command)
}

#[track_caller]
fn found(way: &str, options: &[&str], due: &[&str]) -> Value {
    let (env, command) = client(way);
    let run = || verify(&env, &[&["--json", "--client", &command], options].concat());
    super::found(run, &due.iter().copied().collect())
}

#[test]
fn a_right_lock_in_another_language_passes() {
    let (env, command) = client("right");
    let output = not_void(&env, &["--json", "--client", &command]).code(0).silent();
    let verdict = verdict(&output);
    assert_eq!((&verdict["outcome"], &verdict["tokens"]), (&"passed".into(), &true.into()), "{output:?}");
    assert!(verdict["what"].as_str().unwrap().starts_with("the client `exec python3 "), "{output:?}");
}

#[test]
fn the_client_of_the_page_passes() {
    let [script] = blocks(PAGE, "python")[..] else { panic!("one client is on the page") };
    let env = TestEnv::new();
    let here = script.replace("/run/locks", &env.path("locks").display().to_string());
    assert_ne!(here, script);
    fs::write(env.path("client.py"), here).unwrap();
    let command = format!("exec python3 {}", env.path("client.py").display());
    let output = not_void(&env, &["--client", &command]).code(0).silent();
    assert!(output.stdout.contains("none were told: not checked"), "{output:?}");
}

/// A holder that was paused gives back the lock of the next one.
#[test]
fn a_release_without_a_check_of_the_owner_is_found() {
    let verdict = found("no-owner-check", &["--names", "1"], &["overlap"]);
    assert!(verdict["paused_holders"].as_u64().unwrap() > 0, "{verdict}");
}

#[test]
fn a_lease_by_a_clock_that_stands_still_during_a_pause_is_found() {
    let verdict = found("own-clock", &[], &["overlap-after-pause"]);
    let message = verdict["violations"][0]["message"].as_str().unwrap();
    assert!(message.contains(" had been paused for "), "{message}");
}

#[test]
fn no_lock_at_all_is_found() {
    let verdict = found("no-lock", &["--no-faults"], &["overlap"]);
    assert!(verdict["violations"].as_array().unwrap().len() > 10, "{verdict}");
    assert_eq!(verdict["tokens"], false, "{verdict}");
}

/// A semaphore of three instead of two; the history says that there are two, so that it is judged again to the same.
#[test]
fn a_permit_too_many_is_found() {
    let (env, _) = client("right");
    let history = env.path("h.jsonl").display().to_string();
    let options = ["--no-faults", "--permits", "2", "--names", "1", "--history", &history];
    let (_client, command) = client("one-too-many");
    let run = || verify(&env, &[&["--json", "--client", &command], &options[..]].concat());
    let verdict = super::found(run, &["overlap"].into());
    let violation = &verdict["violations"][0];
    assert_eq!(violation["processes"].as_array().unwrap().len(), 3, "{violation}");
    assert!(violation["message"].as_str().unwrap().contains("one of its 2 permits"), "{violation}");
    let again = env.run(["verify", "check", &history, "--json"]).code(1).silent();
    assert_eq!(super::verdict(&again)["violations"], verdict["violations"]);
}

#[test]
fn a_right_semaphore_in_another_language_passes() {
    let (env, command) = client("right");
    let output = not_void(&env, &["--permits", "2", "--names", "1", "--client", &command]).code(0).silent();
    assert!(output.stdout.contains(", with 2 permits\n"), "{output:?}");
}

#[test]
fn a_token_that_is_given_twice_is_found() {
    found("same-token", &["--no-faults"], &["repeated-token"]);
}

#[test]
fn a_lock_that_is_never_free_again_is_found() {
    let verdict = found(
        "never-free",
        &["--no-faults", "--patience", "1s", "--min-contended", "0"],
        &["idle-waiter", "left-behind"],
    );
    assert!(verdict["acquired"].as_u64().unwrap() < 3, "{verdict}");
}

/// What a client says is told, where it is not a line of the protocol.
#[test]
fn a_client_that_does_not_keep_to_the_protocol_is_refused() {
    let env = TestEnv::new();
    for (command, code, says) in [
        ("echo hello", 76, "it says \"hello\": a line is `acquired"),
        ("read line; echo released", 76, "`released` instead of `acquired` or `failed`"),
        ("exit 3", 3, "a process ended before it had acquired anything"),
        ("nonsuch-program", 127, "a process ended before it had acquired anything"),
    ] {
        let output = verify(&env, &["--client", command]).code(code);
        assert!(output.stderr.contains(says), "{command}: {output:?}");
    }
}
