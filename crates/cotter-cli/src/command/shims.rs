//! The shims of this process, one per command, and the orphans of those that were killed.
//!
//! Every child of this process is a shim, a bystander that existed before the first shim, or an orphan: a process whose parent
//! ended and that has no living shim above it. Descendants of a living shim are therefore never found here. The id of a
//! shim is not reused until it is reaped, which only its owner does.

use super::group::Group;
use super::proc::{self, Process};
use super::termination::Termination;
use cotter_console::{Exit, Failure, boot_clock};
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

/// How long to wait for the kernel to carry out KILL.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(1);

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { bystanders: None, shims: Vec::new() });

/// The children of this process.
struct Registry {
    /// Children that cotter did not start and must not end. `None` before the first shim.
    bystanders: Option<Vec<Pid>>,
    shims: Vec<Entry>,
}

struct Entry {
    shim: Pid,
    /// Its status belongs to the owner of the shim.
    command: Option<Pid>,
    /// Whether the shim has no owner any more. Its socket is closed then, so that the shim ends its command and itself.
    is_abandoned: bool,
}

/// The shim of one command, until it is reaped.
#[derive(Debug)]
pub(super) struct Shim(Pid);

/// Makes orphans children of this process from now on.
pub(super) fn become_subreaper() -> io::Result<()> {
    let mut registry = registry();
    if registry.bystanders.is_none() {
        set_child_subreaper(Some(getpid()))?;
        registry.bystanders = Some(proc::children());
    }
    Ok(())
}

impl Shim {
    /// Starts a shim; it is registered before it could be taken for an orphan.
    pub(super) fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut registry = registry();
        // Before the first shim there is nothing to reap.
        if !registry.shims.is_empty() {
            registry.reap(None);
        }
        let shim = Pid::from_child(&command.spawn()?);
        registry.shims.push(Entry { shim, command: None, is_abandoned: false });
        Ok(Self(shim))
    }

    pub(super) fn pid(&self) -> Pid {
        self.0
    }

    /// Sets the process of its command.
    pub(super) fn runs(&self, command: Pid) {
        if let Some(entry) = registry().shims.iter_mut().find(|entry| entry.shim == self.0) {
            entry.command = Some(command);
        }
    }

    pub(super) fn kill(&self) {
        let _ = kill_process(self.0, Signal::KILL);
    }

    /// After the shim was killed: ends its orphans, with TERM now and KILL after the grace period. Returns the status of the
    /// command, if it is known.
    ///
    /// A process that is alive a second after KILL hangs in the kernel; the lock does not wait for it.
    pub(super) async fn end_orphans(&self, group: Option<Group>, grace: Duration) -> Option<ExitStatus> {
        let mut termination = Termination::new(group, boot_clock::after(grace), Some(KILL_TIMEOUT));
        let mut ended = None;
        loop {
            let (living, status) = registry().look(self.0);
            ended = ended.or(status);
            let Some(living) = living else { return ended };
            let Some(pause) = termination.step(&living) else { return ended };
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    }

    /// Ends the shim, so that no process of cotter is left when it exits.
    pub(super) fn kill_and_wait(self) {
        self.kill();
        let _ = waitpid(Some(self.0), WaitOptions::empty());
        registry().shims.retain(|entry| entry.shim != self.0);
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        if let Some(entry) = registry().shims.iter_mut().find(|entry| entry.shim == self.0) {
            entry.is_abandoned = true;
        }
    }
}

impl Registry {
    /// Reaps children that have ended. Returns the living processes among the orphans and below this shim, `None` if there are
    /// none, and the status of the command of the shim, if it was seen.
    fn look(&mut self, of: Pid) -> (Option<Vec<Process>>, Option<ExitStatus>) {
        // Determined before the children are listed: the orphans of a process that was dead by then are children already.
        let dead = self.dead();
        let status = self.reap(Some(of));
        let is_any_left =
            proc::children().into_iter().any(|child| self.may_have_descendants(child, of, &dead));
        // Until the shim itself is dead, its orphans are not children of this process.
        let others = self.shims.iter().map(|entry| entry.shim).filter(|shim| *shim != of);
        let known: Vec<Pid> = others.chain(self.bystanders.iter().flatten().copied()).collect();
        (is_any_left.then(|| proc::living(&known)), status)
    }

    /// Whether this child may have living descendants. Every living orphan has an ancestor that is a child of this process, and
    /// that stays one, alive or not, until it is reaped: no process escapes by forking.
    fn may_have_descendants(&self, child: Pid, of: Pid, dead: &[Pid]) -> bool {
        let is_alive = || !dead.contains(&child);
        let is_bystander = self.bystanders.iter().flatten().any(|pid| *pid == child);
        match self.shims.iter().any(|entry| entry.shim == child) {
            true => child == of && is_alive(),
            false if self.is_awaited(child, Some(of)) => is_alive(),
            false => !is_bystander,
        }
    }

    /// The shims and commands that are dead.
    fn dead(&self) -> Vec<Pid> {
        let is_alive = |pid: &Pid| Process::read(*pid).is_some_and(|process| process.is_alive);
        let all = self.shims.iter().flat_map(|entry| [Some(entry.shim), entry.command]);
        all.flatten().filter(|pid| !is_alive(pid)).collect()
    }

    /// Reaps all children that have ended and that nobody waits for.
    fn reap(&mut self, of: Option<Pid>) -> Option<ExitStatus> {
        let mut ended = None;
        for child in proc::children() {
            let at = self.shims.iter().position(|entry| entry.shim == child);
            if at.is_some_and(|at| !self.shims[at].is_abandoned) || self.is_awaited(child, of) {
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

    /// Whether the child is the command of another shim.
    fn is_awaited(&self, child: Pid, of: Option<Pid>) -> bool {
        let mut others = self.shims.iter().filter(|entry| !entry.is_abandoned && Some(entry.shim) != of);
        others.any(|entry| entry.command == Some(child))
    }

    /// Whether the child is the command of this shim. If the shim died before reporting it, its only orphan is most likely the
    /// command.
    fn is_command(&self, child: Pid, of: Option<Pid>) -> bool {
        let entry = self.shims.iter().find(|entry| Some(entry.shim) == of);
        let is_bystander = self.bystanders.iter().flatten().any(|pid| *pid == child);
        entry.is_some_and(|entry| entry.command.map_or(!is_bystander, |command| command == child))
    }
}

fn as_exit(status: WaitStatus) -> ExitStatus {
    ExitStatus::from_raw(status.as_raw())
}

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reaps orphans if this is the first process of a container, which inherits all orphans.
pub(crate) fn reap_as_init() -> Result<(), Failure> {
    if !getpid().is_init() {
        return Ok(());
    }
    let mut ended = signal(SignalKind::child())
        .map_err(|e| Failure::new(Exit::Protocol, format!("cannot listen for the end of orphans: {e}")))?;
    tokio::spawn(async move {
        while ended.recv().await.is_some() {
            registry().reap(None);
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

    /// A stand-in for a shim, with a command that creates its own session.
    fn fake() -> (Shim, Pid) {
        let script = "setsid sh -c 'trap \"\" TERM; echo $$; for i in $(seq 600); do sleep 0.1; done' & wait";
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
        become_subreaper().unwrap();
        let mut bystander = Command::new("sleep").arg("600").spawn().unwrap();
        registry().bystanders.iter_mut().for_each(|all| all.push(Pid::from_child(&bystander)));
        let ((first, of_first), (second, of_second), (third, of_third)) = (fake(), fake(), fake());
        first.runs(of_first);
        third.runs(of_third);
        // Both are dead, one of them unnoticed.
        first.kill();
        third.kill();
        let status = first.end_orphans(None, Duration::from_millis(50)).await;
        assert_eq!(status.and_then(|s| s.signal()), Some(9));
        assert!(!is_alive(of_first) && is_alive(second.pid()) && is_alive(of_second));
        assert!(bystander.try_wait().unwrap().is_none(), "a bystander was ended");
        // Its status is still available, and its shim was not reaped by others.
        let status = third.end_orphans(None, Duration::ZERO).await;
        assert_eq!(status.and_then(|s| s.signal()), Some(9));
        assert!(Process::read(third.pid()).is_some_and(|p| !p.is_alive));
        third.kill_and_wait();
        first.kill_and_wait();
        second.kill();
        second.end_orphans(None, Duration::ZERO).await;
        assert!(!is_alive(of_second));
        let pid = second.pid();
        drop(second);
        while Process::read(pid).is_some() {
            registry().reap(None);
            sleep(Duration::from_millis(5)).await;
        }
        assert!(registry().shims.is_empty());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[tokio::test]
    async fn an_orphan_that_comes_between_two_looks_is_ended() {
        let _alone = CHILDREN.lock().await;
        become_subreaper().unwrap();
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
            shim.kill_and_wait();
        }
    }

    #[tokio::test]
    async fn a_process_that_keeps_forking_does_not_escape() {
        let _alone = CHILDREN.lock().await;
        become_subreaper().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (chain, log) = (folder.path().join("chain"), folder.path().join("log"));
        // Each link writes, starts the next one in its own session, and ends.
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
            // At different moments, as with a grace period.
            shim.end_orphans(None, Duration::from_millis(round % 5)).await;
            let end = written();
            sleep(Duration::from_millis(10)).await;
            assert_eq!(written(), end, "round {round}: somebody still writes");
            shim.kill_and_wait();
        }
    }
}
