//! `--password-file`, and that its password is seen by nobody.

use crate::env::{Output, Running, TestEnv};
use cotter_testkit::servers::Redis;
use rustix::process::Signal;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const PASSWORD: &str = "open sesame";
/// A server that wants this password of an [administrator](Redis::open_url), whose URL has no password; and a file that has it.
fn locked(password: &str) -> (Redis, TestEnv, PathBuf) {
    let redis = Redis::builder().with("requirepass", password).start();
    let env = TestEnv::new();
    let file = env.path("a pass&word");
    fs::write(&file, format!("{password}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    (redis, env, file)
}

/// Without a store of its own in the environment.
fn run(env: &TestEnv, args: &[&str], vars: &[(&str, &str)]) -> Output {
    let mut command = env.cotter(args);
    Running::start(command.env_remove("COTTER_URL").envs(vars.iter().copied())).end()
}

#[test]
#[ignore = "needs redis-server"]
fn a_file_that_the_command_line_the_environment_or_the_configuration_names() {
    let (redis, env, file) = locked(PASSWORD);
    let (url, path) = (redis.open_url(""), file.to_str().unwrap());
    let url = url.trim_end_matches('?');
    let tells = ["run", "a", "--", "sh", "-c", "echo ${COTTER_PASSWORD_FILE-none} $COTTER_URL"];
    let said = |args: &[&str], vars: &[(&str, &str)]| {
        run(&env, &[args, &tells].concat(), vars).code(0).silent().stdout
    };
    assert_eq!(said(&["--url", url, "--password-file", path], &[]), format!("{path} {url}\n"));
    assert_eq!(said(&["--url", url], &[("COTTER_PASSWORD_FILE", path)]), format!("{path} {url}\n"));
    assert_eq!(said(&[], &[("COTTER_URL", url), ("COTTER_PASSWORD_FILE", path)]), format!("{path} {url}\n"));
    env.config(&format!("[store.prod]\nurl = \"{url}\"\npassword_file = \"{path}\"\n"));
    assert_eq!(said(&["--store", "prod"], &[("COTTER_PASSWORD_FILE", "/nowhere")]), format!("none {url}\n"));
    let cotter = env!("CARGO_BIN_EXE_cotter");
    let nested = ["--url", url, "--password-file", path, "run", "a", "--", cotter, "run", "b", "true"];
    run(&env, &nested, &[]).code(0).silent();
    let nested = ["--store", "prod", "run", "a", "--", cotter, "run", "b", "true"];
    run(&env, &nested, &[]).code(0).silent();
    // Past cotter, too.
    let option = (&["--url", url, "--password-file", path][..], &[][..]);
    let variable = (&["--url", url][..], &[("COTTER_PASSWORD_FILE", path)][..]);
    let store = (&["--store", "prod"][..], &[("COTTER_PASSWORD_FILE", "/nowhere")][..]);
    for (args, vars) in [option, variable, store] {
        run(&env, &[args, &["bench", "--time", "100ms"]].concat(), vars).code(0).silent();
        run(&env, &[args, &["demo", "seckill", "--buyers", "10"]].concat(), vars).code(0).silent();
    }
    run(&env, &["--url", url, "list"], &[]).code(77);
}

#[test]
#[ignore = "needs redis-server"]
fn what_does_not_fit_together_is_refused() {
    let (redis, env, file) = locked(PASSWORD);
    let (url, path) = (redis.open_url(""), file.to_str().unwrap());
    let with = format!("redis://:x@127.0.0.1:{}", redis.port());
    let list = |url: &str, file: &str| run(&env, &["--password-file", file, "list"], &[("COTTER_URL", url)]);
    list(&with, path).code(78).one_line(&["--password-file", "the URL has a password too"]);
    list(&env.url(), path).code(78).one_line(&["--password-file", "this kind of store has no password"]);
    list(&url, "/nowhere").code(78).one_line(&["--password-file", "/nowhere cannot be read"]);
    run(&env, &["list"], &[("COTTER_URL", &url), ("COTTER_PASSWORD_FILE", "")]).code(78);
    env.config(&format!("[store.prod]\nurl = \"{url}\"\npassword_file = \"here\"\n"));
    run(&env, &["--store", "prod", "list"], &[]).code(78).one_line(&["write an absolute path"]);
    // It may be there for other stores.
    run(&env, &["list"], &[("COTTER_URL", &env.url()), ("COTTER_PASSWORD_FILE", "/nowhere")])
        .code(0)
        .silent();
    fs::write(&file, "wrong").unwrap();
    let output = list(&url, path).code(77).one_line(&[]);
    assert!(!output.stderr.contains("wrong\n"), "{output:?}");
}

#[test]
#[ignore = "needs redis-server"]
fn a_file_that_everybody_can_read_is_worth_a_warning() {
    let (redis, env, file) = locked(PASSWORD);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let (url, path) = (redis.open_url(""), file.to_str().unwrap());
    let output = run(&env, &["--url", &url, "--password-file", path, "run", "a", "true"], &[]).code(0);
    output.one_line(&["is readable by every user on this host", "chmod 600"]);
}

#[test]
#[ignore = "needs redis-server"]
fn a_password_is_in_no_output_no_list_of_processes_and_no_environment_below() {
    // It looks for it everywhere, and a server that another test starts shows the password of that one for a moment.
    const CANARY: &str = "canary-91be";
    let (redis, env, file) = locked(CANARY);
    let path = file.to_str().unwrap();
    let with = format!("redis://:{CANARY}@127.0.0.1:{}", redis.port());
    // What can be seen from below: both environments, and the lists of processes.
    let script = "env; tr '\\0' '\\n' < /proc/$PPID/environ; ps axww; \
                  for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $p; echo; done 2>/dev/null";
    let logs = ("RUST_LOG", "trace");
    for (vars, options) in [
        (vec![("COTTER_URL", with.as_str()), logs], vec![]),
        (vec![("COTTER_URL", &redis.open_url("")), logs], vec!["--password-file", path]),
    ] {
        for verbose in ["-v", "-q"] {
            let args = [&[verbose], &options[..], &["run", "a", "--", "sh", "-c", script]].concat();
            let output = run(&env, &args, &vars).code(0);
            assert!(output.stdout.matches("COTTER_TOKEN=").count() == 2, "{output:?}");
            assert!(!output.stdout.contains(CANARY) && !output.stderr.contains(CANARY), "{output:?}");
        }
        for words in [&["show", "a"][..], &["list"], &["doctor"], &["--json", "doctor"]] {
            let output = run(&env, &[&["-v"], &options[..], words].concat(), &vars);
            assert!(!output.stdout.contains(CANARY) && !output.stderr.contains(CANARY), "{output:?}");
        }
    }
}

#[test]
#[ignore = "needs redis-server"]
fn the_first_line_of_a_schedule_has_the_store_without_its_password() {
    const CANARY: &str = "canary-4c07";
    let (redis, env, _) = locked(CANARY);
    let path = env.path("jobs.toml");
    fs::write(
        &path,
        "group = \"g\"\n[job.a]\nfixed_rate = \"1h\"\ninitial_delay = \"1h\"\nshell = \"true\"\n",
    )
    .unwrap();
    for options in [&[][..], &["--json"]] {
        let mut command = env.cotter([options, &["schedule", path.to_str().unwrap()]].concat());
        let with = format!("redis://:{CANARY}@127.0.0.1:{}", redis.port());
        let mut run = Running::start(command.env("COTTER_URL", with));
        let line = if options.is_empty() { run.error_line() } else { run.line() };
        assert!(line.contains("scheduling 1 job") && line.contains(&redis.port().to_string()), "{line}");
        assert!(!line.contains(CANARY), "{line}");
        run.signal(Signal::TERM);
        run.end().code(0);
    }
}

/// `<(pass show redis)`, which can be read once. This process, a keeper and a nested command each need the password.
#[test]
#[ignore = "needs redis-server"]
fn a_pipe_has_the_password() {
    let (redis, env, _) = locked(PASSWORD);
    let bash = |script: &str| {
        let mut bash = env.anywhere(Path::new("bash"));
        bash.args(["-c", script, env!("CARGO_BIN_EXE_cotter")]).env("COTTER_URL", redis.open_url(""));
        Running::start(bash.env("PASSWORD", PASSWORD)).end()
    };
    let option = "--password-file <(echo \"$PASSWORD\")";
    bash(&format!("\"$0\" {option} run a -- \"$0\" run b echo nested")).code(0).silent();
    bash(&format!("\"$0\" {option} acquire a --pid $$")).code(0).silent();
    bash(&format!("\"$0\" {option} demo seckill --buyers 4")).code(0).silent();
    bash("echo \"$PASSWORD\" | \"$0\" --password-file /dev/stdin list").code(0).silent();
}
