//! The shim itself, spoken to as cotter does: what it does without anybody to tell it why.

use crate::env::{TestEnv, is_alive};
use cotter_testkit::timing::until;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    recv, sendmsg, socketpair,
};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::fs::File;
use std::io::{IoSlice, PipeReader, PipeWriter, Read, Seek, Write, pipe};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A shim, our end of its socket, and what its command prints.
struct Shim {
    socket: OwnedFd,
    process: Child,
    output: PipeReader,
    /// Open at the other end for as long as the shim keeps what the lock lives on.
    lock: PipeReader,
    kept: Option<PipeWriter>,
    /// The words of the command, each with a zero behind it.
    words: File,
}

impl Shim {
    fn new(env: &TestEnv, words: &[&str]) -> Self {
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (socket, theirs) = pair.unwrap();
        let (output, writer) = pipe().unwrap();
        let (lock, kept) = pipe().unwrap();
        let mut command = env.anywhere(Path::new(env!("CARGO_BIN_EXE_cotter")));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(words.iter().map(|word| format!("{word}\0")).collect::<String>().as_bytes()).unwrap();
        file.rewind().unwrap();
        command.arg("__child").process_group(0).stdin(theirs).stdout(writer);
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        Self { socket, process, output, lock, kept: Some(kept), words: file }
    }

    /// With a command that runs.
    fn start(env: &TestEnv, script: &str, grace: Duration) -> (Self, Pid) {
        let mut shim = Self::new(env, &["sh", "-c", script]);
        shim.order_to_start(grace);
        let news = shim.news();
        let command = news.strip_prefix("started ").and_then(|rest| rest.split_once(' ')).unwrap().1;
        let command = Pid::from_raw(command.parse().unwrap()).unwrap();
        assert_eq!(shim.line(), "ready");
        (shim, command)
    }

    fn order_to_start(&mut self, grace: Duration) {
        let (nothing, kept) = (File::open("/dev/null").unwrap(), self.kept.take().unwrap());
        self.send(
            &format!("start {} 0", grace.as_nanos()),
            &[nothing.as_fd(), self.words.as_fd(), kept.as_fd()],
        );
    }

    fn order(&self, line: &str) {
        self.send(line, &[]);
    }

    fn send(&self, line: &str, descriptors: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        sendmsg(&self.socket, &[IoSlice::new(line.as_bytes())], &mut control, SendFlags::NOSIGNAL).unwrap();
    }

    /// The next; empty at the end.
    fn news(&self) -> String {
        let mut bytes = [0; 128];
        let (read, _) = recv(&self.socket, &mut bytes, RecvFlags::empty()).unwrap();
        String::from_utf8(bytes[..read].to_vec()).unwrap()
    }

    /// The next that the command has printed; empty at the end.
    fn line(&mut self) -> String {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while self.output.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    /// Cotter is dead: its end is closed.
    fn forsake(&mut self) {
        let nothing = File::open("/dev/null").unwrap();
        self.socket = fcntl_dupfd_cloexec(&nothing, 0).unwrap();
    }

    /// Back when the lock is free.
    fn until_free(&mut self) {
        assert_eq!(self.lock.read(&mut [0]).unwrap(), 0);
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        self.forsake();
        let _ = self.process.wait();
    }
}

/// Whether there is something to hear within this time.
fn is_heard(shim: &Shim, within: Duration) -> bool {
    let within = Timespec { tv_sec: within.as_secs().try_into().unwrap(), tv_nsec: 0 };
    poll(&mut [PollFd::new(&shim.socket, PollFlags::IN)], Some(&within)).unwrap() == 1
}

/// On the clock that the shim goes by.
fn after(duration: Duration) -> u128 {
    let now = clock_gettime(ClockId::Boottime);
    u128::try_from(now.tv_sec).unwrap() * 1_000_000_000
        + u128::try_from(now.tv_nsec).unwrap()
        + duration.as_nanos()
}

const SECOND: Duration = Duration::from_secs(1);
/// Says when it is told to stop, and goes on.
const DEAF: &str = "trap 'echo told' TERM; echo ready; while :; do sleep 0.02; done";

#[test]
fn a_command_that_ends_is_told_with_its_status_and_the_lock_is_free() {
    let env = TestEnv::new();
    let (mut shim, _) = Shim::start(&env, "echo ready; exit 3", SECOND);
    assert_eq!(shim.news(), format!("ended {} 0", 3 << 8));
    shim.until_free();
    assert!(shim.process.wait().unwrap().success());
}

#[test]
fn when_cotter_is_dead_the_lock_is_kept_until_the_last_one_is_gone() {
    let env = TestEnv::new();
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > \"$0\"; while :; do sleep 0.02; done' \"$0\" & \
                  until [ -s \"$0\" ]; do sleep 0.01; done; trap 'echo told; exit' TERM; echo ready; wait";
    let pid = env.path("pid");
    let script = script.replace("$0", pid.to_str().unwrap());
    let (mut shim, command) = Shim::start(&env, &script, Duration::from_millis(200));
    let other = Pid::from_raw(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap()).unwrap();
    shim.forsake();
    shim.until_free();
    assert!(
        !is_alive(command) && !is_alive(other),
        "violation[outlived]: the lock is free, the command runs"
    );
    assert_eq!(shim.line(), "told");
}

#[test]
fn without_a_new_deadline_it_stops_the_command_by_itself() {
    let env = TestEnv::new();
    let (mut shim, command) = Shim::start(&env, DEAF, SECOND);
    shim.order(&format!("until {} {}", after(300 * SECOND), after(400 * SECOND)));
    shim.order(&format!("until {} {}", after(SECOND / 10), after(SECOND / 2)));
    let in_time = is_heard(&shim, 20 * SECOND);
    assert!(in_time, "violation[overdue]: the command runs beyond its deadline");
    assert_eq!(shim.news(), "overdue 0 0");
    assert_eq!(shim.line(), "told");
    assert_eq!(shim.news(), "over 0 0");
    assert!(!is_alive(command));
    shim.until_free();
}

#[test]
fn after_its_deadline_nothing_is_started() {
    let env = TestEnv::new();
    let mark = env.path("mark");
    let mut shim = Shim::new(&env, &["touch", mark.to_str().unwrap()]);
    shim.order("until 1 2");
    shim.order_to_start(SECOND);
    assert_eq!(shim.news(), "overdue 0 0");
    shim.until_free();
    assert!(!mark.exists());
}

#[test]
fn a_stop_without_time_is_no_request() {
    let env = TestEnv::new();
    let (mut shim, command) = Shim::start(&env, DEAF, SECOND);
    shim.order("stop 0 0");
    assert_eq!(shim.news(), "over 0 0");
    assert!(!is_alive(command));
    assert_eq!(shim.line(), "", "it was told");
}

#[test]
fn what_makes_no_sense_is_as_good_as_a_dead_cotter() {
    let env = TestEnv::new();
    let (mut shim, command) = Shim::start(&env, DEAF, SECOND / 10);
    shim.order("dance 0 0");
    assert_eq!(shim.line(), "told");
    shim.until_free();
    assert!(!is_alive(command));
}

#[test]
fn why_a_command_cannot_run_is_told() {
    let env = TestEnv::new();
    let mut shim = Shim::new(&env, &["/nowhere"]);
    shim.order_to_start(SECOND);
    assert_eq!(shim.news(), "failed 2 0");
    shim.until_free();
}

#[test]
fn a_command_that_is_stopped_is_told_and_killed_at_its_deadline_as_it_is() {
    let env = TestEnv::new();
    let (mut shim, command) =
        Shim::start(&env, "trap 'echo told' TERM CONT; echo ready; while :; do sleep 0.02; done", SECOND);
    kill_process(command, Signal::STOP).unwrap();
    assert_eq!(shim.news(), "stopped 19 0");
    shim.order(&format!("until {} {}", after(Duration::ZERO), after(10 * SECOND)));
    assert_eq!(shim.news(), "overdue 0 0");
    assert_eq!(shim.news(), "over 0 0");
    assert!(!is_alive(command));
    assert_eq!(shim.line(), "", "violation[went-on]: a command whose time was over was let go on");
}

#[test]
fn a_signal_goes_to_the_whole_group_and_lets_it_go_on() {
    let env = TestEnv::new();
    let script = "trap 'echo told; exit 5' USR1 INT; echo ready; while :; do sleep 0.02; done";
    let (mut shim, command) = Shim::start(&env, script, SECOND);
    kill_process(command, Signal::STOP).unwrap();
    assert_eq!(shim.news(), "stopped 19 0");
    shim.order("signal 2 0");
    assert_eq!(shim.line(), "told");
    // The `sleep` of its group has heard it too.
    assert_eq!(shim.news(), format!("ended {} 0", 5 << 8));
    until("it is gone", || !is_alive(command));
}
