//! The check that nobody else can replace our directory, by the rule that ssh has for its keys.
//!
//! A user who may rename a directory of the path decides which locks we take. So each of them must belong to root or to
//! us, and nobody else may write to it, unless its sticky bit keeps users from renaming what is not theirs.

use super::access::Access;
use super::directory::{denied, no_directory};
use super::errors::fault;
use crate::Result;
use crate::sys::users::is_unmapped;
use nix::unistd::{Group, Uid, User};
use rustix::fs::{FileType, Stat, lstat, stat};
use rustix::process::geteuid;
use std::path::Path;

const STICKY: u32 = 0o1000;

/// Checks all directories above this one, and the symbolic links in the path.
pub(super) fn check_parents(path: &Path, access: &Access) -> Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    // The owner of the directory can do all of that anyway.
    let owner = lstat(path).ok().filter(|_| access.group.is_some()).map(|found| found.st_uid);
    let rule = Rule { access, owner };
    for above in path.ancestors().skip(1) {
        let found = lstat(above).map_err(|e| missing(above, e))?;
        if kind(&found) == FileType::Symlink && !rule.trusts(found.st_uid) {
            let (shown, uid) = (above.display(), found.st_uid);
            return Err(denied(format!(
                "{shown} is a symbolic link of user {uid}; name the directory that it points to"
            )));
        }
    }
    let real = parent.canonicalize().map_err(|e| missing(parent, super::errors::errno(&e)))?;
    path.ancestors().skip(1).chain(real.ancestors()).try_for_each(|above| rule.check(above))
}

fn missing(path: &Path, errno: rustix::io::Errno) -> crate::Error {
    if errno == rustix::io::Errno::NOENT {
        let why = format!("{} does not exist; make it first, or choose another directory", path.display());
        return crate::Error::new(crate::ErrorKind::Unavailable, why)
            .with_backend(super::SCHEME)
            .with_retryable(false);
    }
    fault("looking at", path, errno)
}

struct Rule<'a> {
    access: &'a Access,
    /// The owner of a directory that a group shares.
    owner: Option<u32>,
}

impl Rule<'_> {
    fn check(&self, above: &Path) -> Result<()> {
        let found = stat(above).map_err(|e| fault("looking at", above, e))?;
        let (shown, mode, uid) = (above.display(), mode(&found), found.st_uid);
        if kind(&found) != FileType::Directory {
            return Err(no_directory(above));
        }
        if !self.trusts(uid) {
            let why = "who could replace this directory; choose one below directories that belong to root or to this user";
            return Err(denied(format!("{shown} belongs to user {uid}, {why}")));
        }
        let others = mode & 0o002 != 0;
        let group = mode & 0o020 != 0 && !self.is_harmless(found.st_gid);
        if (others || group) && mode & STICKY == 0 {
            let who = if others { "everybody".to_owned() } else { format!("group {}", found.st_gid) };
            let why = "may rename its entries and could replace this directory; choose one below directories that only root or this user may write to";
            return Err(denied(format!("{shown} cannot be a parent (mode {mode:04o}): {who} {why}")));
        }
        Ok(())
    }

    /// Root, this user, and the owner of the shared directory.
    fn trusts(&self, uid: u32) -> bool {
        uid == 0 || uid == geteuid().as_raw() || self.owner == Some(uid) || is_unmapped(uid)
    }

    /// The group that shares the locks could delete them as well, and a user's own group has no other members.
    fn is_harmless(&self, gid: u32) -> bool {
        self.access.group.is_some_and(|group| group.as_raw() == gid) || is_own_group(gid)
    }
}

/// Whether a group has the name of this user and no other members.
fn is_own_group(gid: u32) -> bool {
    let user = User::from_uid(Uid::effective()).ok().flatten();
    let group = Group::from_gid(gid.into()).ok().flatten();
    user.zip(group).is_some_and(|(user, group)| {
        user.gid == group.gid
            && user.name == group.name
            && group.mem.iter().all(|member| *member == user.name)
    })
}

/// The permissions, with the sticky bit and its like.
#[allow(clippy::useless_conversion, reason = "the type of the field differs between systems")]
pub(super) fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
