//! Which processes hold a lock, from `/proc`.
//!
//! The kernel's table of locks names the process that took each. That process may have ended and left the lock to another
//! one that has the descriptor as well. Such processes are found by their open files.

use super::process;
use crate::sys::FileId;
use rustix::fs::{makedev, stat};
use std::fs;
use std::os::fd::AsFd;

/// A lock of the `flock` kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KernelLock {
    /// The process that took it.
    pid: u32,
    exclusive: bool,
    file: FileId,
}

impl KernelLock {
    /// Whether it is on this file. Some file systems show another device here than to `stat`: there the process has to
    /// be the one that the file names.
    pub(crate) fn is_on(self, file: FileId, pid: u32) -> bool {
        self.file.ino == file.ino && (self.file.dev == file.dev || self.pid == pid)
    }

    /// The process that took it, if it can be on this file.
    pub(crate) fn pid_on(self, file: FileId) -> Option<u32> {
        (self.file.ino == file.ino).then_some(self.pid)
    }
}

/// Whether the file is locked, where that has to be tried out: here the table tells.
pub(crate) fn is_locked(_: impl AsFd) -> Option<bool> {
    None
}

/// All such locks that this process may see; `None` where the system does not tell.
pub(crate) fn flocked() -> Option<Vec<KernelLock>> {
    let table = fs::read_to_string("/proc/locks").ok()?;
    Some(table.lines().filter_map(parse).collect())
}

/// `12: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`
fn parse(line: &str) -> Option<KernelLock> {
    let mut words = line.split_whitespace().skip(1);
    let kind = words.next()?;
    let exclusive = words.nth(1)? == "WRITE";
    let pid = words.next()?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let (major, minor, ino) = (file.next()?, file.next()?, file.next()?);
    let dev = makedev(u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let file = FileId { dev, ino: ino.parse().ok()? };
    (kind == "FLOCK").then_some(KernelLock { pid, exclusive, file })
}

/// A process that has a locked file open, so that the lock does not end before it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub(crate) pid: u32,
    /// The process that took the lock; 0 where that has ended and its number means nothing here.
    taker: u32,
    pub(crate) exclusive: bool,
}

/// One process for each lock on this file: the one that took it, or the first that has it from that one.
pub(crate) fn holders(file: FileId) -> Vec<LockHolder> {
    let mut holders: Vec<LockHolder> = Vec::new();
    for holder in holders_of(file) {
        match holders.iter_mut().find(|h| h.taker == holder.taker) {
            Some(known) if holder.pid == holder.taker => *known = holder,
            Some(_) => {}
            None => holders.push(holder),
        }
    }
    // The open files of other users cannot be read, but the table has their locks.
    for lock in flocked().into_iter().flatten().filter(|lock| lock.file == file) {
        if holders.iter().all(|h| h.taker != lock.pid) {
            holders.push(LockHolder { pid: lock.pid, taker: lock.pid, exclusive: lock.exclusive });
        }
    }
    holders
}

/// The process that now holds what `pid` took, as far as that is known.
pub(crate) fn heir(file: FileId, pid: u32) -> u32 {
    let holders = holders(file);
    let heir = holders.iter().find(|h| h.taker == pid).or_else(|| holders.iter().find(|h| h.taker == 0));
    heir.map_or(pid, |h| h.pid)
}

/// Whether this process has the file open and locked; `None` when that is not permitted to know.
pub(crate) fn has(pid: u32, file: FileId) -> Option<bool> {
    Some(kept_by(pid, file)?.next().is_some())
}

fn holders_of(file: FileId) -> Vec<LockHolder> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| kept_by(pid, file)).flatten().collect()
}

/// The locks on this file that live with descriptors of a process.
fn kept_by(pid: u32, file: FileId) -> Option<impl Iterator<Item = LockHolder>> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
    Some(descriptors.filter_map(move |descriptor| {
        let is_it = stat(descriptor.path()).is_ok_and(|found| FileId::of(&found) == file);
        is_it.then(|| holder(pid, descriptor.file_name().to_str()?)).flatten()
    }))
}

/// The kernel describes the lock together with the descriptor: `lock: 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF`
fn holder(pid: u32, descriptor: &str) -> Option<LockHolder> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
    let lock = info.lines().filter_map(|line| parse(line.strip_prefix("lock:")?)).next()?;
    Some(LockHolder { pid, taker: lock.pid, exclusive: lock.exclusive })
}

/// Whether the holder that a file names still lives: its number may be of another namespace, or belong to another process
/// by now.
pub(crate) fn is_likely(pid: u32, file: FileId, locks: Option<&[KernelLock]>) -> bool {
    let taken = locks.into_iter().flatten().filter_map(|lock| (lock.file == file).then_some(lock.pid));
    let mut taken = taken.peekable();
    let is_named = taken.peek().is_none() || taken.any(|taker| taker == pid);
    is_named && process::is_there(pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{FlockOperation, flock, fstat};
    use std::fs::File;
    use std::process::{Command, Stdio};

    #[test]
    fn the_kernels_table_is_read() {
        let file = FileId { dev: makedev(0xfe, 0x10), ino: 5678 };
        let held = parse("12: FLOCK  ADVISORY  WRITE 1234 fe:10:5678 0 EOF").unwrap();
        assert_eq!(held, KernelLock { pid: 1234, exclusive: true, file });
        assert!(held.is_on(file, 1) && !held.is_on(FileId { dev: 1, ..file }, 1));
        assert!(held.is_on(FileId { dev: 1, ..file }, 1234));
        assert!(!parse("12: FLOCK  ADVISORY  READ 1234 fe:10:5678 0 EOF").unwrap().exclusive);
        for other in
            ["12: POSIX  ADVISORY  WRITE 1234 fe:10:5678 0 EOF", "12: -> FLOCK ADVISORY WRITE 1 fe:1:2", ""]
        {
            assert_eq!(parse(other), None);
        }
    }

    /// `flock` takes it on its standard input, which is ours too, and ends.
    #[test]
    fn who_has_the_descriptor_holds_what_another_process_took() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let opened = File::open(&path).unwrap();
        let file = FileId::of(&fstat(&opened).unwrap());
        assert!(holders(file).is_empty());
        let ours = Stdio::from(opened.try_clone().unwrap());
        let mut taker = Command::new("flock").arg("0").stdin(ours).spawn().unwrap();
        let pid = taker.id();
        assert!(taker.wait().unwrap().success());
        let found = holders(file);
        assert!(found.len() == 1 && found[0].exclusive, "{found:?}");
        assert_eq!((found[0].pid, heir(file, pid)), (std::process::id(), std::process::id()));
        assert_eq!(has(std::process::id(), file), Some(true));
        let locks = flocked();
        assert!(!is_likely(pid, file, locks.as_deref()), "it has ended");
        flock(&opened, FlockOperation::NonBlockingLockExclusive).expect("it is ours already");
        drop(opened);
        assert_eq!(holders(file), []);
    }
}
