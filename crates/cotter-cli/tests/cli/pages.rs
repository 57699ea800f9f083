//! What the pages show is what happens.

use crate::env::{Output, Running, TestEnv};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

const README: &str = include_str!("../../../../README.md");
const CRON: &str = include_str!("../../../../docs/cron.md");
const JOBS: &str = include_str!("../../../../docs/jobs.md");
const OPERATING: &str = include_str!("../../../../docs/operating.md");
const SQLITE: &str = include_str!("../../../../docs/stores/sqlite.md");

const UNIT: &str = include_str!("../../../../packaging/cotter-schedule.service");
const CONFIGURATION: &str = include_str!("../../../../packaging/cotter.toml");
const EXAMPLE: &str = include_str!("../../../../packaging/jobs.toml");

/// The transcripts of a page, as (command, what it prints).
fn transcripts(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
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

/// A line without what differs from run to run: tokens, times, paths, and which of several processes it is about.
fn shape(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let is_unit = |word: &str| matches!(word.trim_end_matches(','), "s" | "ms");
    let shape = |(at, word): (usize, &&str)| {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let is_number = at > 0 && matches!(words[at - 1], "buyer" | "replica");
        let is_time = words.get(at + 1).is_some_and(|next| is_unit(next));
        let varies = word.contains('/') || digits >= 10 || digits > 0 && (is_number || is_time);
        let seconds = if is_unit(word) { word.replace("ms", "s") } else { (*word).to_owned() };
        if varies { "…".to_owned() } else { seconds }
    };
    words.iter().enumerate().map(shape).collect::<Vec<_>>().join(" ")
}

fn alike(shown: &str, said: &str) -> bool {
    shape(shown) == shape(said)
}

/// In a shell that finds `cotter`, in a folder with the files that the pages name.
fn shell(env: &TestEnv, line: &str) -> Running {
    let folder = env.path("home");
    for script in ["backup.sh", "report.sh", "report"] {
        fs::write(folder.join(script), "#!/bin/sh\necho done\n").unwrap();
        fs::set_permissions(folder.join(script), Permissions::from_mode(0o755)).unwrap();
    }
    let job = |name| format!("[job.{name}]\nfixed_rate = \"1h\"\ncommand = [\"true\"]\n");
    let jobs = format!("group = \"g\"\n{}{}", job("clear-orders"), job("close-order"));
    fs::write(folder.join("jobs.toml"), jobs).unwrap();
    let cotter = Path::new(env!("CARGO_BIN_EXE_cotter")).parent().unwrap();
    let path = format!("{}:{}", cotter.display(), std::env::var("PATH").unwrap());
    let mut command = env.anywhere(Path::new("sh"));
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env("COTTER_URL", env.url());
    Running::start(&mut command)
}

/// Fails unless a command printed what its page shows, if that shows anything.
#[track_caller]
fn assert_shown(command: &str, shown: &[String], output: &Output) {
    let said: Vec<_> = if output.code == 0 { &output.stdout } else { &output.stderr }.lines().collect();
    let is_same =
        shown.len() == said.len() && shown.iter().zip(&said).all(|(shown, said)| alike(shown, said));
    assert!(shown.is_empty() || is_same, "{command}: the page shows {shown:#?}, it says {said:#?}");
}

#[test]
fn the_second_terminal_waits_and_says_for_whom() {
    let env = TestEnv::new();
    let [first, second] = &transcripts(README)[..2] else { panic!("two transcripts at the beginning") };
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
fn every_other_command_of_the_readme_works_and_prints_what_is_shown() {
    let env = TestEnv::new();
    let commands = transcripts(README);
    assert!(commands.len() > 6);
    for (command, shown) in &commands[2..] {
        assert_shown(command, shown, &shell(&env, command).end().code(0));
    }
}

#[test]
fn what_is_shown_of_cron_is_what_is_printed() {
    let env = TestEnv::new();
    let commands = transcripts(CRON);
    assert!(commands.len() > 2 && commands.iter().all(|(_, shown)| !shown.is_empty()));
    for (command, shown) in &commands {
        let output = shell(&env, command).end();
        assert_shown(command, shown, &output);
        let said = if output.code == 0 { &output.stdout } else { &output.stderr };
        assert_eq!(said.lines().collect::<Vec<_>>(), *shown, "nothing differs from run to run here");
    }
}

#[test]
fn a_database_is_used_as_its_page_shows() {
    let env = TestEnv::new();
    let commands = transcripts(SQLITE);
    assert!(commands.len() > 1);
    for (command, shown) in &commands {
        let here = command.replace("/var/lib/app", &env.path("home").display().to_string());
        assert_shown(command, shown, &shell(&env, &here).end().code(0));
    }
}

/// Runs a command until it succeeds: a scheduler that has just been started reads its jobs meanwhile, or runs one.
fn insist(env: &TestEnv, command: &str) -> Output {
    for _ in 0..200 {
        let output = shell(env, command).end();
        if !matches!(output.code, 64 | 75) {
            return output.code(0);
        }
        sleep(Duration::from_millis(50));
    }
    shell(env, command).end().code(0)
}

/// In the order of the page: a scheduler is started, and controlled until the end.
#[test]
fn the_commands_for_jobs_work() {
    let env = TestEnv::new();
    let commands = transcripts(JOBS);
    assert!(commands.len() > 12);
    let (mut endless, mut printed) = (Vec::new(), String::new());
    for (command, _) in &commands {
        let (words, _) = command.split_once(" #").unwrap_or((command, ""));
        if words.trim_end().ends_with("schedule jobs.toml") || words.contains("--watch") {
            endless.push(shell(&env, &format!("exec {words}")));
            continue;
        }
        if words.contains(" stop ") {
            // It may not run at this moment.
            let code = shell(&env, words).end().code;
            assert!(matches!(code, 0 | 75), "{words}: {code}");
            continue;
        }
        if words.contains("--slot") || words.contains("--from") {
            // Its slots begin when this test does.
            shell(&env, words).end().code(64);
            continue;
        }
        let output = insist(&env, &words.replace("cancel ID", &format!("cancel {}", printed.trim_end())));
        if words.contains("add-once") {
            printed = output.stdout;
        }
    }
    assert_eq!(endless.len(), 2, "the scheduler, and what watches the jobs");
}

#[test]
fn the_unit_of_the_page_is_the_one_of_the_package() {
    assert!(JOBS.contains(&format!("```ini\n{UNIT}```\n")), "docs/jobs.md has to show {UNIT}");
}

/// Without the marks in front of settings, which leave the configuration of a fresh package empty.
#[test]
fn the_configuration_of_the_package_is_one_and_sets_nothing() {
    let env = TestEnv::new();
    assert!(CONFIGURATION.lines().all(|line| line.is_empty() || line.starts_with('#')));
    let settings = CONFIGURATION.lines().filter_map(|line| line.strip_prefix('#'));
    // Prose begins with a blank. The store of the tests has no password.
    let settings = settings.filter(|line| !line.starts_with(' ') && !line.starts_with("password_file"));
    let text = settings.collect::<Vec<_>>().join("\n").replace("redis://redis.example", &env.url());
    env.config(&text);
    let said = shell(&env, "unset COTTER_URL; cotter -v list").end().code(0).stderr;
    assert!(said.contains(&env.url()) && said.contains("from `default`"), "{said}");
}

#[test]
fn the_example_of_jobs_has_no_mistake() {
    let env = TestEnv::new();
    fs::write(env.path("example.toml"), EXAMPLE).unwrap();
    let line = format!("cotter schedule {} --validate", env.path("example.toml").display());
    shell(&env, &line).end().code(0);
}

/// Who changes what is in a store has to change what the page says of versions that share it.
#[test]
fn the_layouts_in_stores_are_those_of_the_page() {
    let env = TestEnv::new();
    env.run(["run", "orders", "--", "true"]).code(0);
    let lock = fs::read_to_string(env.path("locks/orders.lock")).unwrap();
    let layout = lock.lines().next().unwrap();
    assert!(OPERATING.contains(&format!("`{layout}`")), "{layout}");
    let print = ["--url", "postgres://h/db", "migrate", "--print"];
    let statements =
        env.anywhere(Path::new(env!("CARGO_BIN_EXE_cotter"))).args(print).output().unwrap().stdout;
    let statements = String::from_utf8(statements).unwrap();
    let functions: Vec<_> = statements
        .split("create or replace function ")
        .skip(1)
        .filter_map(|rest| rest.split('(').next())
        .collect();
    assert!(OPERATING.contains(&format!("five tables and {} functions", functions.len())));
    assert_eq!(statements.matches("create table if not exists").count(), 5);
    assert!(functions.iter().all(|name| name.ends_with("_v1")), "{functions:?}");
}
