//! The directory of the locks: choosing, making and checking it.

use super::access::Access;
use super::errors::{errno, fault};
use super::paths::LOCK;
use super::state::State;
use super::trust::{check_parents, kind, mode};
use crate::error::config;
use crate::sys::filesystem::{self, FileSystem};
use crate::{Error, ErrorKind, Result};
use nix::unistd::{Group, Uid, User};
use rustix::fs::{FileType, Gid, Mode, OFlags, fstat, lstat, open};
use rustix::process::{getegid, geteuid, getgroups};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

/// The default, below the home directory.
const DEFAULT_PATH: &str = ".local/state/cotter";

/// Tells which file system a directory is on; replaced in tests.
pub(super) type Probe = fn(BorrowedFd<'_>) -> rustix::io::Result<FileSystem>;

/// The directory that a user has chosen.
#[derive(Debug, Clone)]
pub(super) enum Where {
    /// The default in the home directory of this user.
    Home,
    At(PathBuf),
}

/// A directory that has passed all checks.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    pub(super) path: PathBuf,
    pub(super) access: Access,
    pub(super) filesystem: FileSystem,
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
        access.make(&path).map_err(|e| fault("creating the directory", &path, e))?;
        let filesystem = check(&path, &access, probe)?;
        Ok(Self { path, access, filesystem })
    }

    /// Fails when the directory at this path may not be used any more.
    pub(super) fn check_again(&self) -> Result<()> {
        check(&self.path, &self.access, filesystem::of).map(|_| ())
    }
}

/// Environment variables do not count: the same user comes from cron, by ssh and as a service.
fn home() -> Result<PathBuf> {
    let uid = Uid::effective();
    let remedy = "name a directory with --url file:///DIR";
    let user = User::from_uid(uid).map_err(|e| {
        let why = format!("cannot determine the home directory of user {uid} ({e}); {remedy}");
        config(why).with_backend(super::SCHEME)
    })?;
    let home = user.map(|u| u.dir).filter(|d| d.is_absolute());
    let Some(home) = home else {
        let why = format!("user {uid} has no home directory for the locks; {remedy}");
        return Err(config(why).with_backend(super::SCHEME));
    };
    if !home.is_dir() {
        let why = format!("the home directory {} of user {uid} does not exist; {remedy}", home.display());
        return Err(config(why).with_backend(super::SCHEME));
    }
    let path = home.join(DEFAULT_PATH);
    let parents = path.parent().expect("it was joined");
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(parents)
        .map_err(|e| fault("creating the directory", parents, errno(&e)))?;
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

/// Checks the directory through one descriptor, and returns the file system that it is on.
fn check(path: &Path, access: &Access, probe: Probe) -> Result<FileSystem> {
    let directory = open_directory(path)?;
    let found = fstat(&directory).map_err(|e| fault("looking at", path, e))?;
    let mode = mode(&found);
    let shown = path.display();
    match access.group {
        None if found.st_uid != geteuid().as_raw() => {
            let (owner, us) = (found.st_uid, geteuid().as_raw());
            return Err(denied(format!(
                "{shown} belongs to user {owner}, not to {us}; choose another directory"
            )));
        }
        None if mode & 0o022 != 0 => {
            let remedy = remedy(path, mode);
            return Err(denied(format!("other users may write to {shown} (mode {mode:04o}); {remedy}")));
        }
        None if mode & 0o077 != 0 && !is_for_locks(path) => {
            let why =
                format!("there are other files in {shown}, and other users may read it (mode {mode:04o})");
            return Err(denied(format!("{why}; {}", remedy(path, mode))));
        }
        None => {}
        Some(group)
            if found.st_gid != group.as_raw() || Mode::from_raw_mode(found.st_mode) != access.directory =>
        {
            let (gid, wanted) = (found.st_gid, group.as_raw());
            let why = format!(
                "has group {gid} and mode {mode:04o}, but a shared directory needs group {wanted} and mode 2770"
            );
            return Err(denied(format!("{shown} {why}")));
        }
        Some(_) => {}
    }
    let found = probe(directory.as_fd()).map_err(|e| fault("determining the file system of", path, e))?;
    if found.is_remote {
        let name = found.name;
        return Err(denied(format!(
            "{shown} is on {name}, where a lock might not exclude other hosts; choose a directory on a local file system, or a server"
        )));
    }
    Ok(found)
}

/// A directory that others use keeps its permissions: only one that is for locks alone may be made private.
fn remedy(path: &Path, mode: u32) -> String {
    let shown = path.display();
    if is_for_locks(path) {
        return format!("chmod 700 {shown}, or add ?shared=GROUP");
    }
    // Below a directory that others write to no path is safe, unless it is sticky.
    let below = mode & 0o022 == 0 || mode & 0o1000 != 0;
    let example = if below { path.join("cotter") } else { PathBuf::from("/var/lib/cotter") };
    format!("use a directory of its own, such as {}", example.display())
}

/// Whether it is empty, or has locks of ours in it.
fn is_for_locks(path: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(path) else { return false };
    let Some(first) = entries.next() else { return true };
    let is_ours = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|e| {
            let name = e.file_name();
            let token = name.to_str().is_some_and(|n| n.starts_with("flock-") && n.ends_with(".token"));
            token || (name.to_str().is_some_and(|n| n.ends_with(LOCK)) && State::is_in(&e.path()))
        })
    };
    is_ours(first) || entries.any(is_ours)
}

fn open_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(|e| {
        let found = lstat(path).map(|s| kind(&s));
        match found {
            Ok(FileType::Symlink) => {
                denied(format!("{} is a symbolic link; name the directory that it points to", path.display()))
            }
            Ok(FileType::Directory) | Err(_) => fault("opening the directory", path, e),
            Ok(_) => no_directory(path),
        }
    })
}

/// The path, or one above it, is a file of some kind.
pub(super) fn no_directory(path: &Path) -> Error {
    let why = format!("{} is not a directory; choose another one with file:///DIR", path.display());
    Error::new(ErrorKind::Config, why).with_backend(super::SCHEME)
}

pub(super) fn denied(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Denied, why).with_backend(super::SCHEME)
}

#[cfg(test)]
mod tests;
