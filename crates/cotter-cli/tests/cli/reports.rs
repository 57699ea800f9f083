//! `--report FILE`, whatever FILE is: only a regular file is ever replaced.

use crate::env::{Output, Running, TestEnv};
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open};
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

fn run(env: &TestEnv, to: &Path) -> Output {
    env.run(["run", "--report", to.to_str().unwrap(), "a", "--", "echo", "ran"]).code(0)
}

#[track_caller]
fn assert_report(text: &str) {
    let told: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text:?}"));
    assert_eq!((&told["name"], &told["outcome"]), (&"a".into(), &"exited".into()));
}

fn node(path: &Path, kind: FileType, device: u64) -> rustix::io::Result<()> {
    mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, device)
}

#[test]
fn a_pipe_is_written_into_and_stays() {
    let env = TestEnv::new();
    let (fifo, link) = (env.path("fifo"), env.path("link"));
    node(&fifo, FileType::Fifo, 0).unwrap();
    symlink(&fifo, &link).unwrap();
    for path in [&fifo, &link] {
        // No child of another test keeps it open.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut reader = File::from(open(&fifo, flags, Mode::empty()).unwrap());
        run(&env, path);
        let is_fifo = fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo();
        assert!(is_fifo && link.is_symlink(), "violation[replaced]: {path:?} was replaced by a report");
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_report(&text);
    }
    run(&env, &fifo).one_line(&["was not written", "nobody reads from it"]);
}

/// A copy of `/dev/null`, which only root can make.
#[test]
fn a_device_stays_a_device() {
    let env = TestEnv::new();
    let device = env.path("null");
    if node(&device, FileType::CharacterDevice, makedev(1, 3)).is_err() {
        return;
    }
    run(&env, &device);
    let kind = fs::symlink_metadata(&device).unwrap().file_type();
    assert!(kind.is_char_device(), "violation[replaced]: a device was replaced by a report");
}

#[test]
fn a_link_keeps_leading_to_its_file() {
    let env = TestEnv::new();
    let (target, link) = (env.path("target"), env.path("link"));
    symlink("target", &link).unwrap();
    for _ in 0..2 {
        run(&env, &link).silent();
        assert!(link.is_symlink());
        assert_report(&fs::read_to_string(&target).unwrap());
        fs::write(&target, "old").unwrap();
    }
}

#[test]
fn standard_output_has_it_behind_what_the_command_has_written() {
    for to in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let env = TestEnv::new();
        let text = run(&env, Path::new(to)).silent().stdout;
        assert_report(text.strip_prefix("ran\n").unwrap());
        // The same where it is a file, which has a position.
        let out = env.path("out");
        let script = format!("exec \"$0\" run --report {to} a echo ran > {}", out.display());
        let mut sh = env.anywhere(Path::new("sh"));
        sh.args(["-c", &script, env!("CARGO_BIN_EXE_cotter")]).env("COTTER_URL", env.url());
        Running::start(&mut sh).end().code(0).silent();
        let text = fs::read_to_string(&out).unwrap();
        assert_report(text.strip_prefix("ran\n").unwrap_or_else(|| panic!("{to}: {text:?}")));
    }
}

#[test]
fn a_descriptor_that_was_inherited_has_it() {
    let env = TestEnv::new();
    let script = "\"$0\" run --report >(cat >&2) a true 2>/dev/null; wait $!";
    let mut bash = env.anywhere(Path::new("bash"));
    bash.args(["-c", script, env!("CARGO_BIN_EXE_cotter")]).env("COTTER_URL", env.url());
    assert_report(&Running::start(&mut bash).end().code(0).stderr);
    let log = env.path("log");
    let script =
        format!("echo before > {0}; exec 9>>{0}; \"$0\" run --report /dev/fd/9 a true", log.display());
    let mut bash = env.anywhere(Path::new("bash"));
    bash.args(["-c", &script, env!("CARGO_BIN_EXE_cotter")]).env("COTTER_URL", env.url());
    Running::start(&mut bash).end().code(0).silent();
    assert_report(fs::read_to_string(log).unwrap().strip_prefix("before\n").unwrap());
}

#[test]
fn what_cannot_be_written_is_said_and_nothing_is_left_behind() {
    let env = TestEnv::new();
    let folder = env.path("folder");
    fs::create_dir(&folder).unwrap();
    let files = || fs::read_dir(env.path(".")).unwrap().count();
    let before = files();
    run(&env, &folder).one_line(&["folder", "was not written", "directory"]);
    run(&env, &env.path("nowhere/report")).one_line(&["nowhere/report", "was not written"]);
    assert_eq!((files(), fs::read_dir(&folder).unwrap().count()), (before, 0));
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_rights() {
    let env = TestEnv::new();
    let file = env.path("report");
    run(&env, &file).silent();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let (before, mut old) = (fs::metadata(&file).unwrap(), File::open(&file).unwrap());
    run(&env, &file).silent();
    let after = fs::metadata(&file).unwrap();
    assert_eq!(after.mode() & 0o777, 0o640);
    assert_ne!(before.ino(), after.ino(), "who reads the old one reads all of it");
    let mut text = String::new();
    old.read_to_string(&mut text).unwrap();
    assert_report(&text);
}

#[test]
fn two_runs_at_once_do_not_disturb_each_other() {
    let env = TestEnv::new();
    let file = env.path("report");
    for _ in 0..5 {
        let args = |name: &'static str| ["run", "--report", file.to_str().unwrap(), name, "true"];
        let runs: Vec<_> = ["a", "b", "c", "d"].into_iter().map(|name| env.start(args(name))).collect();
        for run in runs {
            run.end().code(0).silent();
        }
        let told: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(told["outcome"], "exited");
        fs::remove_file(&file).unwrap();
    }
    let left = fs::read_dir(env.path("."))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    assert!(left.into_iter().all(|name| !name.contains("report")));
}

/// An old report would be taken for that of this run.
#[test]
fn it_is_written_if_there_is_no_store() {
    let env = TestEnv::new();
    let file = env.path("report");
    fs::write(&file, "old").unwrap();
    let file = file.to_str().unwrap();
    env.run(["--store", "nowhere", "run", "--report", file, "a", "true"]).code(78).one_line(&["\"nowhere\""]);
    let told: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!((&told["outcome"], &told["code"]), (&"failed".into(), &78.into()));
    assert!(told["error"].as_str().unwrap().contains("nowhere"), "{told}");
}
