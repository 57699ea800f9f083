//! The file, `--validate` and `--next`.

use super::once;
use crate::env::{Running, TestEnv};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[test]
fn what_is_probably_a_mistake_is_a_warning() {
    let env = TestEnv::new();
    let text = "[job.never]\ncron = \"0 0 0 30 2 ?\"\ncommand = [\"true\"]\n\
                [job.past]\nonce_at = 2020-01-01T00:00:00Z\ncommand = [\"true\"]\nmisfire = \"once\"\n\
                [job.off]\nonce_at = 2020-01-01T00:00:00Z\ncommand = [\"true\"]\nenabled = false\n\
                [job.lost]\nfixed_rate = \"1h\"\ncommand = [\"no-such-program\"]\ncwd = \"/nowhere\"\n\
                [job.short]\nfixed_rate = \"1h\"\nshell = \"x\"\nmisfire_window = \"5s\"\n\
                [job.shaky]\nfixed_rate = \"5s\"\nshell = \"x\"\njitter = \"6s\"\n\
                [job.steady]\nfixed_rate = \"5s\"\nshell = \"x\"\njitter = \"5s\"\n\
                [job.sunday]\ncron = \"0 0 9 * * 1-5\"\nshell = \"x\"\nexclude = [\"* * * ? * 6,SUN\", \"* * * ? * SAT\"]\n\
                [job.twice]\ncron = \"0 0,20 3 * * ?\"\nshell = \"x\"\njitter = \"30m\"\n\
                [job.wait]\nfixed_delay = \"5s\"\nshell = \"x\"\njitter = \"6s\"\n";
    let path = env.jobs(text);
    let output = env.run(["schedule", path.to_str().unwrap(), "--validate"]).code(0);
    let lines: Vec<_> = output.stderr.lines().collect();
    let wanted = [
        "job \"lost\": the program \"no-such-program\" was not found on this host",
        "job \"lost\": `cwd`: \"/nowhere\" is not a directory on this host",
        "job \"never\": cron 0 0 0 30 FEB ? in UTC will never run again",
        "job \"past\": once at 2020-01-01T00:00:00Z will never run again",
        "job \"shaky\": `jitter` of 6s is longer than the time between two slots, 5s",
        "job \"short\": `misfire_window` of 5s is shorter than `late_within` of 60s, which has no effect",
        "job \"sunday\": `cron`: the day of the week `1-5` is SUN-THU here, as in Quartz, and MON-FRI in a crontab; write names",
        "job \"sunday\": `exclude`: the day of the week `6,SUN` is FRI,SUN here, as in Quartz, and SAT,SUN in a crontab; write names",
        "job \"twice\": `jitter` of 1800s is longer than the time between two slots, 1200s",
    ];
    assert_eq!(lines, wanted.map(|text| format!("cotter: {text}")), "{output:?}");
    let json = env.run(["--json", "schedule", path.to_str().unwrap(), "--validate"]).code(0).json();
    assert_eq!(json[0]["warnings"].as_array().unwrap().len(), 9);
    let path = env
        .jobs("url = \"redi://x\"\n[job.a]\nfixed_rate = \"1h\"\nshell = \"x\"\nmax_retry_delay = \"5s\"\n");
    let output = env.run(["schedule", path.to_str().unwrap(), "--validate"]).code(78);
    assert!(output.stderr.contains("line 2: `url`: configuration: unknown scheme \"redi\""), "{output:?}");
    assert!(output.stderr.contains("line 6: job \"a\": `max_retry_delay` is shorter"), "{output:?}");
    assert_eq!(output.stderr.lines().count(), 2, "each is told once: {output:?}");
}

/// Numbers of days are a crontab's as often as not.
#[test]
fn numbers_of_days_are_doubted_wherever_they_are_read() {
    let env = TestEnv::new();
    let doubted = env.run(["cron", "0 0 9 * * 1-5"]).code(0);
    assert!(
        doubted.stderr.contains("`1-5` is SUN-THU here") && doubted.stdout.lines().count() == 5,
        "{doubted:?}"
    );
    env.run(["--quiet", "cron", "0 0 9 * * 1-5"]).code(0).silent();
    env.run(["cron", "0 0 9 ? * SUN-THU"]).code(0).silent();
    env.run(["cron", "--crontab", "0 9 * * 1-5"]).code(0).silent();
    let refused = env.run(["cron", "0 9 * * 1-5"]).code(64);
    assert!(refused.stderr.contains("this line of a crontab is `0 0 9 ? * MON-FRI` here"), "{refused:?}");
}

#[test]
fn the_version_of_the_time_zones_is_shown() {
    let output = TestEnv::new().run(["--version"]).code(0);
    let zones = output.stdout.lines().nth(1).unwrap_or_default().strip_prefix("time zones 20");
    assert!(zones.is_some_and(|rest| rest.len() == 3), "{output:?}");
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let env = TestEnv::new();
    let text = "wrokers = 3\n[job.a]\ncron = \"0 0 25 * * ?\"\ncommand = \"true\"\n[job.b]\nfixed_rate = \"5\"\nshell = \"x\"\n";
    let path = env.jobs(text);
    let path = path.to_str().unwrap();
    for options in [&["schedule", path, "--validate"][..], &["schedule", path, "--next"], &["schedule", path]]
    {
        let output = env.run(options).code(78);
        let lines: Vec<_> = output.stderr.lines().collect();
        assert_eq!(lines.len(), 4, "{output:?}");
        for (line, says) in lines.iter().zip([
            "line 2: unknown key `wrokers`; did you mean `workers`?",
            "line 4: job \"a\": `cron`: ",
            "line 5: job \"a\": `command`: found a string; write [\"program\", \"argument\"]",
            "line 7: job \"b\": `fixed_rate`: a duration needs a unit: write 5s or 5ms",
        ]) {
            assert!(line.starts_with(&format!("cotter: {path}, ")) && line.contains(says), "{line} / {says}");
        }
    }
    let output = env.run(["--json", "schedule", path, "--validate"]).code(78).silent();
    let lines: Vec<_> = output.json().iter().map(|object| object["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [2, 4, 5, 7]);
}

#[test]
fn a_file_without_a_mistake_is_praised_without_a_store() {
    let env = TestEnv::new();
    let path = env.jobs(&format!("url = \"redis://127.0.0.1:1\"\n{}", once("a", "true")));
    let path = path.to_str().unwrap();
    let output = env.run(["schedule", path, "--validate"]).code(0).silent();
    assert!(output.stdout.ends_with("jobs.toml: 1 job in group \"g\", no mistakes\n"), "{output:?}");
}

#[test]
fn without_a_store_that_several_hosts_share_nothing_is_run() {
    let env = TestEnv::new();
    let path = env.jobs(&once("a", "true"));
    let path = path.to_str().unwrap();
    for args in
        [&["schedule", path][..], &["jobs", "--file", path, "list"], &["jobs", "--group", "g", "list"]]
    {
        let mut command = env.cotter(args);
        let output = Running::start(command.env_remove("COTTER_URL")).end().code(78);
        output.one_line(&["no store is set", "every host would run every job", "--url file:"]);
    }
    env.run(["--url", "file:", "jobs", "--group", "g", "list"]).code(0);
}

#[test]
fn a_store_that_does_not_answer_at_the_start_is_waited_for() {
    let env = TestEnv::new();
    let path = env.jobs(&format!("url = \"redis://127.0.0.1:1\"\n{}", once("a", "true")));
    let mut run = env.start(["schedule", path.to_str().unwrap()]);
    let line = run.error_line();
    assert!(line.contains("127.0.0.1:1") && line.ends_with("; retrying until it answers"), "{line}");
    run.signal(Signal::TERM);
    run.end().code(0);
}

#[test]
fn a_file_that_cannot_be_read_is_78() {
    let env = TestEnv::new();
    env.run(["schedule", "/nowhere/jobs.toml"]).code(78).one_line(&["/nowhere/jobs.toml", "cannot be read"]);
}

#[test]
fn what_runs_next_is_told_for_all_jobs_together() {
    let env = TestEnv::new();
    let path = env.jobs(
        "[job.yearly]\ncron = \"0 0 0 1 1 ?\"\nshell = \"x\"\n\
         [job.once]\nonce_at = 2098-02-01T00:00:00Z\nshell = \"x\"\n\
         [job.night]\ncron = \"0 0 0 1 1 ? 2099\"\ntimezone = \"Asia/Shanghai\"\nshell = \"x\"\n\
         [job.off]\ncron = \"* * * * * ?\"\nenabled = false\nshell = \"x\"\n\
         [job.over]\ncron = \"0 0 0 1 1 ? 2020\"\nshell = \"x\"\n\
         [job.poll]\nfixed_rate = \"10s\"\nshell = \"x\"\n",
    );
    let path = path.to_str().unwrap();
    let output = env.run(["schedule", path, "--next", "-n", "3"]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 8, "{output:?}");
    assert!(lines[..3].iter().all(|line| line.ends_with("-01-01T00:00:00Z  yearly")), "{output:?}");
    assert!(lines[3].ends_with("  once") && lines[4].contains("  night"), "of each job one slot: {output:?}");
    assert!(lines[5].contains("off") && lines[5].ends_with("disabled"), "{output:?}");
    assert!(lines[6].ends_with("cron 0 0 0 1 JAN ? 2020 in UTC, which will never run again"), "{output:?}");
    assert!(lines[7].contains("poll") && lines[7].ends_with("fixed rate 10s"), "{output:?}");
    let output = env.run(["--json", "schedule", path, "--next", "-n", "1000"]).code(0);
    let last = output.json().into_iter().rev().find(|object| !object["at"].is_null()).unwrap();
    assert_eq!(last["job"], "yearly");
    let found = |job: &str| output.json().iter().filter(|object| object["job"] == job).count();
    assert_eq!((found("once"), found("night"), found("poll")), (1, 1, 1));
}

#[test]
fn the_name_of_the_file_may_be_no_text() {
    let env = TestEnv::new();
    let path = env.path(".").join(OsStr::from_bytes(b"\xff.toml"));
    for (text, code, key) in
        [("x = 1\n", 78, "mistake"), ("group = \"g\"\n[job.a]\non_demand = true\nshell = \"x\"\n", 0, "jobs")]
    {
        fs::write(&path, text).unwrap();
        let args = [OsStr::new("--json"), "schedule".as_ref(), "--validate".as_ref(), path.as_ref()];
        let checked = env.run(args).code(code).json();
        assert!(checked[0]["file"].as_str().unwrap().ends_with("\u{fffd}.toml"), "{checked:?}");
        assert!(!checked[0][key].is_null(), "{checked:?}");
    }
}
