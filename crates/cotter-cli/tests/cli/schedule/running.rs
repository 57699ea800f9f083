//! Jobs that run: what they see, what is told, and that nothing of them outlives their locks.

use super::{event, once, printed};
use crate::env::{TestEnv, is_alive};
use cotter_testkit::timing::until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

#[test]
fn a_command_sees_its_slot_and_nothing_to_read() {
    let env = TestEnv::new();
    let script = "cat; pwd; echo $MODE; echo $COTTER_NAME; echo $COTTER_URL; echo $COTTER_SLOT; echo $COTTER_ATTEMPT; echo $COTTER_TOKEN";
    let mut text = once("a", script);
    text.push_str(&format!("cwd = \"{}\"\nenv = {{ MODE = \"live\" }}\n", env.path("home").display()));
    let mut run = env.schedule(&text);
    let started = event(&mut run, "started");
    assert_eq!((&started["job"], &started["slot"]), (&"a".into(), &"2020-01-01T00:00:00Z".into()));
    let seen: Vec<String> = (0..7).map(|_| printed(&mut run)).collect();
    let home = fs::canonicalize(env.path("home")).unwrap();
    let url = env.url();
    let token = started["token"].as_str().unwrap().to_owned();
    assert_eq!(seen, [home.to_str().unwrap(), "live", "g/a", &url, "2020-01-01T00:00:00Z", "1", &token]);
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["outcome"], &ended["code"]), (&"ok".into(), &0.into()));
    assert!(ended["took_ms"].as_u64().is_some());
    run.signal(Signal::TERM);
    run.end().code(0).silent();
}

#[test]
fn how_a_command_ended_is_told() {
    let env = TestEnv::new();
    let missing = "[job.d]\nonce_at = 2020-01-01T00:00:00Z\nlate_within = \"87600h\"\nmisfire_window = \"87600h\"\ncommand = [\"nowhere\"]\n";
    let text =
        [once("a", "exit 3"), once("b", "kill -9 $$"), once("c", "sleep 600 & exit 0"), missing.into()];
    let mut run = env.schedule(&text.concat());
    let mut found = Vec::new();
    while found.len() < 4 {
        let event = event(&mut run, "ended");
        found.push(format!("{} {} {} {}", event["job"], event["outcome"], event["code"], event["reason"]));
    }
    found.sort();
    assert_eq!(
        found,
        [
            "\"a\" \"failed\" 3 \"exit code 3\"",
            "\"b\" \"failed\" 137 \"killed by signal 9\"",
            "\"c\" \"ok\" 0 null",
            "\"d\" \"failed\" null \"\\\"nowhere\\\": command not found: check its spelling and PATH\"",
        ]
    );
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn for_people_there_is_a_line_for_each_event() {
    let env = TestEnv::new();
    let path = env.jobs(&once("a", "exit 3"));
    let mut run = env.start(["schedule", path.to_str().unwrap()]);
    let wanted = format!(
        "cotter: scheduling 1 job of group \"g\" at {}; no slot is known before the first run",
        env.url()
    );
    assert_eq!(run.error_line(), wanted);
    assert!(run.error_line().starts_with("cotter: a: started for 2020-01-01T00:00:00Z with token "));
    let ended = run.error_line();
    assert!(ended.starts_with("cotter: a: ended for 2020-01-01T00:00:00Z after "), "{ended}");
    assert!(ended.ends_with(": failed: exit code 3"), "{ended}");
    run.signal(Signal::INT);
    assert!(run.error_line().contains("no more runs are started"));
    run.end().code(0);
}

#[test]
fn the_first_line_names_the_store_and_the_next_slot() {
    let env = TestEnv::new();
    let text = "[job.b]\nonce_at = 2098-02-01T00:00:00Z\nshell = \"x\"\n\
                [job.a]\ncron = \"0 0 0 1 1 ? 2099\"\nshell = \"x\"\n\
                [job.off]\ncron = \"* * * * * ?\"\nenabled = false\nshell = \"x\"\n\
                [job.rate]\nfixed_rate = \"1h\"\ninitial_delay = \"1h\"\nshell = \"x\"\n";
    let path = env.jobs(text);
    let mut run = env.start(["schedule", path.to_str().unwrap()]);
    let next = "; the next slot is that of \"b\", at 2098-02-01T00:00:00Z";
    let line = format!("scheduling 4 jobs of group \"g\" at {}{next}", env.url());
    assert_eq!(run.error_line(), format!("cotter: {line}"));
    run.signal(Signal::TERM);
    run.end().code(0);
    let mut run = env.schedule(text);
    let told = event(&mut run, "remark");
    assert_eq!(told["message"], line);
    assert_eq!((&told["group"], &told["store"], &told["jobs"]), (&"g".into(), &env.url().into(), &4.into()));
    assert_eq!(told["next"], serde_json::json!({ "job": "b", "at": "2098-02-01T00:00:00Z" }));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn what_commands_print_is_told_by_line_as_objects() {
    let env = TestEnv::new();
    let long = "head -c 20000 /dev/zero | tr '\\0' x; echo";
    let script = format!("echo a; echo b >&2; printf 'c\\377\\033[1m'; printf '\\n\\n'; {long}; printf end");
    let mut run = env.schedule(&once("a", &script));
    event(&mut run, "started");
    let mut lines = [Vec::new(), Vec::new()];
    let ended = loop {
        let event: serde_json::Value = serde_json::from_str(&run.line()).unwrap();
        if event["event"] != "output" {
            break event;
        }
        assert_eq!((&event["job"], &event["slot"]), (&"a".into(), &"2020-01-01T00:00:00Z".into()));
        lines[usize::from(event["stream"] == "stderr")].push(event["line"].as_str().unwrap().to_owned());
    };
    assert_eq!(ended["event"], "ended", "after all that was printed");
    let [out, err] = &lines;
    assert_eq!(err[..], ["b"]);
    assert_eq!(out[..3], ["a", "c\u{fffd}\u{1b}[1m", ""]);
    assert_eq!(out[3..5].iter().map(String::len).collect::<Vec<_>>(), [16 * 1024, 20_000 - 16 * 1024]);
    assert_eq!(out[5..], ["end"], "without a line break");
    run.signal(Signal::TERM);
    run.end().code(0).silent();
}

#[test]
fn for_people_each_line_of_a_command_has_the_name_of_its_job() {
    let env = TestEnv::new();
    let path =
        env.jobs(&[once("a", "echo one; printf two; echo three >&2"), once("long", "echo four")].concat());
    let mut run = env.start(["-q", "schedule", path.to_str().unwrap()]);
    let mut lines = [run.line(), run.line(), run.line()];
    lines.sort();
    assert_eq!(lines, ["a    | one", "a    | two", "long | four"]);
    assert_eq!(run.error_line(), "a    | three");
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_pipe_that_somebody_else_keeps_open_does_not_keep_the_run() {
    let env = TestEnv::new();
    let (path, pid) = (env.path("pipe"), env.path("pid"));
    // A process of the test opens the output of the command.
    let script =
        format!("echo $$ > {}; while [ ! -e {} ]; do sleep 0.02; done", pid.display(), path.display());
    let mut run = env.schedule(&once("a", &script));
    let read = || fs::read_to_string(&pid).ok()?.trim().parse::<u32>().ok();
    until("it runs", || read().is_some());
    let kept = fs::OpenOptions::new().write(true).open(format!("/proc/{}/fd/1", read().unwrap())).unwrap();
    fs::write(&path, "").unwrap();
    assert_eq!(event(&mut run, "ended")["outcome"], "ok");
    drop(kept);
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn with_quiet_only_failures_are_told() {
    let env = TestEnv::new();
    let path = env.jobs(&[once("a", "exit 3"), once("b", "true")].concat());
    let mut run = env.start(["-q", "schedule", path.to_str().unwrap()]);
    let line = run.error_line();
    assert!(line.starts_with("cotter: a: ended for ") && line.ends_with(": failed: exit code 3"), "{line}");
    let has_ended = |job| !env.run(["--json", "jobs", "--group", "g", "history", job]).stdout.is_empty();
    until("the other one has ended", || has_ended("b"));
    run.signal(Signal::TERM);
    let output = run.end().code(0);
    assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    let path = env.jobs(&[once("c", "echo out; exit 3"), once("d", "true")].concat());
    let run = env.start(["-q", "--json", "schedule", path.to_str().unwrap()]);
    until("both have ended", || has_ended("c") && has_ended("d"));
    run.signal(Signal::TERM);
    let output = run.end().code(0);
    let kinds: Vec<_> = output.json().iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["output", "ended"], "{output:?}");
}

#[test]
fn when_one_shim_is_killed_the_other_command_goes_on() {
    let env = TestEnv::new();
    let orphan =
        "setsid sh -c 'trap \"\" TERM; echo orphan=$$; while :; do sleep 0.1; done' & echo shim=$PPID; wait";
    let other = "setsid sh -c 'echo other=$$; sleep 600' & sleep 0.2; while [ ! -e \"$0\" ]; do sleep 0.02; done; kill $!; echo well";
    let mark = env.path("mark");
    let other = other.replace("$0", mark.to_str().unwrap());
    let mut run = env.schedule(&[once("a", orphan), once("b", &other)].concat());
    let (mut shim, mut orphan, mut other) = (None, None, None);
    while shim.is_none() || orphan.is_none() || other.is_none() {
        let line = printed(&mut run);
        let (word, pid) = line.split_once('=').unwrap();
        let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
        run.wards.push(pid);
        match word {
            "shim" => shim = Some(pid),
            "orphan" => orphan = Some(pid),
            _ => other = Some(pid),
        }
    }
    kill_process(shim.unwrap(), Signal::KILL).unwrap();
    assert_eq!(event(&mut run, "ended")["job"], "a");
    assert!(!is_alive(orphan.unwrap()));
    assert!(is_alive(other.unwrap()));
    fs::write(mark, "").unwrap();
    assert_eq!(printed(&mut run), "well");
    let ended = event(&mut run, "ended");
    assert_eq!((&ended["job"], &ended["outcome"]), (&"b".into(), &"ok".into()));
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn when_cotter_is_killed_nothing_is_left_and_the_locks_are_free() {
    let env = TestEnv::new();
    let script = "setsid sh -c 'echo $$; sleep 600' & sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done' & wait";
    let mut run =
        env.schedule(&["[defaults]\nttl = \"1s\"\n".into(), once("a", script), once("b", script)].concat());
    let wards: Vec<Pid> =
        (0..4).map(|_| Pid::from_raw(printed(&mut run).parse().unwrap()).unwrap()).collect();
    run.wards.extend(&wards);
    run.signal(Signal::KILL);
    for name in ["g/a", "g/b"] {
        env.run(["run", "-q", name, "true"]).code(0);
    }
    until("all are gone", || wards.iter().all(|ward| !is_alive(*ward)));
}

#[test]
fn a_run_of_its_own_lock_inside_a_job_is_refused() {
    let env = TestEnv::new();
    let script = format!("{} run g/a true; echo code=$?", env!("CARGO_BIN_EXE_cotter"));
    let mut run = env.schedule(&once("a", &script));
    assert_eq!(printed(&mut run), "code=64");
    run.signal(Signal::TERM);
    let output = run.end().code(0);
    assert!(output.stdout.contains("would be a deadlock"), "{output:?}");
}

#[test]
fn a_password_of_the_file_is_seen_by_nobody() {
    let env = TestEnv::new();
    let url = "nope://ann:canary-7f3a@h";
    let path = env.jobs(&format!("url = \"{url}\"\n{}", once("a", "true")));
    let output = env.run(["-v", "schedule", path.to_str().unwrap()]).code(78);
    assert!(!output.stderr.contains("canary"), "{output:?}");
}

/// As long as it may be with a job of one letter: longer than the label of a holder.
#[test]
fn the_name_of_a_group_may_be_long() {
    let env = TestEnv::new();
    let path = env.path("jobs.toml");
    fs::write(&path, format!("group = \"{}\"\n{}", "ä".repeat(255), once("a", "echo ran"))).unwrap();
    let mut run = env.start(["schedule", path.to_str().unwrap()]);
    assert_eq!(run.line(), "a | ran");
    run.signal(Signal::TERM);
    run.end().code(0);
}
