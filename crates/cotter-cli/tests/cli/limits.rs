//! `cotter` for users who may start nothing more, have no home, or no space left.

use crate::env::{Output, Running, TestEnv};
use std::ffi::OsString;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A user of whom nobody knows anything. Without the right to be somebody else, this one.
const STRANGER: u32 = 61_234;

struct Stranger {
    env: TestEnv,
    cotter: PathBuf,
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Stranger {
    /// With a copy of `cotter` in a directory of its own: that of the build may be closed to others.
    fn new() -> Self {
        let env = TestEnv::new();
        let cotter = env.path("cotter");
        std::fs::copy(env!("CARGO_BIN_EXE_cotter"), &cotter).unwrap();
        if is_root() {
            for path in [env.path(""), env.path("locks"), cotter.clone()] {
                chown(path, Some(STRANGER), Some(STRANGER)).unwrap();
            }
        }
        Self { env, cotter }
    }

    /// At most so many processes and threads; none: as many as it likes.
    fn run(&self, most: Option<u32>, args: &[&str]) -> Output {
        let limited = |most| ["prlimit".into(), format!("--nproc={most}").into(), self.cotter.clone().into()];
        let program: Vec<OsString> =
            most.map_or_else(|| vec![self.cotter.clone().into()], |m| limited(m).into());
        let mut command: Command = self.env.anywhere(Path::new(&program[0]));
        command.args(&program[1..]).args(args).env_remove("HOME").current_dir("/");
        if is_root() {
            command.uid(STRANGER).gid(STRANGER);
        }
        Running::start(&mut command).end()
    }
}

/// An error that says why, and not a panic; and nothing is left.
#[test]
fn who_may_start_no_thread_is_told_so() {
    let (stranger, url) = (Stranger::new(), |s: &Stranger| s.env.url());
    for args in [&["run", "a", "true"][..], &["list"]] {
        let output = stranger.run(Some(1), &[&["--url", &url(&stranger)], args].concat()).code(69);
        output.one_line(&["engine could not be started", "Resource temporarily unavailable"]);
    }
    stranger.run(None, &["--url", &url(&stranger), "run", "-n", "a", "true"]).code(0).silent();
}

/// The lock of a path does not need a home; the default store does, and says what to do.
#[test]
fn who_has_no_home_locks_a_path() {
    let stranger = Stranger::new();
    let url = format!("flock:{}", stranger.env.path("lock").display());
    stranger.run(None, &["--url", &url, "run", "a", "true"]).code(0).silent();
    if is_root() {
        let output = stranger.run(None, &["run", "a", "true"]).code(78);
        output.one_line(&["61234 has no home directory for the locks", "--url file:"]);
    }
}

/// Services that tidy up temporary directories go by the times of a file.
#[test]
fn a_file_that_is_locked_is_not_old() {
    let env = TestEnv::new();
    let path = env.path("lock");
    let file = std::fs::File::create(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(11 * 86_400)).unwrap();
    env.run(["--url", &format!("flock:{}", path.display()), "run", "a", "true"]).code(0);
    let age = std::fs::metadata(&path).unwrap().modified().unwrap().elapsed().unwrap_or_default();
    assert!(age < Duration::from_secs(60), "{age:?}");
}
