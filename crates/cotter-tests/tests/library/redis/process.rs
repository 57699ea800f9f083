//! What befalls a whole process: it forks, or runs out of descriptors. Each in a process of its own.

use cotter::{Client, ErrorKind};
use cotter_testkit::in_own_process;
use cotter_testkit::servers::{Redis, forking_library};
use rustix::process::{Pid, Resource, Signal, WaitOptions, getrlimit, kill_process, setrlimit, waitpid};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

/// Names the server to that process.
const URL: &str = "COTTER_TEST_URL";

fn url() -> String {
    std::env::var(URL).unwrap()
}

#[test]
#[ignore = "needs redis-server and cc"]
fn a_fork_connects_anew() {
    let prepare = |command: &mut Command| {
        let (server, folder) = (Redis::start(), tempfile::tempdir().unwrap());
        let library = forking_library(folder.path()).unwrap();
        command.env(URL, server.url("")).env("LD_PRELOAD", library);
        (server, folder)
    };
    in_own_process("redis::process::a_fork_connects_anew", prepare, fork);
}

/// In a process where asking for the parent forks.
fn fork() {
    let client = Client::connect(url()).wait().unwrap();
    let held = client.mutex("a").lock().wait().unwrap();
    let pid = std::os::unix::process::parent_id();
    if pid == 0 {
        std::process::exit(i32::from(!in_the_child(&client)));
    }
    let (pid, end) = (Pid::from_raw(pid as i32).unwrap(), Instant::now() + Duration::from_secs(15));
    let status = loop {
        if let Some((_, status)) = waitpid(Some(pid), WaitOptions::NOHANG).unwrap() {
            break status;
        }
        if Instant::now() > end {
            kill_process(pid, Signal::KILL).unwrap();
        }
        // The same thread as that of the child makes claims at the same time.
        drop(client.mutex("b").lock().wait().unwrap());
        std::thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(status.exit_status(), Some(0), "the child: {status:?}");
    assert!(held.is_valid());
    held.finish().wait().unwrap();
}

/// What stays to be done where only one thread is left.
fn in_the_child(theirs: &Client) -> bool {
    let refused = theirs.mutex("b").lock().wait().err().map(|e| e.kind()) == Some(ErrorKind::Misuse);
    let Ok(ours) = Client::connect(url()).wait() else { return false };
    // Two processes that make the same claim ids would each be given the lock of the other.
    let excluded = (0..100).all(|_| matches!(ours.mutex("a").try_lock().wait(), Ok(None)));
    let works = (0..20).all(|_| ours.mutex("b").lock().wait().is_ok_and(|g| g.release().wait().is_ok()));
    refused && excluded && works
}

#[test]
#[ignore = "needs redis-server"]
fn without_descriptors_there_is_an_error() {
    let prepare = |command: &mut Command| {
        let server = Redis::start();
        command.env(URL, server.url(""));
        server
    };
    in_own_process(
        "redis::process::without_descriptors_there_is_an_error",
        prepare,
        run_short_of_descriptors,
    );
}

fn run_short_of_descriptors() {
    std::panic::set_hook(Box::new(|panic| {
        let _ = writeln!(std::io::stderr(), "{panic}");
        std::process::exit(101);
    }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1;
    let all = getrlimit(Resource::Nofile);
    let mut errors = 0;
    for spare in 0.. {
        setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(open + spare), ..all }).unwrap();
        match runtime.block_on(Client::connect(url())) {
            Ok(client) => {
                drop(runtime.block_on(client.mutex("a").lock()).unwrap());
                break;
            }
            Err(e) => {
                assert_eq!((e.kind(), e.is_retryable()), (ErrorKind::Unavailable, true), "{e}");
                errors += 1;
            }
        }
    }
    // The portable clock has no descriptor of its own.
    let least = if cfg!(cotter_portable) { 1 } else { 3 };
    assert!(errors > least, "{errors}");
}
