//! `cotter` for users who may start nothing more or write nothing more, have no home, or no space left.

use crate::env::{Output, Running, TestEnv};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
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

    fn run(&self, args: &[&str]) -> Output {
        self.run_by(Command::new(&self.cotter), args)
    }

    /// Without the right to start another thread.
    fn run_alone(&self, args: &[&str]) -> Output {
        let mut limited = Command::new("prlimit");
        limited.arg("--nproc=1").arg(&self.cotter);
        self.run_by(limited, args)
    }

    fn run_by(&self, mut command: Command, args: &[&str]) -> Output {
        command.args(args).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).current_dir("/");
        if is_root() {
            command.uid(STRANGER).gid(STRANGER);
        }
        Running::start(&mut command).end()
    }
}

/// An error that says why, and not a panic; and nothing is left.
#[test]
fn who_may_start_no_thread_is_told_so() {
    let stranger = Stranger::new();
    let url = stranger.env.url();
    for args in [&["--url", &url, "run", "a", "true"][..], &["--url", &url, "list"]] {
        let output = stranger.run_alone(args).code(69);
        output.one_line(&["engine could not be started", "Resource temporarily unavailable"]);
    }
    stranger.run(&["--url", &url, "run", "-n", "a", "true"]).code(0).silent();
    let jobs = stranger.env.jobs("[job.a]\nfixed_rate = \"1s\"\ncommand = [\"true\"]\n");
    let output = stranger.run_alone(&["--url", &url, "schedule", jobs.to_str().unwrap()]).code(71);
    output.one_line(&["cannot start a thread: Resource temporarily unavailable"]);
}

/// The limit of a shell for its files is an error as well, and the command is ended by it as usual.
#[test]
fn who_may_not_write_to_a_file_is_told_so() {
    let env = TestEnv::new();
    let run = |limit: &str, script: &str| {
        let cotter = env.cotter(["run", "a", "--", "sh", "-c", script]);
        let mut limited = Command::new("prlimit");
        limited.arg(limit).arg(cotter.get_program()).args(cotter.get_args()).env_clear();
        limited.envs(cotter.get_envs().filter_map(|(key, value)| Some((key, value?))));
        Running::start(&mut limited).end()
    };
    run("--fsize=0", "true").code(69).one_line(&["a.lock failed: File too large"]);
    run("--fsize=unlimited", "kill -XFSZ $$").code(128 + 25).silent();
}

/// The lock of a path does not need a home; the default store does, and says what to do.
#[test]
fn who_has_no_home_locks_a_path() {
    let stranger = Stranger::new();
    let url = format!("flock:{}", stranger.env.path("lock").display());
    stranger.run(&["--url", &url, "run", "a", "true"]).code(0).silent();
    if is_root() {
        let output = stranger.run(&["run", "a", "true"]).code(78);
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
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    assert!(modified > SystemTime::now() - Duration::from_secs(3600), "{modified:?}");
}
