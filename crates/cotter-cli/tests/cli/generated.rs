//! Completions and manual pages.

use crate::env::{Running, TestEnv};

#[test]
fn completions_for_every_shell() {
    let env = TestEnv::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = env.run(["completions", shell]).code(0).silent().stdout;
        assert!(script.contains("max-hold") && script.contains("clear-orders"), "{shell}");
        for internal in
            ["--keeper", "-l keeper", "partner", "demo__subcmd__holder", "demo;holder", "from holder"]
        {
            assert!(!script.contains(internal), "{internal} for {shell}");
        }
    }
    let bash = env.run(["completions", "bash"]).code(0).stdout;
    let mut sh = env.anywhere("sh".as_ref());
    let mut check =
        Running::start(sh.args(["-c", "command -v bash >/dev/null || exec cat; exec bash -n /dev/stdin"]));
    check.write(&bash);
    check.end().code(0).silent();
}

#[test]
fn the_manual_has_the_stores_and_the_table_of_exit_codes() {
    let env = TestEnv::new();
    let page = env.run(["man"]).code(0).silent().stdout;
    for part in [
        ".TH cotter 1",
        ".SH STORES",
        "COTTER_STORE, COTTER_URL",
        ".SH \"EXIT STATUS\"",
        "124",
        "cotter\\-run(1)",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let page = env.run(["man", "run"]).code(0).silent().stdout;
    for part in [".TH cotter-run 1", "max\\-hold", ".SH \"EXIT STATUS\"", "CMD was not found"] {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(!page.contains(".SH STORES"));
    let of_an_election = env.run(["man", "elect"]).code(0).silent().stdout;
    assert!(of_an_election.contains("CMD was not found") && !of_an_election.contains("max\\-hold"));
    let page = env.run(["man", "ls"]).code(0).silent().stdout;
    assert!(page.contains(".TH cotter-list 1"), "{page}");
}

/// A line of each command that refuses nothing but an option.
const LINES: &[&[&str]] = &[
    &["run", "a", "true"],
    &["elect", "--observe", ""],
    &["latch", "a", "show"],
    &["list"],
    &["show", "a"],
    &["evict", "a"],
    &["acquire", "--ttl", "1s", "a"],
    &["renew", "--ttl", "1s", "x"],
    &["release", "x"],
    &["doctor"],
    // An address that it refuses: otherwise it would go on.
    #[cfg(feature = "dashboard")]
    &["dashboard", "--listen", "0.0.0.0:1"],
    &["migrate"],
    &["prune"],
    &["schedule", "/nowhere"],
    &["jobs", "--group", "g", "list"],
    &["cron", "@daily"],
    #[cfg(feature = "verify")]
    &["verify", "check", "/nowhere"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn an_option_that_a_command_refuses_is_in_no_help() {
    let env = TestEnv::new();
    let bash = env.run(["completions", "bash"]).code(0).stdout;
    let words_of = |command: &str| {
        let (_, case) = bash.split_once(&format!("\n        cotter__subcmd__{command})\n")).expect(command);
        case.lines().next().unwrap().to_owned()
    };
    for line in LINES {
        let output = env.run([&["--json"][..], line].concat());
        let is_taken = !output.stderr.contains("--json has no effect");
        for help in ["--help", "-h"] {
            let help = env.run([line[0], help]).code(0).stdout;
            assert_eq!(help.contains("--json"), is_taken, "{help}");
        }
        let page = env.run(["man", line[0]]).code(0).stdout;
        assert_eq!(page.contains("\\-\\-json"), is_taken, "{page}");
        assert_eq!(words_of(line[0]).contains("--json"), is_taken, "{}", words_of(line[0]));
    }
    let all = env.run(["man", "nothing"]).code(64).stderr;
    let missing: Vec<_> = all
        .trim()
        .split_once("the commands are ")
        .unwrap()
        .1
        .split(", ")
        .filter(|command| {
            !["bench", "demo", "help"].contains(command) && !LINES.iter().any(|line| line[0] == *command)
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_command_has_a_page() {
    let env = TestEnv::new();
    let all = env.run(["man", "nothing"]).code(64).stderr;
    let all: Vec<&str> = all.trim().split_once("the commands are ").unwrap().1.split(", ").collect();
    assert!(all.contains(&"jobs") && all.contains(&"demo") && all.len() > 10, "{all:?}");
    for command in all {
        let page = env.run(["man", command]).code(0).silent().stdout;
        assert!(page.contains(&format!(".TH cotter-{command} 1")), "{page}");
        assert!(!page.contains(".SH STORES"), "{page}");
    }
}
