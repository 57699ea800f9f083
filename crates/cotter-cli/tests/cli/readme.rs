//! What the README shows is what happens.

use crate::env::{Running, TestEnv};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const README: &str = include_str!("../../../../README.md");

/// The transcripts, as (command, what it prints).
fn transcripts() -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in README.lines() {
        match (line, line.strip_prefix("$ ")) {
            ("```console", _) => inside = true,
            ("```", _) => inside = false,
            (_, Some(command)) if inside => found.push((command.to_owned(), Vec::new())),
            (text, None) if inside => found.last_mut().unwrap().1.push(text.to_owned()),
            _ => {}
        }
    }
    found
}

/// Both lines without what differs from run to run.
fn alike(shown: &str, said: &str) -> bool {
    let shape = |line: &str| {
        let words = line.split(' ').map(|word| {
            let varies = word.contains('/') || word.chars().any(|c| c.is_ascii_digit());
            if varies && word != "1" { "…".to_owned() } else { word.replace("ms", "s") }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    shape(shown) == shape(said)
}

/// In a shell that finds `cotter`, in a folder with the files that the README names.
fn shell(env: &TestEnv, line: &str) -> Running {
    let folder = env.path("home");
    for script in ["backup.sh", "report.sh"] {
        fs::write(folder.join(script), "#!/bin/sh\necho done\n").unwrap();
        fs::set_permissions(folder.join(script), Permissions::from_mode(0o755)).unwrap();
    }
    let jobs = "group = \"g\"\n[job.a]\nfixed_rate = \"1h\"\ncommand = [\"true\"]\n";
    fs::write(folder.join("jobs.toml"), jobs).unwrap();
    let cotter = Path::new(env!("CARGO_BIN_EXE_cotter")).parent().unwrap();
    let path = format!("{}:{}", cotter.display(), std::env::var("PATH").unwrap());
    let mut command = env.anywhere(Path::new("sh"));
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env("COTTER_URL", env.url());
    Running::start(&mut command)
}

#[test]
fn the_second_terminal_waits_and_says_for_whom() {
    let env = TestEnv::new();
    let [first, second] = &transcripts()[..2] else { panic!("two transcripts at the beginning") };
    assert_eq!(first.0, second.0);
    let mut one = shell(&env, &first.0);
    let older = one.line();
    // No terminal here: there it is said without being asked.
    let mut other = shell(&env, &second.0.replacen("cotter run", "cotter run -v", 1));
    let waiting = other.waiting_line();
    let newer = other.line();
    assert!(alike(&first.1[0], &older), "{older}");
    assert!(alike(&second.1[0], &waiting), "{waiting}");
    assert!(alike(&second.1[1], &newer) && newer > older, "{newer}");
    one.end().code(0);
    other.end().code(0);
}

#[test]
fn every_other_command_works() {
    let env = TestEnv::new();
    let commands = transcripts();
    assert!(commands.len() > 6);
    for (command, _) in &commands[2..] {
        shell(&env, command).end().code(0);
    }
}
