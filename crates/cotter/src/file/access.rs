//! With which rights files and directories are made: nobody ever sees one that is half made.
//!
//! A group shares what its members make, whatever their umask. So a file gets its rights under a name that nobody looks
//! for, and its own name last.

use rustix::fs::{Gid, Mode, OFlags, chmod, chown, fchmod, link, lstat, mkdir, open, rename, rmdir, unlink};
use rustix::io::{Errno, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The rights of one directory's content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) file: Mode,
    pub(super) directory: Mode,
    pub(super) group: Option<Gid>,
}

/// Somebody may take away what was just made, but not that often.
const RESTARTS: usize = 100;

impl Access {
    pub(super) const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), directory: Mode::from_raw_mode(0o700), group: None };

    pub(super) fn shared(group: Gid) -> Self {
        let directory = Mode::from_raw_mode(0o2770);
        Self { file: Mode::from_raw_mode(0o660), directory, group: Some(group) }
    }

    /// Opens a file; made with exactly these rights if it is missing.
    pub(super) fn open(&self, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        if self.group.is_none() {
            return open(path, flags | OFlags::CREATE, self.file);
        }
        for _ in 0..RESTARTS {
            match open(path, flags, Mode::empty()) {
                Err(Errno::NOENT) => self.make_file(path)?,
                other => return other,
            }
        }
        Err(Errno::NOENT)
    }

    fn make_file(&self, path: &Path) -> Result<()> {
        let unseen = unseen(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let made = open(&unseen, flags, self.file)
            .and_then(|file| self.open_up(file))
            .and_then(|()| link(&unseen, path));
        let _ = unlink(&unseen);
        // Somebody else was faster.
        if made == Err(Errno::EXIST) { Ok(()) } else { made }
    }

    /// Gives a file that this process has made the rights that the umask took from it.
    pub(super) fn open_up(&self, file: impl AsFd) -> Result<()> {
        if self.group.is_some() { fchmod(file, self.file) } else { Ok(()) }
    }

    /// Makes a directory with exactly these rights; one that is there is left alone.
    pub(super) fn make(&self, path: &Path) -> Result<()> {
        let Some(group) = self.group else {
            return mkdir(path, self.directory).or_else(|e| if e == Errno::EXIST { Ok(()) } else { Err(e) });
        };
        if lstat(path).is_ok() {
            return Ok(());
        }
        let unseen = unseen(path);
        mkdir(&unseen, Mode::RWXU)?;
        let made = chown(&unseen, None, Some(group))
            .and_then(|()| chmod(&unseen, self.directory))
            // Over one that somebody else has just made, if nothing is in it yet: they are alike.
            .and_then(|()| rename(&unseen, path));
        if made.is_err() {
            let _ = rmdir(&unseen);
        }
        match made {
            // Somebody else's, by now perhaps not there any more: then whoever needs it comes again.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            Err(_) if lstat(path).is_ok() => Ok(()),
            other => other,
        }
    }
}

/// A name beside this one that no lock, queue or note has.
fn unseen(path: &Path) -> PathBuf {
    path.with_file_name(format!(".new-{}-{:016x}", std::process::id(), rand::random::<u64>()))
}
