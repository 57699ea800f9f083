//! A password is seen by nobody: not in what is printed, not in the list of processes, not by the command.

use crate::env::{Running, TestEnv};

const CANARY: &str = "canary-7f3a";

#[test]
fn a_password_on_the_command_line_is_refused() {
    let env = TestEnv::new();
    for url in [
        format!("redis://ann:{CANARY}@h/0"),
        format!("redis://:{CANARY}@h"),
        format!("x://a:{CANARY}@b@h"),
        format!("redis+sentinel://h,i/s?timeout=1s&sentinel_password={CANARY}"),
    ] {
        let output = env.run(["-v", "--url", &url, "run", "a", "true"]).code(78);
        let output =
            output.one_line(&["password in --url", "use --password-file, or put the URL into COTTER_URL"]);
        assert!(!output.stderr.contains(CANARY), "{output:?}");
    }
}

#[test]
fn no_message_repeats_a_password() {
    let env = TestEnv::new();
    let sentinels = format!("redis+sentinel://h/s?sentinel_password={CANARY}&colour=red");
    let places = ["nope://", "memory://", "file://", "file:", ""];
    for url in places.map(|place| format!("{place}ann:{CANARY}@h")).into_iter().chain([sentinels]) {
        let mut command = env.cotter(["-v", "run", "a", "true"]);
        let output = Running::start(command.env("COTTER_URL", &url)).end().code(78);
        assert!(!output.stderr.contains(CANARY), "{output:?}");
        env.config(&format!("[store.prod]\nurl = \"{url}\"\n"));
        let output = env.run(["-v", "--store", "prod", "run", "a", "true"]).code(78);
        assert!(!output.stderr.contains(CANARY), "{output:?}");
    }
    let url = format!("nope://ann:{CANARY}@h");
    for (text, says) in [
        (format!("[store.prod]\nurl = \"{url}\" oops\n"), "line 2"),
        (format!("[store]\nprod = \"{url}\"\n"), "line 2: invalid type: string, expected "),
        (format!("\nstore = \"{url}\"\n"), "line 2: invalid type: string, expected "),
    ] {
        env.config(&text);
        let output = env.run(["--store", "prod", "run", "a", "true"]).code(78).one_line(&[says]);
        assert!(!output.stderr.contains(CANARY), "{output:?}");
    }
}

#[test]
fn the_command_sees_only_the_store_in_use() {
    let env = TestEnv::new();
    env.config(&format!("[store.prod]\nurl = \"nope://ann:{CANARY}@h\"\n"));
    let url = env.url();
    let mut command = env.cotter([
        "--url",
        &url,
        "run",
        "a",
        "--",
        "sh",
        "-c",
        "env; cat /proc/$PPID/cmdline /proc/$PPID/environ",
    ]);
    let output = Running::start(command.env("COTTER_URL", format!("nope://ann:{CANARY}@h"))).end().code(0);
    assert!(output.stdout.contains(&format!("COTTER_URL={url}\n")));
    assert!(!output.stdout.contains(CANARY), "{output:?}");
}
