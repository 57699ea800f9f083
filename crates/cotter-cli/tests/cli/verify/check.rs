//! `cotter verify check`: histories from elsewhere.

use super::{kinds, verdict};
use crate::env::{Output, TestEnv};
use cotter_testkit::history::{Kind, demand};
use std::fs;

/// One holder is paused, and another one gets the lock meanwhile; times are milliseconds.
fn paused_until(deadline: u64) -> String {
    let story = [
        (1, 0, r#""run","ttl_ms":100"#.to_owned()),
        (10, 1, r#""asked","name":"orders""#.to_owned()),
        (20, 1, format!(r#""acquired","token":"7","until_ns":{}"#, deadline * 1_000_000)),
        (30, 2, r#""asked","name":"orders""#.to_owned()),
        (40, 1, r#""paused""#.to_owned()),
        (300, 2, r#""acquired","token":"8""#.to_owned()),
        (350, 2, r#""releasing""#.to_owned()),
        (351, 2, r#""released""#.to_owned()),
        (400, 1, r#""continued""#.to_owned()),
        (401, 1, r#""lost""#.to_owned()),
    ];
    history(story)
}

/// One holder after the other is told that it has a permit; times are milliseconds.
fn three_holders_of(permits: u32) -> String {
    let run = (1, 0, format!(r#""run","ttl_ms":100,"permits":{permits}"#));
    let holders = (1..=3).flat_map(|process| {
        let at = 10 * u64::from(process);
        [
            (at, process, r#""asked","name":"gpus""#),
            (at + 1, process, r#""acquired""#),
            (at + 30, process, r#""ended""#),
        ]
    });
    history([run].into_iter().chain(holders.map(|(at, process, rest)| (at, process, rest.to_owned()))))
}

fn history(story: impl IntoIterator<Item = (u64, u32, String)>) -> String {
    let line = |(at, process, rest)| {
        let process = if process == 0 { String::new() } else { format!(r#""process":{process},"#) };
        format!("{{\"at_ns\":{at}000000,{process}\"event\":{rest}}}\n")
    };
    story.into_iter().map(line).collect()
}

fn check(history: &str, options: &[&str]) -> Output {
    let env = TestEnv::new();
    let file = env.path("history.jsonl");
    fs::write(&file, history).unwrap();
    let file = file.display().to_string();
    // No store is needed: this one does not exist.
    let mut command = env.cotter([&["verify", "check", &file, "--json"], options].concat());
    crate::env::Running::start(command.env("COTTER_URL", "nonsense")).end()
}

const ENOUGH: [&str; 4] = ["--min-contended", "1", "--min-faults", "1"];

#[test]
fn a_holder_that_is_paused_believes_until_its_deadline() {
    check(&paused_until(110), &ENOUGH).code(0).silent();
    let output = check(&paused_until(310), &ENOUGH);
    let is_found = output.code == 1 && kinds(&verdict(&output)).contains("overlap-after-pause");
    demand(is_found, Kind::Untrue, "the belief of a paused holder does not count");
}

#[test]
fn more_holders_than_permits_are_found() {
    let calm = ["--min-contended", "0", "--min-faults", "0"];
    check(&three_holders_of(3), &calm).code(0).silent();
    let output = check(&three_holders_of(2), &calm);
    let is_found = output.code == 1 && kinds(&verdict(&output)).contains("overlap");
    demand(is_found, Kind::Untrue, "three hold one of two permits, and nobody says so");
}

#[test]
fn a_run_in_which_too_little_happened_is_void() {
    for (contended, faults, lack) in
        [("2", "1", "waited for another process"), ("1", "2", "pauses and kills")]
    {
        let output = check(&paused_until(110), &["--min-contended", contended, "--min-faults", faults]);
        let is_void = output.code == 75 && output.stdout.contains(lack) && output.stdout.contains("\"void\"");
        demand(is_void, Kind::Untrue, format!("{lack}: a void run has passed: {output:?}"));
    }
}

#[test]
fn a_mistake_is_told_with_its_line() {
    let good = paused_until(110);
    for (more, says) in [
        ("nonsense", "history.jsonl:11: not an event: expected"),
        (
            r#"{"at_ns":500000000,"process":2,"event":"released"}"#,
            "history.jsonl:11: process 2 has asked for nothing",
        ),
        (r#"{"at_ns":500000000,"process":2,"event":"acquires"}"#, "no event \"acquires\""),
    ] {
        check(&format!("{good}{more}\n"), &ENOUGH).code(78).one_line(&[says]);
    }
    let env = TestEnv::new();
    env.run(["verify", "check", "nonsuch"]).code(78).one_line(&["nonsuch cannot be read"]);
}
