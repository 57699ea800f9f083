//! The permissions of files and directories, which nobody ever sees without them.
//!
//! A group shares what its members create, whatever their umask. So a file gets its permissions under a temporary name,
//! and its own name last.

use rustix::fs::{Gid, Mode, OFlags, chmod, chown, fchmod, link, lstat, mkdir, open, rename, rmdir, unlink};
use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The permissions of the content of one directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) file: Mode,
    pub(super) directory: Mode,
    pub(super) group: Option<Gid>,
}

/// Another process may remove what was just created, but not this often in a row.
const MAX_RESTARTS: usize = 100;

impl Access {
    pub(super) const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), directory: Mode::from_raw_mode(0o700), group: None };

    pub(super) fn shared(group: Gid) -> Self {
        let directory = Mode::from_raw_mode(0o2770);
        Self { file: Mode::from_raw_mode(0o660), directory, group: Some(group) }
    }

    /// Opens a file, and creates it with exactly these permissions if it is missing.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        if self.group.is_none() {
            return open(path, flags | OFlags::CREATE, self.file);
        }
        for _ in 0..MAX_RESTARTS {
            match open(path, flags, Mode::empty()) {
                Err(Errno::NOENT) => self.make_file(path)?,
                other => return other,
            }
        }
        Err(Errno::NOENT)
    }

    fn make_file(&self, path: &Path) -> Result<()> {
        let hidden = temporary(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = open(&hidden, flags, self.file)
            .and_then(|file| self.open_up(file))
            .and_then(|()| link(&hidden, path));
        let _ = unlink(&hidden);
        // Another process was faster.
        if made == Err(Errno::EXIST) { Ok(()) } else { made }
    }

    /// Gives a file that this process has created the permissions that the umask took from it.
    pub(super) fn open_up(&self, file: impl AsFd) -> Result<()> {
        if self.group.is_some() { fchmod(file, self.file) } else { Ok(()) }
    }

    /// Makes a directory with exactly these permissions. An existing one is left alone.
    pub(super) fn make(&self, path: &Path) -> Result<()> {
        let Some(group) = self.group else {
            return mkdir(path, self.directory).or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(e) });
        };
        if lstat(path).is_ok() {
            return Ok(());
        }
        let hidden = temporary(path);
        mkdir(&hidden, Mode::RWXU)?;
        let made = chown(&hidden, None, Some(group))
            .and_then(|()| chmod(&hidden, self.directory))
            // Replaces one that another process has just made, if it is still empty: they are alike.
            .and_then(|()| rename(&hidden, path));
        if made.is_err() {
            let _ = rmdir(&hidden);
        }
        match made {
            // Another process made it, and may have removed it by now: then the caller tries again.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(_) if lstat(path).is_ok() => Ok(()),
            other => other,
        }
    }
}

/// A path in the same directory that no lock, queue or note has.
fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!(".new-{}-{:016x}", std::process::id(), crate::random::bits() as u64))
}
