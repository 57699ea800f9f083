//! Where the files of a database are. SQLite follows links, and keeps the log beside the file that they lead to: whoever uses
//! another log does not see the last changes.

use super::errors::refused;
use crate::Result;
use crate::error::config;
use crate::sys::FileId;
use crate::sys::filesystem::{self, FileSystem};
use rustix::fs::{FileType, stat};
use std::io;
use std::path::{Path, PathBuf};

/// Tells which file system a path is on.
pub(super) type Probe = fn(&Path) -> io::Result<FileSystem>;

/// The path of a database without links, or the one that it will have. Refuses one that is relative, or whose locks would not bind
/// everybody who uses it.
pub(super) fn locate(path: &Path, probe: Probe) -> Result<PathBuf> {
    if !path.is_absolute() {
        let why = format!("the path {} of the database is not absolute", path.display());
        return Err(config(why).with_backend(super::SCHEME));
    }
    let real = resolve(path);
    // The file may be missing, and may be mounted by itself.
    for place in real.parent().into_iter().chain([&*real]) {
        if let Some(found) = probe(place).ok().filter(|found| found.is_remote) {
            let why = format!(
                "is on {}, where file locks may not exclude other hosts; use a local file system or a database server",
                found.name
            );
            return Err(refused(path, &why));
        }
    }
    let found = stat(&real).ok();
    if found.is_some_and(|found| !FileType::from_raw_mode(found.st_mode).is_file()) {
        let why = format!("the database {} is not a regular file", path.display());
        return Err(config(why).with_backend(super::SCHEME));
    }
    if found.is_some_and(|found| found.st_nlink > 1) {
        let why = "is a file with several names (hard links): SQLite keeps a log for each of them, so that locks taken by \
                   one name are not seen by another; leave only one";
        return Err(refused(path, why));
    }
    if filesystem::is_mounted_alone(&real) {
        let why = "is mounted without its directory, so that its log is not shared with those who use the same file \
                   elsewhere; mount the directory";
        return Err(refused(path, why));
    }
    Ok(real)
}

fn resolve(path: &Path) -> PathBuf {
    let beside = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// The file system of a path.
pub(super) fn file_system(path: &Path) -> io::Result<FileSystem> {
    Ok(filesystem::at(path)?)
}

/// The files of an open database.
#[derive(Debug)]
pub(super) struct Files {
    /// The path that processes use, the log in which the last changes are, and the index of that log.
    all: Vec<(PathBuf, FileId)>,
    /// Where SQLite writes.
    pub(super) directory: PathBuf,
}

impl Files {
    /// `None` if one of them has gone already.
    pub(super) fn of(path: &Path, real: &Path, has_log: bool) -> Option<Self> {
        // Whoever makes another index does not see what is in the log, and writes over it.
        let beside = ["-wal", "-shm"].map(|end| {
            let mut file = real.as_os_str().to_owned();
            file.push(end);
            PathBuf::from(file)
        });
        let mut all = Vec::new();
        for file in std::iter::once(path.to_owned()).chain(beside.into_iter().filter(|_| has_log)) {
            let found = stat(&file).ok()?;
            all.push((file, FileId::of(&found)));
        }
        Some(Self { all, directory: real.parent()?.to_owned() })
    }

    /// Whether all of them are still there.
    pub(super) fn are_there(&self) -> bool {
        self.all.iter().all(|(path, file)| file.is_at(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::os::unix::fs::symlink;

    fn local(_: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem { name: "ext4".into(), is_remote: false })
    }

    /// All that is below a directory of this name was mounted from another host.
    fn partly_remote(path: &Path) -> io::Result<FileSystem> {
        let is_remote = path.components().any(|part| part.as_os_str() == "remote");
        Ok(FileSystem { name: if is_remote { "NFS" } else { "ext4" }.into(), is_remote })
    }

    #[test]
    fn network_file_systems_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (remote, here) = (dir.path().join("remote"), dir.path().join("here"));
        [&remote, &here].iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
        symlink(remote.join("locks.db"), here.join("linked.db")).unwrap();
        symlink(&remote, here.join("folder")).unwrap();
        for there in [
            remote.join("locks.db"),
            here.join("linked.db"),
            here.join("folder/locks.db"),
            here.join("remote"),
        ] {
            std::fs::write(&there, "").unwrap();
            let error = locate(&there, partly_remote).unwrap_err();
            assert!(error.kind() == ErrorKind::Denied && !error.is_retryable(), "{error}");
            assert!(
                error.to_string().contains("is on NFS") && error.to_string().contains("database server"),
                "{error}"
            );
            locate(&there, local).unwrap();
        }
        // Before it is created.
        locate(&remote.join("new.db"), partly_remote).unwrap_err();
        locate(&here.join("new.db"), partly_remote).unwrap();
    }

    #[test]
    fn links_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("locks.db"), dir.path().join("link.db"));
        symlink(&file, &link).unwrap();
        std::fs::write(&file, "").unwrap();
        assert_eq!(locate(&link, file_system).unwrap(), file.canonicalize().unwrap());
        let missing = dir.path().join("missing.db");
        assert_eq!(
            locate(&missing, file_system).unwrap(),
            dir.path().canonicalize().unwrap().join("missing.db")
        );
    }
}
