//! What `/proc` tells about processes.

use nix::unistd::{getpgrp, getsid};
use rustix::process::{Pid, getpid};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A file of `/proc` in as few calls as it takes: they tell no size, and are asked for none.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(4096);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// A process, as far as it matters for ending it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) is_alive: bool,
}

impl Process {
    pub(crate) fn read(pid: Pid) -> Option<Self> {
        Self::parse(pid, &text(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?)
    }

    /// `pid (any text) state ppid pgrp session …`
    fn parse(pid: Pid, stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let is_alive = !matches!(fields.next()?, "Z" | "X");
        let mut number = || fields.next()?.parse().ok();
        Some(Self { pid, parent: number()?, group: number()?, session: number()?, is_alive })
    }

    /// Whether it has left for a session that was made below this process.
    pub(crate) fn has_own_session(&self) -> bool {
        own_session().is_some_and(|ours| ours != self.session)
    }
}

/// When a process began, in ticks since the machine did: with its number it is the same process.
pub(crate) fn start_of(pid: Pid) -> Option<u64> {
    let stat = text(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The session of this process: 0, as in `/proc`, when who made it is outside of the PID namespace, as for a command that
/// was brought into a container from outside. `rustix` does not know of that.
pub(crate) fn own_session() -> Option<i32> {
    getsid(None).ok().map(nix::unistd::Pid::as_raw)
}

/// The group of this process; `None` when its number is not one in this PID namespace.
pub(crate) fn own_group() -> Option<Pid> {
    Pid::from_raw(getpgrp().as_raw())
}

/// The children of this process, also those that have ended and are not buried. None is missing that is one from the
/// beginning of this call to its end.
pub(super) fn children() -> Vec<Pid> {
    children_of(getpid()).unwrap_or_else(|| by_parent(&everybody(), getpid()))
}

/// All that live below this process, but for `except` and those below them. Where processes come and go all the time, some
/// may be missing.
pub(super) fn living(except: &[Pid]) -> Vec<Process> {
    let all = if children_of(getpid()).is_none() { everybody() } else { Vec::new() };
    let mut found = Vec::new();
    let mut next = vec![getpid()];
    while let Some(parent) = next.pop() {
        let children = children_of(parent).unwrap_or_else(|| by_parent(&all, parent));
        for child in children.into_iter().filter(|child| !except.contains(child)) {
            found.extend(Process::read(child).filter(|process| process.is_alive));
            next.push(child);
        }
    }
    found
}

/// `None` where the kernel does not tell it, or the process is gone.
fn children_of(parent: Pid) -> Option<Vec<Pid>> {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).ok()?;
    let mut children = Vec::new();
    for task in tasks.flatten() {
        let found = text(task.path().join("children")).ok()?;
        children.extend(found.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Some(children)
}

fn everybody() -> Vec<Process> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = processes.flatten().filter_map(|p| Pid::from_raw(p.file_name().to_str()?.parse().ok()?));
    pids.filter_map(Process::read).collect()
}

fn by_parent(all: &[Process], parent: Pid) -> Vec<Pid> {
    all.iter().filter(|p| p.parent == parent.as_raw_nonzero().get()).map(|p| p.pid).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_line_of_proc_is_read_behind_the_command_name() {
        let pid = Pid::from_raw(9).unwrap();
        let read = |stat| Process::parse(pid, stat);
        let expected = Process { pid, parent: 1, group: 77, session: 70, is_alive: true };
        assert_eq!(read("9 (sh) S 1 77 70 0"), Some(expected));
        assert_eq!(read("9 (a) Z 1 5 (b) S 1 77 70 0"), Some(expected));
        assert!(!read("9 (sh) Z 1 77 70 0").unwrap().is_alive);
        assert_eq!(read(""), None);
    }

    /// For one test at a time that has children of its own or ends them.
    pub(crate) static CHILDREN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    #[test]
    fn both_ways_find_a_child_and_its_child() {
        let _alone = CHILDREN.blocking_lock();
        let script = "sleep 600 & echo $!; wait";
        let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line)
            .unwrap();
        let grandchild = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        assert!(children().contains(&pid));
        assert!(by_parent(&everybody(), getpid()).contains(&pid));
        assert!(by_parent(&everybody(), pid).contains(&grandchild));
        assert!(living(&[]).iter().any(|p| p.pid == grandchild));
        assert!(living(&[pid]).iter().all(|p| p.pid != grandchild));
        rustix::process::kill_process(grandchild, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
