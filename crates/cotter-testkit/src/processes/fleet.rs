//! The processes that are alive.

use crate::history::{Recorder, What};
use crate::holder::Orders;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts holders, and does things to them.
#[derive(Debug)]
pub(super) struct Fleet {
    program: PathBuf,
    orders: Orders,
    log: Recorder,
    started: u32,
    pub(super) members: Vec<Member>,
}

/// One living process.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) number: u32,
    child: Child,
    pub(super) stopped_until: Option<Instant>,
}

impl Fleet {
    pub(super) fn new(program: PathBuf, orders: Orders, log: Recorder) -> Self {
        Self { program, orders, log, started: 0, members: Vec::new() }
    }

    pub(super) fn start(&mut self) -> io::Result<()> {
        self.started += 1;
        let mut orders = self.orders.clone();
        orders.process = self.started;
        orders.log = self.log_of(self.started);
        let child =
            Command::new(&self.program).arg(serde_json::to_string(&orders)?).stdin(Stdio::piped()).spawn()?;
        self.members.push(Member { number: self.started, child, stopped_until: None });
        Ok(())
    }

    fn log_of(&self, number: u32) -> PathBuf {
        self.orders.log.join(format!("{number}.jsonl"))
    }

    /// Whether all have wanted something. A process that has ended already will not, and has left nothing to wait for.
    pub(super) fn has_begun(&mut self) -> io::Result<bool> {
        for at in 0..self.members.len() {
            let log = self.log_of(self.members[at].number);
            let has_recorded = log.metadata().is_ok_and(|log| log.len() > 0);
            if !has_recorded && self.members[at].child.try_wait()?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Kills it and starts another one. True when it really died of that.
    pub(super) fn kill(&mut self, at: usize) -> io::Result<bool> {
        let mut member = self.members.swap_remove(at);
        self.log.of_process(member.number).record(What::Killed);
        member.child.kill()?;
        let died = member.child.wait()?.signal() == Some(Signal::KILL.as_raw());
        self.start()?;
        Ok(died)
    }

    /// Stops it. True when it really stands still.
    pub(super) fn stop(&mut self, at: usize, pause: Duration) -> io::Result<bool> {
        let member = &mut self.members[at];
        self.log.of_process(member.number).record(What::Stopped);
        kill_process(member.pid(), Signal::STOP)?;
        member.stopped_until = Some(Instant::now() + pause);
        member.stands_still()
    }

    /// Lets those run again whose time has come, or all.
    pub(super) fn go_on(&mut self, all: bool) -> io::Result<()> {
        for member in &mut self.members {
            if member.stopped_until.is_some_and(|until| all || until <= Instant::now()) {
                member.stopped_until = None;
                kill_process(member.pid(), Signal::CONT)?;
                self.log.of_process(member.number).record(What::Continued);
            }
        }
        Ok(())
    }

    /// Has all end in order, and answers how many did not in time (those are killed, and not recorded as such: what
    /// they still waited for was never answered).
    pub(super) fn end(mut self, patience: Duration) -> io::Result<usize> {
        self.go_on(true)?;
        for member in &mut self.members {
            drop(member.child.stdin.take());
        }
        let last = Instant::now() + patience;
        let mut bad = 0;
        for mut member in self.members.drain(..) {
            bad += usize::from(!member.ends_by(last)?);
        }
        Ok(bad)
    }
}

/// What a failed run leaves running would disturb the next one.
impl Drop for Fleet {
    fn drop(&mut self) {
        for member in &mut self.members {
            let _ = member.child.kill();
            let _ = member.child.wait();
        }
    }
}

impl Member {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn stands_still(&self) -> io::Result<bool> {
        let stat = format!("/proc/{}/stat", self.child.id());
        for _ in 0..50 {
            let text = std::fs::read_to_string(&stat)?;
            if text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')) {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    }

    fn ends_by(&mut self, last: Instant) -> io::Result<bool> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.success());
            }
            if Instant::now() >= last {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
