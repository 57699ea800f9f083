//! The file with the password of a store. Only its path goes anywhere; the store reads it.

use crate::output::{Console, Failure, clean};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A file, and who says so.
#[derive(Debug)]
pub(crate) struct PasswordFile {
    path: PathBuf,
    from: String,
}

impl PasswordFile {
    /// The path as it is here; commands may run elsewhere.
    pub(crate) fn new(path: &Path, from: impl Into<String>) -> Result<Self, Failure> {
        let from = from.into();
        let path = std::path::absolute(path).map_err(|e| Failure::config(format!("{from}: {e}")))?;
        Ok(Self { path, from })
    }

    /// Whether a store of this URL can have a password at all.
    pub(crate) fn is_for(url: &str) -> bool {
        ["redis:", "rediss:", "unix:"].iter().any(|scheme| url.starts_with(scheme))
    }

    /// The URL with it.
    pub(crate) fn add_to(&self, url: &str, has_password: bool) -> Result<String, Failure> {
        let from = &self.from;
        if !Self::is_for(url) {
            return Err(Failure::config(format!("{from}: this store has no password, leave it out")));
        }
        if has_password || url.contains("password_file=") {
            let why = format!("{from}: the URL has a password too: leave one of the two out");
            return Err(Failure::config(why));
        }
        self.read()?;
        let sign = if url.contains('?') { '&' } else { '?' };
        Ok(format!("{url}{sign}password_file={}", encoded(self.text()?)))
    }

    /// For those who speak to the store past cotter.
    pub(crate) fn read(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(&self.path).map_err(|e| {
            let path = clean(&self.path.to_string_lossy());
            Failure::config(format!("{}: {path} cannot be read: {e}", self.from))
        })?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// For the environment of a command.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        self.path.to_str().ok_or_else(|| Failure::config(format!("{}: the path is not UTF-8", self.from)))
    }

    /// Says so when everybody can read it.
    pub(crate) fn warn(&self, console: &Console) {
        let mode = self.path.metadata().map_or(0, |found| found.permissions().mode());
        if mode & 0o004 != 0 {
            let path = self.path.display();
            console.warning(&format!("everybody on this host can read the password in {path}: chmod 600 it"));
        }
    }
}

fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes().fold(String::new(), |text, byte| match plain(byte) {
        true => text + &char::from(byte).to_string(),
        false => text + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_encoded_so_that_nothing_ends_it() {
        assert_eq!(encoded("/run/a b&c?d#é:@%"), "/run/a%20b%26c%3Fd%23%C3%A9%3A%40%25");
    }
}
