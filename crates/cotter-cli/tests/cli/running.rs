//! The command runs under the lock, and `cotter` ends as it did.

use crate::env::{Running, TestEnv, is_alive};
use std::fs;

#[test]
fn the_commands_own_code_is_the_answer() {
    let env = TestEnv::new();
    for code in [0, 1, 7, 64, 74, 75, 124, 127, 255] {
        let script = format!("exit {code}");
        env.run(["run", "a", "--", "sh", "-c", &script]).code(code).silent();
    }
}

#[test]
fn a_command_that_a_signal_ended_gives_128_and_the_signal() {
    let env = TestEnv::new();
    for (signal, code) in [("HUP", 129), ("INT", 130), ("KILL", 137), ("USR1", 138), ("TERM", 143)] {
        let script = format!("kill -{signal} $$");
        env.run(["run", "a", "--", "sh", "-c", &script]).code(code).silent();
    }
}

#[test]
fn the_command_finds_the_lock_in_its_environment() {
    let env = TestEnv::new();
    let script = "echo $COTTER_NAME; echo $COTTER_TOKEN; echo $COTTER_URL; echo ${COTTER_STORE-none}";
    let output = env.run(["run", "a name", "--", "sh", "-c", script]).code(0);
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines[0], "a name");
    assert!(lines[1].parse::<u64>().unwrap() > 0);
    assert_eq!(lines[2], env.url());
    assert_eq!(lines[3], "none");
}

#[test]
fn every_run_has_a_larger_token() {
    let env = TestEnv::new();
    let token = || -> u64 {
        let output = env.run(["run", "a", "--", "sh", "-c", "echo $COTTER_TOKEN"]).code(0);
        output.stdout.trim().parse().unwrap()
    };
    let tokens: Vec<u64> = (0..5).map(|_| token()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[test]
fn arguments_and_standard_input_pass_through() {
    let env = TestEnv::new();
    let output = env.run(["run", "a", "printf", "%s|", "x y", "--", "-n", "$HOME", ""]).code(0);
    assert_eq!(output.stdout, "x y|--|-n|$HOME||");
    let mut cat = env.start(["run", "a", "cat"]);
    cat.write("one\ntwo\n");
    assert_eq!(cat.end().code(0).stdout, "one\ntwo\n");
}

#[test]
fn with_shell_the_arguments_are_one_script() {
    let env = TestEnv::new();
    let output = env.run(["run", "--shell", "a", r#"echo "x  y" | tr x z; exit 3"#]).code(3);
    assert_eq!(output.stdout, "z  y\n");
    let output =
        env.run(["run", "--shell", "a", "--", "echo", "'a  b'", "$COTTER_NAME", "&&", "echo c"]).code(0);
    assert_eq!(output.stdout, "a  b a\nc\n");
}

#[test]
fn the_command_leads_a_process_group_of_its_own() {
    let env = TestEnv::new();
    let output = env.run(["run", "a", "--", "sh", "-c", "echo $$; cut -d' ' -f5 /proc/self/stat"]).code(0);
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines[0], lines[1]);
}

#[test]
fn a_command_that_cannot_start_has_its_own_codes_and_frees_the_lock() {
    let env = TestEnv::new();
    let script = env.path("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let script = script.to_str().unwrap();
    env.run(["run", "a", "--", script]).code(126).one_line(&[script, "not executable"]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, mode).unwrap();
    env.run(["run", "a", "--", script]).code(127).one_line(&[script, "interpreter"]);
    env.run(["run", "a", "--", "/tmp"]).code(126).one_line(&["\"/tmp\"", "is a directory"]);
    env.run(["run", "a", "no-such-command"]).code(127).one_line(&["no-such-command", "not found", "PATH"]);
    env.run(["run", "a", ""]).code(127);
    env.run(["run", "-n", "a", "true"]).code(0).silent();
}

#[test]
fn what_the_command_left_running_in_its_group_is_stopped_before_the_next_one_starts() {
    let env = TestEnv::new();
    let mut first = env.start(["run", "a", "--", "sh", "-c", "sleep 600 >&- 2>&- & echo $!; read line"]);
    let left = first.ward();
    first.write("\n");
    let output = first.end().code(0).one_line(&["left a process", "stopping"]);
    assert!(!is_alive(left), "{output:?}");
}

#[test]
fn what_ignores_term_is_killed() {
    let env = TestEnv::new();
    let script = "trap '' TERM; (while :; do sleep 0.1; done) >&- 2>&- & echo $!; trap - TERM; read line";
    let mut first = env.start(["run", "--ttl", "400ms", "a", "--", "sh", "-c", script]);
    let left = first.ward();
    first.write("\n");
    first.end().code(0);
    assert!(!is_alive(left));
}

#[test]
fn verbose_says_which_store_and_why_and_quiet_says_nothing() {
    let env = TestEnv::new();
    let url = env.url();
    env.run(["-v", "run", "a", "true"]).code(0).one_line(&[
        &url,
        "from COTTER_URL",
        "this host, this user only",
    ]);
    env.run(["run", "-v", "--url", "memory:", "a", "true"]).code(0).one_line(&["memory", "from --url"]);
    let mut first =
        env.start(["-q", "run", "a", "--", "sh", "-c", "sleep 600 >&- 2>&- & echo $!; read line"]);
    first.ward();
    first.end().code(1).silent();
}

#[test]
fn max_hold_stops_the_command() {
    let env = TestEnv::new();
    let output = env.run(["run", "--max-hold", "100ms", "a", "--", "sleep", "600"]).code(124);
    output.one_line(&["--max-hold of 100 ms was reached", "stopped"]);
    env.run(["run", "--max-hold", "1m", "a", "true"]).code(0).silent();
}

#[test]
fn max_hold_stops_also_what_ignores_term() {
    let env = TestEnv::new();
    let script = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
    let args = ["run", "--ttl", "400ms", "--max-hold", "200ms", "a", "--", "sh", "-c", script];
    let mut stubborn = env.start(args);
    let pid = stubborn.ward();
    stubborn.end().code(124);
    assert!(!is_alive(pid));
}

#[test]
fn a_stopped_command_is_stopped_for_good() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit' TERM; echo $$; kill -STOP $$; while :; do sleep 0.1; done";
    let mut frozen = env.start(["run", "--max-hold", "300ms", "a", "--", "sh", "-c", script]);
    let pid = frozen.ward();
    assert_eq!(frozen.line(), "told");
    frozen.end().code(124);
    assert!(!is_alive(pid));
}

#[test]
fn a_name_may_be_anything_that_can_be_read() {
    let env = TestEnv::new();
    for name in ["iPhone 7", "..", "a/b", "{x}", "'\"", "💡", "A", "a", "a "] {
        let output = env.run(["run", name, "--", "sh", "-c", "printf %s \"$COTTER_NAME\""]).code(0);
        assert_eq!(output.stdout, name);
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let env = TestEnv::new();
    let cotter = env!("CARGO_BIN_EXE_cotter");
    let script = format!("({cotter} man; echo $? >&2) | true; ({cotter} --help; echo $? >&2) | true");
    let mut sh = env.anywhere("sh".as_ref());
    let output = Running::start(sh.args(["-c", &script])).end().code(0);
    assert_eq!(output.stderr, "0\n0\n");
}

#[test]
fn a_closed_standard_input_is_an_empty_one() {
    let env = TestEnv::new();
    let script = format!("exec {} run a -- sh -c 'cat; echo end' <&-", env!("CARGO_BIN_EXE_cotter"));
    let mut sh = env.anywhere("sh".as_ref());
    let output = Running::start(sh.args(["-c", &script]).env("COTTER_URL", env.url())).end().code(0);
    assert_eq!(output.stdout, "end\n");
}

#[test]
fn the_command_does_not_have_the_lock() {
    let env = TestEnv::new();
    let output =
        env.run(["run", "a", "--", "sh", "-c", "ls -l /proc/$$/fd; ls -l /proc/$PPID/fd >&2"]).code(0);
    assert!(!output.stdout.contains("/locks/"), "{output:?}");
    assert!(output.stderr.contains("/locks/"), "the shim has: {output:?}");
}

/// As execvp(3) does, and so flock(1), env(1) and nohup(1).
#[test]
fn a_script_without_an_interpreter_is_run_by_a_shell() {
    let env = TestEnv::new();
    let folder = env.path("bin");
    fs::create_dir(&folder).unwrap();
    let script = folder.join("old-job");
    fs::write(&script, "echo \"$0 $1|$2\"; exit 7\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    let output = env.run(["run", "a", "--", script, "x y", "-n"]).code(7).silent();
    assert_eq!(output.stdout, format!("{script} x y|-n\n"));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut found = env.cotter(["run", "a", "old-job", "1", "2"]);
    let output = Running::start(found.env("PATH", path)).end().code(7).silent();
    assert_eq!(output.stdout, format!("{script} 1|2\n"));
    // Neither text nor a program.
    fs::write(script, b"\x7fELF\0\0\0").unwrap();
    env.run(["run", "a", "--", script]).code(126).one_line(&["cannot be executed"]);
}
