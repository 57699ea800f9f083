//! Choosing, making and checking the directory.

use super::fault::fault;
use super::network;
use crate::url::config;
use crate::{Error, ErrorKind, Result};
use nix::unistd::{Group, Uid, User};
use rustix::fs::{
    FileType, Gid, Mode, OFlags, Stat, chmod, chown, fchmod, fstat, fstatfs, lstat, mkdir, open, stat,
};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getgroups};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// Below the home directory.
const DEFAULT: &str = ".local/state/cotter";

/// Which file system a directory is on; replaced in tests.
pub(super) type Probe = fn(BorrowedFd<'_>) -> rustix::io::Result<u64>;

pub(super) fn magic(directory: BorrowedFd<'_>) -> rustix::io::Result<u64> {
    // Numbers with the highest bit set arrive as negative ones where the field has 32 bits.
    fstatfs(directory).map(|s| s.f_type as u64 & 0xFFFF_FFFF)
}

/// Where the locks are.
#[derive(Debug, Clone)]
pub(super) enum Where {
    /// In the home directory of this user.
    Home,
    At(PathBuf),
}

/// With which rights files and directories are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    pub(super) file: Mode,
    pub(super) directory: Mode,
    pub(super) group: Option<Gid>,
}

impl Access {
    const PRIVATE: Self =
        Self { file: Mode::from_raw_mode(0o600), directory: Mode::from_raw_mode(0o700), group: None };

    fn shared(group: Gid) -> Self {
        let directory = Mode::from_raw_mode(0o2770);
        Self { file: Mode::from_raw_mode(0o660), directory, group: Some(group) }
    }

    /// Gives a file of ours the rights that the umask took from it.
    pub(super) fn open_up(&self, file: impl AsFd, stat: &Stat) -> rustix::io::Result<()> {
        let short = Mode::from_raw_mode(stat.st_mode) & self.file != self.file;
        if self.group.is_some() && short && stat.st_uid == geteuid().as_raw() {
            fchmod(file, self.file)?;
        }
        Ok(())
    }

    /// Makes a directory with exactly these rights; one that is there is left alone.
    pub(super) fn make(&self, path: &Path) -> rustix::io::Result<()> {
        match mkdir(path, self.directory) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(()),
            Err(e) => return Err(e),
        }
        let Some(group) = self.group else { return Ok(()) };
        chown(path, None, Some(group))?;
        chmod(path, self.directory)
    }
}

/// A directory that has passed all checks.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) magic: u64,
}

impl Directory {
    /// Makes the directory if it is missing, and refuses one that others could interfere with.
    pub(super) fn open(place: &Where, group: Option<&str>, probe: Probe) -> Result<Self> {
        let access = match group {
            Some(group) => Access::shared(member_of(group)?),
            None => Access::PRIVATE,
        };
        let path = match place {
            Where::Home => home()?,
            Where::At(path) => absolute(path)?,
        };
        check_parents(&path, &access)?;
        access.make(&path).map_err(|e| fault("making the directory", &path, e))?;
        let magic = check(&path, &access, probe)?;
        Ok(Self { path, access, magic })
    }

    /// Whether the directory at this path may still be used.
    pub(super) fn check_again(&self) -> Result<()> {
        check(&self.path, &self.access, magic).map(|_| ())
    }
}

/// Nothing of the environment counts: the same user comes from cron, by ssh and as a service.
fn home() -> Result<PathBuf> {
    let uid = Uid::effective();
    let user = User::from_uid(uid).ok().flatten();
    let home = user.map(|u| u.dir).filter(|d| d.is_absolute() && d.is_dir());
    let Some(home) = home else {
        let why = format!(
            "user {uid} has no home directory for the locks; name a directory with --url file:///DIR"
        );
        return Err(config(why).with_backend(super::SCHEME));
    };
    let path = home.join(DEFAULT);
    let parents = path.parent().expect("it was joined");
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parents).map_err(|e| {
        let errno = Errno::from_io_error(&e).unwrap_or(Errno::IO);
        fault("making the directory", parents, errno)
    })?;
    Ok(path)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let plain = path.components().all(|c| matches!(c, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !plain {
        let why = format!("the directory {} is not an absolute path; write it from the root", path.display());
        return Err(config(why).with_backend(super::SCHEME));
    }
    Ok(path.components().collect())
}

fn member_of(group: &str) -> Result<Gid> {
    let gid = match Group::from_name(group) {
        Ok(Some(found)) => Gid::from_raw(found.gid.as_raw()),
        _ => {
            let why = format!("there is no group {group:?} on this host; correct ?shared=GROUP");
            return Err(config(why).with_backend(super::SCHEME));
        }
    };
    let ours = getegid() == gid || getgroups().is_ok_and(|all| all.contains(&gid));
    if ours || geteuid().is_root() {
        return Ok(gid);
    }
    Err(denied(format!(
        "this process is not in the group {group:?}; add the user to it, or leave ?shared out"
    )))
}

/// Nobody else may be able to lead us elsewhere, or to stand in our place first.
fn check_parents(path: &Path, access: &Access) -> Result<()> {
    for parent in path.ancestors().skip(1) {
        let found = lstat(parent).map_err(|e| fault("looking at", parent, e))?;
        if kind(&found) == FileType::Symlink && !ours_or_roots(found.st_uid) {
            let uid = found.st_uid;
            let why = format!(
                "{} is a symbolic link of user {uid}; name the directory behind it",
                parent.display()
            );
            return Err(denied(why));
        }
    }
    let Some(parent) = path.parent() else { return Ok(()) };
    let found = stat(parent).map_err(|e| fault("looking at", parent, e))?;
    if kind(&found) != FileType::Directory {
        return Err(denied(format!("{} is not a directory", parent.display())));
    }
    if found.st_mode & 0o002 != 0 && access.group.is_none() {
        let why = "others may write to it, and could take the place first; choose another directory, or add ?shared=GROUP";
        return Err(denied(format!("{} cannot be the parent: {why}", parent.display())));
    }
    Ok(())
}

/// Checks what is really there, through one descriptor; answers which file system it is on.
fn check(path: &Path, access: &Access, probe: Probe) -> Result<u64> {
    let directory = open_directory(path)?;
    let found = fstat(&directory).map_err(|e| fault("looking at", path, e))?;
    let mode = found.st_mode & 0o7777;
    let shown = path.display();
    match access.group {
        None if found.st_uid != geteuid().as_raw() => {
            let (owner, us) = (found.st_uid, geteuid().as_raw());
            return Err(denied(format!(
                "{shown} belongs to user {owner}, not to {us}; choose another directory"
            )));
        }
        None if mode & 0o077 != 0 => {
            let fix = format!("chmod 700 {shown}, or add ?shared=GROUP");
            return Err(denied(format!("{shown} is open to others (mode {mode:04o}); {fix}")));
        }
        None => {}
        Some(group) if found.st_gid != group.as_raw() || mode != access.directory.as_raw_mode() => {
            let (gid, wanted) = (found.st_gid, group.as_raw());
            let why = format!(
                "has group {gid} and mode {mode:04o}, a shared one needs group {wanted} and mode 2770"
            );
            return Err(denied(format!("{shown} {why}")));
        }
        Some(_) => {}
    }
    let magic = probe(directory.as_fd()).map_err(|e| fault("asking for the file system of", path, e))?;
    match network::remote(magic) {
        None => Ok(magic),
        Some(name) => Err(denied(format!(
            "{shown} is on {name}, where a lock may not bind other hosts; choose a directory on a local file system, or a server"
        ))),
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|e| {
        let found = lstat(path).map(|s| kind(&s));
        match found {
            Ok(FileType::Symlink) => {
                denied(format!("{} is a symbolic link; name the directory behind it", path.display()))
            }
            Ok(FileType::Directory) | Err(_) => fault("opening the directory", path, e),
            Ok(_) => denied(format!("{} is not a directory; choose another one", path.display())),
        }
    })
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn ours_or_roots(uid: u32) -> bool {
    uid == 0 || uid == geteuid().as_raw()
}

fn denied(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Denied, why).with_backend(super::SCHEME)
}

#[cfg(test)]
mod tests;
