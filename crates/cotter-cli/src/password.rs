//! The file with the password of a store. Only its path is passed on; the store reads the file.

use crate::store::is_local;
use cotter_console::{Console, Failure, clean, encoded};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A password file, and the setting that names it.
#[derive(Debug)]
pub(crate) struct PasswordFile {
    path: PathBuf,
    from: String,
    /// What the path leads to, if that is in memory.
    _copy: Option<File>,
}

impl PasswordFile {
    /// Makes the path absolute, because commands may run in another directory.
    pub(crate) fn new(path: &Path, from: impl Into<String>) -> Result<Self, Failure> {
        let from = from.into();
        let path = std::path::absolute(path).map_err(|e| Failure::config(format!("{from}: {e}")))?;
        Ok(Self { path, from, _copy: None })
    }

    /// Copies a pipe into memory, such as `<(pass show redis)` in a shell: it can be read only once, but each connection, further
    /// processes of this program, and nested commands read the file for themselves.
    pub(crate) fn in_memory_unless_file(mut self) -> Result<Self, Failure> {
        if self.path.metadata().map_or(true, |found| found.is_file() || found.is_dir()) {
            return Ok(self);
        }
        let text = self.read()?;
        let copy =
            copy(&text).map_err(|e| Failure::config(format!("{}: cannot be copied: {e}", self.from)))?;
        // Not /proc/self: other processes are to find it as well.
        self.path = format!("/proc/{}/fd/{}", std::process::id(), copy.as_raw_fd()).into();
        self._copy = Some(copy);
        Ok(self)
    }

    /// Whether stores of this kind have passwords.
    pub(crate) fn is_for(url: &str) -> bool {
        !is_local(url)
    }

    /// Adds the password file to the URL.
    pub(crate) fn add_to(&self, url: &str, has_password: bool) -> Result<String, Failure> {
        let from = &self.from;
        if !Self::is_for(url) {
            return Err(Failure::config(format!("{from}: this kind of store has no password; leave it out")));
        }
        // That of sentinels is another password.
        let has_file = ["?password_file=", "&password_file="].iter().any(|option| url.contains(option));
        if has_password || has_file {
            let why = format!("{from}: the URL has a password too; leave one of the two out");
            return Err(Failure::config(why));
        }
        self.read()?;
        let sign = if url.contains('?') { '&' } else { '?' };
        Ok(format!("{url}{sign}password_file={}", encoded(self.text()?)))
    }

    /// Reads the password, for direct connections to the store.
    pub(crate) fn read(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(&self.path).map_err(|e| {
            let path = clean(&self.path.to_string_lossy());
            Failure::config(format!("{}: {path} cannot be read: {e}", self.from))
        })?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The path, for the environment of a command.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        self.path.to_str().ok_or_else(|| Failure::config(format!("{}: the path is not UTF-8", self.from)))
    }

    /// Warns if every user can read the file.
    pub(crate) fn warn(&self, console: &Console) {
        let mode = self.path.metadata().map_or(0, |found| found.permissions().mode());
        if mode & 0o004 != 0 {
            let path = self.path.display();
            console.warning(&format!(
                "the password in {path} is readable by every user on this host: chmod 600 the file"
            ));
        }
    }
}

/// A file in memory that only this user can read.
fn copy(text: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("password", MemfdFlags::CLOEXEC)?);
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}
