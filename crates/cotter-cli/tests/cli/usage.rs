//! What is wrong is said in one line: what, which part, what to do.

use crate::env::TestEnv;
use cotter_testkit::servers::Redis;
use std::fs::File;
use std::process::Stdio;

#[test]
fn wrong_usage_is_64_and_one_line() {
    let env = TestEnv::new();
    let long = "x".repeat(513);
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "--wiat", "5s", "a", "true"], &["'--wiat'", "'--wait'", "try 'cotter run --help'"]),
        (&["run", "a", "-z"], &["'-z'", "try 'cotter run --help'"]),
        (&["run"], &["<NAME>", "<CMD>", "try 'cotter run --help'"]),
        (&["run", "--", "echo", "hi"], &["comes before the --", "\"echo\"", "cotter run NAME -- CMD"]),
        (&["run", "-w", "1s", "--", "echo", "hi"], &["comes before the --"]),
        (&["run", "a"], &["<CMD>", "try 'cotter run --help'"]),
        (&["run", "-n", "-w", "5s", "a", "true"], &["'--no-wait' cannot be used with '--wait <DUR>'"]),
        (&["run", "-s", "--slot", "k", "a", "true"], &["'--shared' cannot be used with '--slot <KEY>'"]),
        (&["run", "-w", "5", "a", "true"], &["'5' for '--wait <DUR>'", "write 5s or 5ms"]),
        (&["run", "--ttl", "30", "a", "true"], &["'--ttl <DUR>'", "write 30s or 30ms"]),
        (&["run", "--ttl", "0s", "a", "true"], &["'--ttl <DUR>'", "zero is not allowed"]),
        (&["run", "--ttl", "200ms", "a", "true"], &["--ttl 200ms", "the minimum is 300ms"]),
        (&["run", "--max-hold", "0s", "a", "true"], &["'--max-hold <DUR>'", "zero is not allowed"]),
        (&["run", "-w", "-5s", "a", "true"], &["'--wait <DUR>'", "cannot be negative"]),
        (&["run", "-w", "soon", "a", "true"], &["'--wait <DUR>'", "5s, 500ms, 1m30s or PT5S"]),
        (&["run", "-E", "256", "a", "true"], &["'--busy-code <N>'", "256"]),
        (&["run", "", "true"], &["invalid name", "at least one byte"]),
        (&["run", "a\nb", "true"], &["invalid name", r"'\n' at byte 1", "leave it out"]),
        (&["run", &long, "true"], &["513 bytes, 512 are allowed"]),
        (&["run", "--label", "a\tb", "a", "true"], &["label", "no control characters"]),
        (&["run", "--json", "a", "true"], &["--json has no effect"]),
        (&["show", ""], &["invalid name"]),
        (&["evict", ""], &["invalid name"]),
        (&["evict", "--token", "x", "a"], &["'--token <N>'", "'x'", "write a whole number"]),
        (&["run", "--limit", "", "a", "true"], &["'--limit <N>'", "write a whole number"]),
        (&["jobs", "--group", "", "list"], &["'--group <NAME>'"]),
        (&["doktor"], &["'doktor'", "'doctor'", "try 'cotter --help'"]),
        (&["-q", "-v", "list"], &["'--quiet' cannot be used with '--verbose'"]),
        (
            &["--url", "memory:", "--store", "x", "list"],
            &["'--url <URL>' cannot be used with '--store <NAME>'"],
        ),
        (&["--color", "blue", "list"], &["'blue'", "auto, always, never"]),
        (&["completions", "cmd"], &["'cmd'", "bash"]),
        (&["man", "nothing"], &["\"nothing\"", "run, elect, latch, list, show"]),
        (&["man", "--json"], &["--json has no effect"]),
        // Only `acquire` itself prints code for a shell.
        (&["show", "acquire", "--bad"], &["'--bad'", "try 'cotter show --help'"]),
        (&["run", "--bad", "a", "acquire"], &["'--bad'", "try 'cotter run --help'"]),
    ];
    for (args, says) in cases {
        let output = env.run(*args).code(64).one_line(says);
        assert_eq!(output.stdout, "", "{args:?}");
    }
}

/// What was asked for has not arrived, the help neither; and the store has nothing to do with it.
#[test]
fn output_that_cannot_be_written_is_71() {
    let env = TestEnv::new();
    for args in [&["--help"][..], &["run", "--help"], &["--version"], &["man"], &["show", "a"], &["doctor"]] {
        let full = File::create("/dev/full").unwrap();
        let output = env.cotter(args).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(71), "{args:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.starts_with("cotter: cannot write the output: No space left"), "{args:?}: {error}");
    }
    // A reader that has enough is no failure.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = env.cotter(["--help"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn no_command_at_all_shows_the_help() {
    let env = TestEnv::new();
    let output = env.run::<&str>([]).code(64);
    assert!(output.stderr.contains("Usage: cotter"), "{output:?}");
}

#[test]
fn help_and_version_are_answers() {
    let env = TestEnv::new();
    for args in
        [&["--help"][..], &["-h"], &["run", "--help"], &["help", "run"], &["ls", "-h"], &["break", "-h"]]
    {
        let output = env.run(args).code(0).silent();
        assert!(output.stdout.contains("Usage: cotter"), "{output:?}");
    }
    let version = format!("cotter {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(env.run(["-V"]).code(0).stdout, version);
    let long = env.run(["--version"]).code(0).stdout;
    assert!(long.starts_with(&version) && long.lines().count() == 2, "{long:?}");
}

#[test]
fn a_name_that_begins_with_a_dash_stands_behind_the_dashes() {
    let env = TestEnv::new();
    assert_eq!(env.run(["run", "--", "-n", "echo", "ran"]).code(0).silent().stdout, "ran\n");
    assert_eq!(env.run(["run", "a", "--", "echo", "--", "x"]).code(0).silent().stdout, "-- x\n");
    assert_eq!(env.run(["run", "a", "echo", "--", "x"]).code(0).silent().stdout, "-- x\n");
}

#[test]
fn the_help_of_a_command_is_about_the_command() {
    let env = TestEnv::new();
    let whole = env.run(["--help"]).code(0).stdout;
    assert!(whole.contains("Do not put a password here"), "{whole}");
    for args in [&["show", "--help"][..], &["help", "show"], &["jobs", "pause", "--help"]] {
        let help = env.run(args).code(0).stdout;
        assert_eq!(help.matches("--password-file <FILE>").count(), 1, "{help}");
        assert!(!help.contains("Do not put a password here") && help.lines().count() < 32, "{help}");
    }
}

#[test]
fn the_help_of_run_has_the_table_of_exit_codes() {
    let env = TestEnv::new();
    let help = env.run(["run", "--help"]).code(0).stdout;
    let (_, table) = help.split_once("Exit codes:\n").unwrap();
    for code in ["64", "65", "69", "74", "75 (-E N)", "76", "77", "78", "124", "126", "127", "128 + N"] {
        assert!(table.lines().any(|line| line.trim_start().starts_with(code)), "{code} in {table}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
}

#[test]
fn a_wrong_url_is_78_and_names_the_part() {
    let env = TestEnv::new();
    for (url, says) in [
        ("nope", "no scheme"),
        ("nope:", "\"nope\""),
        ("memory:x", "write just memory:"),
        ("file:relative", "file:///DIR"),
        ("file://host/dir", "three slashes"),
    ] {
        env.run(["--url", url, "run", "a", "true"]).code(78).one_line(&[says]);
        let mut by_env = env.cotter(["run", "a", "true"]);
        by_env.env("COTTER_URL", url);
        crate::env::Running::start(&mut by_env).end().code(78).one_line(&[says]);
    }
}

#[test]
fn a_store_that_cannot_be_used_is_69_or_77() {
    let env = TestEnv::new();
    env.run(["--url", "file:///proc/cotter", "run", "a", "true"]).code(69).one_line(&["/proc/cotter"]);
    let open = env.path("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let url = format!("file://{}", open.display());
    env.run(["--url", &url, "run", "a", "true"]).code(77).one_line(&["denied", "chmod 700"]);
}

#[test]
#[ignore = "needs redis-server"]
fn a_redis_that_is_not_there_is_69_and_a_wrong_password_77() {
    let env = TestEnv::new();
    env.run(["--url", "redis://127.0.0.1:1", "run", "-n", "a", "true"])
        .code(69)
        .one_line(&["cannot be reached"]);
    let redis = Redis::builder().with("requirepass", "s3cret").start();
    for credentials in ["", ":canary@", "nobody:canary@"] {
        let url = format!("redis://{credentials}127.0.0.1:{}", redis.port());
        let mut run = env.cotter(["run", "a", "true"]);
        let output = crate::env::Running::start(run.env("COTTER_URL", url)).end();
        let output = output.code(77).one_line(&["denied"]);
        assert!(!output.stderr.contains("canary"), "{output:?}");
    }
}

#[test]
fn colours_only_on_a_terminal_or_on_request() {
    let env = TestEnv::new();
    assert!(!env.run(["run", "", "true"]).code(64).stderr.contains('\x1b'));
    assert!(!env.run(["--color", "never", "run", "", "true"]).code(64).stderr.contains('\x1b'));
    assert!(env.run(["--color", "always", "run", "", "true"]).code(64).stderr.contains("\x1b[31mcotter:"));
}

#[test]
fn wrong_usage_of_acquire_fails_in_the_shell_too() {
    let env = TestEnv::new();
    for args in [
        &["acquire", "--bad", "a"][..],
        &["--bad", "acquire", "a"],
        &["-q", "acquire"],
        &["--url", "acquire"],
    ] {
        assert_eq!(env.run(args).code(64).stdout, "(exit 64)\n", "{args:?}");
    }
}
