//! The shims of this process, one for each command, and the orphans of those that were killed.
//!
//! Every child of this process is a shim, a bystander that came with the process, or an orphan: one that lost its parent and
//! has no living shim above it. So what came of a command whose shim lives is never met here. A shim keeps its number
//! until it is buried; nobody but its owner does that.

use super::boot;
use super::ending::Ending;
use super::group::Group;
use super::proc::{self, Process};
use crate::exit::Exit;
use crate::output::Failure;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, waitpid,
};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// How long the kernel may take to carry out KILL before we go on without.
pub(super) const KILLED: Duration = Duration::from_secs(1);

static BROOD: Mutex<Brood> = Mutex::new(Brood { bystanders: None, shims: Vec::new() });

/// The children of this process.
struct Brood {
    /// They are not ours to end. `None` before the first shim.
    bystanders: Option<Vec<Pid>>,
    shims: Vec<Entry>,
}

struct Entry {
    shim: Pid,
    /// How it ended is for the owner of the shim to know.
    command: Option<Pid>,
    /// Nobody owns it any more: its end of the socket says the same to the shim, which ends its command and itself.
    is_left: bool,
}

/// The shim of one command, until it is buried.
#[derive(Debug)]
pub(super) struct Shim(Pid);

/// Orphans come to this process from now on.
pub(super) fn adopt() -> io::Result<()> {
    let mut brood = brood();
    if brood.bystanders.is_none() {
        set_child_subreaper(Some(getpid()))?;
        brood.bystanders = Some(proc::children());
    }
    Ok(())
}

impl Shim {
    /// Nobody takes it for an orphan: it is known before anybody can look.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut brood = brood();
        // Before the first one there is nothing of ours to bury.
        if !brood.shims.is_empty() {
            brood.reap(None);
        }
        let shim = Pid::from_child(&command.spawn()?);
        brood.shims.push(Entry { shim, command: None, is_left: false });
        Ok(Self(shim))
    }

    pub(super) fn pid(&self) -> Pid {
        self.0
    }

    /// This process is its command.
    pub(super) fn runs(&self, command: Pid) {
        if let Some(entry) = brood().shims.iter_mut().find(|entry| entry.shim == self.0) {
            entry.command = Some(command);
        }
    }

    pub(super) fn kill(&self) {
        let _ = kill_process(self.0, Signal::KILL);
    }

    /// After it was killed: ends all that came to this process, TERM now and KILL after the grace. Answers how the command
    /// has ended, when that is known.
    ///
    /// What does not go within a second of KILL hangs in the kernel; no lock can wait for that.
    pub(super) async fn end_orphans(&self, group: Option<Group>, grace: Duration) -> Option<ExitStatus> {
        let mut ending = Ending::new(group, boot::after(grace), Some(KILLED));
        let mut ended = None;
        loop {
            let (living, status) = brood().look(self.0);
            ended = ended.or(status);
            let Some(living) = living else { return ended };
            let Some(pause) = ending.step(&living) else { return ended };
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    }

    /// Nothing of ours is left either: one who waits for us may count our processes.
    pub(super) fn bury(self) {
        self.kill();
        let _ = waitpid(Some(self.0), WaitOptions::empty());
        brood().shims.retain(|entry| entry.shim != self.0);
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if let Some(entry) = brood().shims.iter_mut().find(|entry| entry.shim == self.0) {
            entry.is_left = true;
        }
    }
}

impl Brood {
    /// Buries who has ended; answers who lives among the orphans and below this shim, `None` when there are no more; and how
    /// the command of the shim has ended, if that was seen.
    fn look(&mut self, of: Pid) -> (Option<Vec<Process>>, Option<ExitStatus>) {
        // Asked before the children are listed: whoever was dead by then had left its orphans to this process.
        let dead = self.dead();
        let status = self.reap(Some(of));
        let is_anybody_left = proc::children().into_iter().any(|child| self.is_left(child, of, &dead));
        // As long as the shim itself is not dead, its orphans are not here yet.
        let others = self.shims.iter().map(|entry| entry.shim).filter(|shim| *shim != of);
        let known: Vec<Pid> = others.chain(self.bystanders.iter().flatten().copied()).collect();
        (is_anybody_left.then(|| proc::living(&known)), status)
    }

    /// Whether this child may have left somebody who lives. Above every orphan that lives there is one that is a child of
    /// this process, and that stays one, alive or not, until it is buried: so nobody slips away by forking.
    fn is_left(&self, child: Pid, of: Pid, dead: &[Pid]) -> bool {
        let is_alive = || !dead.contains(&child);
        let is_bystander = self.bystanders.iter().flatten().any(|pid| *pid == child);
        match self.shims.iter().any(|entry| entry.shim == child) {
            true => child == of && is_alive(),
            false if self.is_awaited(child, Some(of)) => is_alive(),
            false => !is_bystander,
        }
    }

    /// The shims and commands that do not live any more.
    fn dead(&self) -> Vec<Pid> {
        let is_alive = |pid: &Pid| Process::read(*pid).is_some_and(|process| process.is_alive);
        let all = self.shims.iter().flat_map(|entry| [Some(entry.shim), entry.command]);
        all.flatten().filter(|pid| !is_alive(pid)).collect()
    }

    /// Buries all that have ended and that nobody waits for.
    fn reap(&mut self, of: Option<Pid>) -> Option<ExitStatus> {
        let mut ended = None;
        for child in proc::children() {
            let at = self.shims.iter().position(|entry| entry.shim == child);
            if at.is_some_and(|at| !self.shims[at].is_left) || self.is_awaited(child, of) {
                continue;
            }
            let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::NOHANG) else { continue };
            match at {
                Some(at) => drop(self.shims.remove(at)),
                None if self.is_command(child, of) => ended = Some(as_exit(status)),
                None => self.bystanders.iter_mut().for_each(|all| all.retain(|pid| *pid != child)),
            }
        }
        ended
    }

    /// It is the command of somebody else.
    fn is_awaited(&self, child: Pid, of: Option<Pid>) -> bool {
        let mut others = self.shims.iter().filter(|entry| !entry.is_left && Some(entry.shim) != of);
        others.any(|entry| entry.command == Some(child))
    }

    /// A shim that did not come to say which its command is has no other orphan than that, mostly.
    fn is_command(&self, child: Pid, of: Option<Pid>) -> bool {
        let entry = self.shims.iter().find(|entry| Some(entry.shim) == of);
        let is_bystander = self.bystanders.iter().flatten().any(|pid| *pid == child);
        entry.is_some_and(|entry| entry.command.map_or(!is_bystander, |command| command == child))
    }
}

fn as_exit(status: WaitStatus) -> ExitStatus {
    ExitStatus::from_raw(status.as_raw())
}

fn brood() -> MutexGuard<'static, Brood> {
    BROOD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first process of a container gets all orphans of it, and nobody else buries them.
pub(crate) fn reap_as_init() -> Result<(), Failure> {
    if !getpid().is_init() {
        return Ok(());
    }
    let mut ended = signal(SignalKind::child())
        .map_err(|e| Failure::new(Exit::Protocol, format!("cannot listen for the end of orphans: {e}")))?;
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            brood().reap(None);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::proc::tests::CHILDREN;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    /// A process as the shim is for others: it has a command that leaves its session.
    fn fake() -> (Shim, Pid) {
        let script = "setsid sh -c 'echo $$; trap \"\" TERM; for i in $(seq 600); do sleep 0.1; done' & wait";
        let (reader, writer) = io::pipe().unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", script]).stdout(writer).stdin(Stdio::null()).stderr(Stdio::null());
        let shim = Shim::spawn(&mut command).unwrap();
        drop(command);
        let mut line = String::new();
        BufReader::new(reader).read_line(&mut line).unwrap();
        (shim, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
    }

    fn is_alive(pid: Pid) -> bool {
        Process::read(pid).is_some_and(|p| p.is_alive)
    }

    #[tokio::test]
    async fn only_the_orphans_of_a_shim_that_was_killed_are_ended() {
        let _alone = CHILDREN.lock().await;
        adopt().unwrap();
        let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
        brood().bystanders.iter_mut().for_each(|all| all.push(Pid::from_child(&bystander)));
        let ((first, of_first), (second, of_second), (third, of_third)) = (fake(), fake(), fake());
        first.runs(of_first);
        third.runs(of_third);
        // Both are dead, one of them before anybody has noticed.
        first.kill();
        third.kill();
        let status = first.end_orphans(None, Duration::from_millis(50)).await;
        assert_eq!(status.and_then(|s| s.signal()), Some(9));
        assert!(!is_alive(of_first) && is_alive(second.pid()) && is_alive(of_second));
        assert!(bystander.try_wait().unwrap().is_none(), "a bystander was ended");
        // Its status is still there for the one who wants it, and its shim is not buried by others.
        let status = third.end_orphans(None, Duration::ZERO).await;
        assert_eq!(status.and_then(|s| s.signal()), Some(9));
        assert!(Process::read(third.pid()).is_some_and(|p| !p.is_alive));
        third.bury();
        first.bury();
        second.kill();
        second.end_orphans(None, Duration::ZERO).await;
        assert!(!is_alive(of_second));
        let pid = second.pid();
        drop(second);
        while Process::read(pid).is_some() {
            brood().reap(None);
            sleep(Duration::from_millis(5)).await;
        }
        assert!(brood().shims.is_empty());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[tokio::test]
    async fn an_orphan_that_comes_between_two_looks_is_ended() {
        let _alone = CHILDREN.lock().await;
        adopt().unwrap();
        for round in 0..200 {
            let (reader, writer) = io::pipe().unwrap();
            let mut command = Command::new("sh");
            command.args(["-c", "sleep 600 & echo $!; wait"]).stdout(writer).stdin(Stdio::null());
            let shim = Shim::spawn(&mut command).unwrap();
            drop(command);
            let mut line = String::new();
            BufReader::new(reader).read_line(&mut line).unwrap();
            let orphan = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
            shim.runs(orphan);
            shim.kill();
            let status = shim.end_orphans(None, Duration::ZERO).await;
            assert!(!is_alive(orphan) && status.is_some(), "round {round}: {status:?}");
            shim.bury();
        }
    }

    #[tokio::test]
    async fn who_forks_all_the_time_does_not_slip_away() {
        let _alone = CHILDREN.lock().await;
        adopt().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (chain, log) = (folder.path().join("chain"), folder.path().join("log"));
        // Each link writes, starts the next one in a session of its own, and ends.
        std::fs::write(&chain, "echo x >> \"$1\"; setsid sh \"$0\" \"$1\" & exit\n").unwrap();
        let written = || std::fs::metadata(&log).map_or(0, |m| m.len());
        for round in 0..40 {
            let mut command = Command::new("sh");
            command.args(["-c", "sh \"$0\" \"$1\"; sleep 600"]).args([&chain, &log]).stdin(Stdio::null());
            let shim = Shim::spawn(&mut command).unwrap();
            let before = written();
            while written() < before + 4 {
                sleep(Duration::from_millis(1)).await;
            }
            shim.kill();
            // In the midst of it, as when there is a grace.
            shim.end_orphans(None, Duration::from_millis(round % 5)).await;
            let end = written();
            sleep(Duration::from_millis(10)).await;
            assert_eq!(written(), end, "round {round}: somebody still writes");
            shim.bury();
        }
    }
}
