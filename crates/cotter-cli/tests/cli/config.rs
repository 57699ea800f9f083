//! Which store: command line, configuration, environment, and nothing in silence.

use crate::env::{Output, Running, TestEnv};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

impl TestEnv {
    /// Without `COTTER_URL`.
    fn plain(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        let mut command = self.cotter(args);
        command.env_remove("COTTER_URL").envs(env.iter().copied());
        Running::start(&mut command).end()
    }
}

#[test]
fn a_store_by_name() {
    let env = TestEnv::new();
    let path = env.config(&format!("[store.prod]\nurl = \"{}\"\n", env.url()));
    let path = path.to_str().unwrap();
    let script = "echo $COTTER_STORE; echo $COTTER_URL";
    let output = env.plain(&["-v", "--store", "prod", "run", "a", "--", "sh", "-c", script], &[]).code(0);
    assert_eq!(output.stdout, format!("prod\n{}\n", env.url()));
    output.one_line(&["from --store", path]);
    let output = env.plain(&["-v", "run", "a", "true"], &[("COTTER_STORE", "prod")]).code(0);
    output.one_line(&["from COTTER_STORE", path]);
}

#[test]
fn a_url_on_the_command_line_beats_a_store_in_the_environment_for_the_command_too() {
    let env = TestEnv::new();
    let script = "echo ${COTTER_STORE-none}; echo $COTTER_URL";
    let url = env.url();
    let output =
        env.plain(&["--url", &url, "run", "a", "--", "sh", "-c", script], &[("COTTER_STORE", "prod")]);
    assert_eq!(output.code(0).stdout, format!("none\n{url}\n"));
}

#[test]
fn a_host_can_demand_that_a_store_is_chosen() {
    let env = TestEnv::new();
    env.config("require_shared = true\n");
    for command in [&["run", "a", "true"][..], &["list"], &["doctor"]] {
        let says = ["no store is set", "config.toml has require_shared = true", "COTTER_URL", "--url file:"];
        let output = env.plain(command, &[]);
        assert!(output.stderr.contains(says[0]), "violation[unchosen]: {command:?} uses a store: {output:?}");
        output.code(78).one_line(&says);
    }
    env.plain(&["--url", &env.url(), "run", "a", "true"], &[]).code(0);
    env.plain(&["run", "a", "true"], &[("COTTER_URL", &env.url())]).code(0);
    env.config(&format!(
        "require_shared = true\ndefault = \"here\"\n[store.here]\nurl = \"{}\"\n",
        env.url()
    ));
    env.plain(&["run", "a", "true"], &[]).code(0);
}

#[test]
fn lines_have_priorities_where_the_journal_reads_them() {
    use std::os::unix::fs::MetadataExt;
    let env = TestEnv::new();
    let log = std::fs::File::create(env.path("log")).unwrap();
    let found = log.metadata().unwrap();
    let stream = format!("{}:{}", found.dev(), found.ino());
    for (stream, begins) in [(stream.as_str(), "<3>cotter: "), ("1:1", "cotter: ")] {
        log.set_len(0).unwrap();
        let own = log.try_clone().unwrap();
        let mut command = env.cotter(["--store", "nowhere", "list"]);
        let status = command.env("JOURNAL_STREAM", stream).stderr(own).status().unwrap();
        assert_eq!(status.code(), Some(78));
        let text = std::fs::read_to_string(env.path("log")).unwrap();
        let text = text.trim_start_matches('\0');
        assert!(text.starts_with(begins) && text.contains("nowhere"), "{text:?}");
    }
}

#[test]
fn an_unknown_store_is_78_with_the_known_ones() {
    let env = TestEnv::new();
    let nothing = env.plain(&["--store", "prod", "list"], &[]).code(78);
    nothing.one_line(&["\"prod\"", "[store.prod]", "config.toml", "/etc/cotter.toml"]);
    env.config("[store.prod]\nurl = \"memory:\"\n[store.staging]\nurl = \"memory:\"\n");
    let near = env.plain(&["--store", "prdo", "list"], &[]).code(78);
    near.one_line(&["\"prdo\"", "did you mean \"prod\"?", "known stores are prod, staging", "config.toml"]);
    let far =
        env.plain(&["list"], &[("COTTER_STORE", "x")]).code(78).one_line(&["known stores are prod, staging"]);
    assert!(!far.stderr.contains("did you mean"));
}

#[test]
fn a_broken_file_is_78_with_its_line() {
    let env = TestEnv::new();
    for (text, says) in [
        ("[store.prod]\nurl = memory:\n", ["line 2", "config.toml"]),
        ("[store.prod]\nulr = \"memory:\"\n", ["line 2", "did you mean `url`?"]),
        ("\n[stroe.prod]\nurl = \"memory:\"\n", ["line 2", "did you mean `store`?"]),
        ("[store.prod]\n", ["line 1", "missing field `url`"]),
        ("[store.prod]\nurl = 7\n", ["line 2", "string"]),
        ("[store]\nprod = \"redis://h\"\n", ["line 2", "write [store.NAME]"]),
    ] {
        env.config(text);
        env.plain(&["--store", "prod", "list"], &[]).code(78).one_line(&says);
    }
}

#[test]
fn the_file_is_read_only_for_a_store_by_name() {
    let env = TestEnv::new();
    env.config("broken");
    env.run(["run", "a", "true"]).code(0).silent();
}

#[test]
fn nothing_falls_back_to_the_default_in_silence() {
    let env = TestEnv::new();
    env.plain(&["run", "a", "true"], &[("COTTER_URL", "")]).code(78).one_line(&["COTTER_URL is empty"]);
    env.plain(&["run", "a", "true"], &[("COTTER_STORE", "")]).code(78).one_line(&["COTTER_STORE is empty"]);
    let nested = env.plain(&["run", "a", "true"], &[("COTTER_NAME", "b")]).code(64);
    nested.one_line(&["COTTER_NAME is set", "--url or --store"]);
}

#[test]
fn a_run_inside_a_run_uses_the_same_store() {
    let env = TestEnv::new();
    let cotter = env!("CARGO_BIN_EXE_cotter");
    let url = env.url();
    let inner = env.plain(&["--url", &url, "run", "a", "--", cotter, "-v", "run", "b", "true"], &[]).code(0);
    inner.one_line(&[&url, "from COTTER_URL"]);
    let scrubbed = ["--url", &url, "run", "a", "--", "env", "-u", "COTTER_URL", cotter, "run", "b", "true"];
    env.plain(&scrubbed, &[]).code(64).one_line(&["COTTER_NAME is set"]);
}

#[test]
fn a_default_is_used_when_nothing_else_is_said() {
    let env = TestEnv::new();
    let stores = format!("[store.prod]\nurl = \"{}\"\n[store.other]\nurl = \"memory:\"\n", env.url());
    let path = env.config(&format!("default = \"prod\"\n{stores}"));
    let path = path.to_str().unwrap();
    let script = "echo ${COTTER_STORE-none}; echo $COTTER_URL";
    let output = env.plain(&["-v", "run", "a", "--", "sh", "-c", script], &[]).code(0);
    assert_eq!(output.stdout, format!("prod\n{}\n", env.url()));
    output.one_line(&["from `default` in ", path]);
    env.plain(&["-v", "--store", "other", "run", "a", "true"], &[])
        .code(0)
        .one_line(&["memory of this process", "--store"]);
    env.plain(&["-v", "--url", "memory:", "run", "a", "true"], &[])
        .code(0)
        .one_line(&["memory of this process", "--url"]);
    let by_env = [("COTTER_URL", "memory:")];
    env.plain(&["-v", "run", "a", "true"], &by_env)
        .code(0)
        .one_line(&["memory of this process", "COTTER_URL"]);
    let by_env = [("COTTER_STORE", "other")];
    env.plain(&["-v", "run", "a", "true"], &by_env)
        .code(0)
        .one_line(&["memory of this process", "COTTER_STORE"]);
    // What is above a nested run may use another store than this.
    env.plain(&["run", "a", "true"], &[("COTTER_NAME", "b")]).code(64).one_line(&["COTTER_NAME is set"]);
    env.config(&format!("default = \"prdo\"\n{stores}"));
    env.plain(&["run", "a", "true"], &[]).code(78).one_line(&[
        "`default` in ",
        path,
        "did you mean \"prod\"?",
    ]);
    env.config("default = 7\n");
    env.plain(&["run", "a", "true"], &[]).code(78).one_line(&["line 1", path]);
}

#[test]
fn a_file_with_a_password_that_all_can_read_is_warned_of() {
    let env = TestEnv::new();
    let path =
        env.config("[store.prod]\nurl = \"redis://:canary@127.0.0.1:1\"\n[store.b]\nurl = \"memory:\"\n");
    let rights =
        |mode| std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    let warns = |store: &str| {
        let output = env.plain(&["--store", store, "list"], &[]);
        assert!(!output.stderr.contains("canary"), "{output:?}");
        output.stderr.contains("is readable by every user")
    };
    rights(0o644);
    assert!(warns("prod") && !warns("b"));
    rights(0o600);
    assert!(!warns("prod"));
}

/// As accounts of services have them.
#[test]
fn a_home_that_is_no_directory_or_no_text_has_no_file() {
    let env = TestEnv::new();
    let list = |home: &OsStr| {
        let mut command = env.cotter(["--store", "prod", "list"]);
        Running::start(command.env_remove("COTTER_URL").env("HOME", home)).end()
    };
    list(OsStr::new("/dev/null")).code(78).one_line(&["there is no store \"prod\"", "/etc/cotter.toml"]);
    list(OsStr::from_bytes(b"/nowhere/\xff")).code(78).one_line(&["there is no store \"prod\""]);
    let mut run = env.cotter(["run", "a", "true"]);
    Running::start(run.env("HOME", OsStr::from_bytes(b"/\xff"))).end().code(0).silent();
}

/// As the services of the system run: they read the file of the user's shells.
#[test]
fn without_a_home_in_the_environment_the_recorded_one_counts() {
    let env = TestEnv::new();
    let mut command = env.cotter(["--store", "no-such-store", "list"]);
    let output = Running::start(command.env_remove("COTTER_URL").env_remove("HOME")).end().code(78);
    output.one_line(&[
        "there is no store \"no-such-store\"",
        "/.config/cotter/config.toml or /etc/cotter.toml",
    ]);
}
