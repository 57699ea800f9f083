//! `cotter` as the first process of a container, and where host names lead elsewhere.

mod one_name;

use crate::env::{Output, Running, TestEnv};
use cotter_testkit::timing::Stopwatch;
use std::path::Path;
use std::time::Duration;

/// Runs a shell script as the first process of a container, which was brought in from outside: its session and its group
/// have no number there. `$0` is `cotter`.
fn in_a_container(env: &TestEnv, script: &str) -> Output {
    let mut command = env.anywhere(Path::new("unshare"));
    command.args([
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "sh",
        "-c",
        script,
    ]);
    command.arg(env!("CARGO_BIN_EXE_cotter")).env("COTTER_URL", env.url());
    let output = Running::start(&mut command).end();
    assert!(!output.stderr.starts_with("unshare: "), "no container can be made here: {}", output.stderr);
    output
}

/// It gets all orphans, also those that were there before it, and buries them; the command's own are stopped.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn as_the_first_process_it_buries_orphans() {
    let env = TestEnv::new();
    let script = "(sleep 0.2 &); exec \"$0\" run a -- sh -c '\
                  (setsid sleep 100 &); sleep 1; echo pid=$PPID; ps -eo stat= | grep -c Z; exit 7'";
    let output = in_a_container(&env, script).code(7);
    assert!(output.stdout.ends_with("\n0\n"), "nobody is left unburied: {output:?}");
    assert!(output.stderr.contains("left a process running"), "{output:?}");
}

/// The kernel gives it only the signals that it listens for, so it would have to be killed.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn as_the_first_process_it_hears_signals_while_it_waits() {
    let env = TestEnv::new();
    env.run(["latch", "l", "create", "1"]).code(0);
    for (words, signal, code) in [
        ("latch l wait", "TERM", 143),
        ("elect --observe e", "INT", 130),
        ("jobs --group g list --watch", "TERM", 143),
    ] {
        // A signal that comes before it listens is lost.
        let script = format!("(while sleep 0.1; do kill -{signal} 1; done) & exec \"$0\" {words}");
        in_a_container(&env, &script).code(code);
    }
    // A server that accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", silent.local_addr().unwrap());
    let script = format!("(while sleep 0.1; do kill -TERM 1; done) & exec \"$0\" --url {url} list");
    in_a_container(&env, &script).code(143);
}

/// Those who hear no TERM are killed, in the session of `cotter` and in another.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_session_without_a_number_is_no_session_of_the_command() {
    let env = TestEnv::new();
    let deaf = "trap \"\" TERM; for i in $(seq 600); do sleep 0.1; done";
    let script = format!(
        "ps -o sid= -o pgid= -p $$; \
         \"$0\" run --grace 300ms a -- sh -c '(setsid sh -c \"$1\" &); (sh -c \"$1\" &); exit 7' - '{deaf}'; \
         echo code=$?; left=$(ps -eo comm=); echo \"$left\" | grep -cx sh"
    );
    let output = in_a_container(&env, &script).code(0);
    let lines: Vec<_> = output.stdout.split_whitespace().collect();
    assert_eq!(lines, ["0", "0", "code=7", "1"], "{output:?}");
    assert!(output.stderr.contains("processes running"), "{output:?}");
}

/// The command would be left without a shim, and nothing of it is started.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn without_proc_it_says_what_is_missing() {
    let env = TestEnv::new();
    let script = "mount -t tmpfs none /proc && \"$0\" run a -- echo ran";
    let output = in_a_container(&env, script).code(126);
    output.one_line(&["there is no /proc/self/exe", "mount /proc"]);
}

/// Nobody holds the lock, and it says so at once instead of waiting.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn a_full_disk_is_said_at_once() {
    let env = TestEnv::new();
    let script = "mount -t tmpfs -o size=64k none \"$COTTER_DIR\" && mkdir -m 700 \"$COTTER_DIR/l\" && \
                  head -c 100k /dev/zero >\"$COTTER_DIR/fill\" 2>/dev/null; export COTTER_URL=\"file://$COTTER_DIR/l\"; \
                  \"$0\" run a -- echo ran; echo run=$?; \"$0\" doctor >&2; echo doctor=$?";
    let script = format!("COTTER_DIR='{}'; {script}", env.path("locks").display());
    let began = Stopwatch::start();
    let output = in_a_container(&env, &script).code(0);
    assert!(output.stderr.contains("No space left on device"), "{output:?}");
    assert!(!output.stdout.contains("ran") && !output.stdout.contains("doctor=0"), "{output:?}");
    began.at_most(Duration::from_secs(10), "a full disk is said");
}

/// In containers of one image, hosts may have the same name and shells the same numbers; each of them is a party of its own. The
/// first process has no caller that would be the same the next time.
#[test]
#[ignore = "needs unprivileged namespaces"]
fn parties_of_a_latch_are_told_apart_in_containers() {
    let env = TestEnv::new();
    env.run(["latch", "l", "create", "3"]).code(0);
    let refused = in_a_container(&env, "exec \"$0\" latch l count-down").code(64);
    refused.one_line(&["its parent is process 0 or 1", "--id"]);
    let script = "\"$0\" latch l count-down; echo again; \"$0\" latch l count-down";
    let shell = format!("sh -c '{script}' \"$0\"; exit $?");
    for left in [2, 1] {
        let counted = in_a_container(&env, &shell).code(0);
        assert_eq!(
            counted.stdout,
            format!("{left} left\nagain\n{left} left\n"),
            "a shell counts once: {counted:?}"
        );
    }
}
