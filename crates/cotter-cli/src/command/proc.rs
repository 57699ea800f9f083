//! Information about processes from `/proc`.

use nix::unistd::{getpgrp, getsid};
use rustix::process::{Pid, getpid};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Reads a file of `/proc` with few system calls: these files report no size, so it is not queried.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(4096);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// The properties of a process that matter for ending it.
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

    /// Whether it is in another session than this process.
    pub(crate) fn has_own_session(&self) -> bool {
        own_session().is_some_and(|ours| ours != self.session)
    }
}

/// The start time of a process, in ticks since boot: together with its id it identifies the process.
pub(crate) fn start_of(pid: Pid) -> Option<u64> {
    let stat = text(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

/// The session of this process: 0, as in `/proc`, if its leader is outside of the PID namespace, as for a command that was
/// started in a container from outside. `rustix` does not support that.
pub(crate) fn own_session() -> Option<i32> {
    getsid(None).ok().map(nix::unistd::Pid::as_raw)
}

/// The group of this process; `None` if its leader is outside of the PID namespace.
pub(crate) fn own_group() -> Option<Pid> {
    Pid::from_raw(getpgrp().as_raw())
}

/// The children of this process, including zombies. The list includes every process that is a child during the whole call.
pub(super) fn children() -> Vec<Pid> {
    children_of(getpid()).unwrap_or_else(|| by_parent(&all_processes(), getpid()))
}

/// All living descendants of this process, except `except` and their descendants. Some may be missing if processes start and
/// end during the call.
pub(super) fn living(except: &[Pid]) -> Vec<Process> {
    let all = if children_of(getpid()).is_none() { all_processes() } else { Vec::new() };
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

/// `None` if the kernel does not provide this, or the process is gone.
fn children_of(parent: Pid) -> Option<Vec<Pid>> {
    let tasks = fs::read_dir(format!("/proc/{}/task", parent.as_raw_nonzero())).ok()?;
    let mut children = Vec::new();
    for task in tasks.flatten() {
        let found = text(task.path().join("children")).ok()?;
        children.extend(found.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    Some(children)
}

fn all_processes() -> Vec<Process> {
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

    /// Serializes tests that start or end children.
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
        assert!(by_parent(&all_processes(), getpid()).contains(&pid));
        assert!(by_parent(&all_processes(), pid).contains(&grandchild));
        assert!(living(&[]).iter().any(|p| p.pid == grandchild));
        assert!(living(&[pid]).iter().all(|p| p.pid != grandchild));
        rustix::process::kill_process(grandchild, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
