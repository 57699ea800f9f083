//! The very lock that flock(1) takes on one path.
//!
//! Nothing is written into the file or next to it, and the file is never deleted. Every program that takes an exclusive
//! `flock` on it, by flock(1) or `exec 9>FILE; flock 9`, excludes cotter and is excluded by it. Waiters wait in the
//! kernel's own queue like those programs. One path is one lock, whatever the names of the mutexes.
//!
//! Tokens order the grants of one user only. Their counter is in cotter's own directory, under the number of the file. For
//! a user without a home directory there is no counter, and the clock alone gives the tokens.

// | file | concept |
// |---|---|
// | `backend` | the backend contract |
// | `waiting` | waiting in the kernel's queue |
// | `held` | one grant |
// | `tokens` | the counter of the tokens |
// | `admin` | listing and eviction |

mod admin;
mod backend;
mod held;
mod tokens;
mod waiting;

use super::directory::{Directory, Where};
use crate::backend::{Backend, Connect, Host};
use crate::error::config;
use crate::sys::leave_to_parent;
use crate::{Error, ErrorKind, Result};
use async_trait::async_trait;
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scheme of its URLs.
const SCHEME: &str = "flock";

/// The lock that flock(1) takes on one path: for jobs that run beside others that still use flock(1).
///
/// Waiters wait in the kernel's own queue, together with those of flock(1). There are no notes. In all other respects
/// it is like [`file::Store`](super::Store): a grant lives with its process.
///
/// ```
/// # use cotter::{file, Client};
/// # fn main() -> cotter::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let (path, tokens) = (dir.path().join("backup.lock"), dir.path().join("tokens"));
/// // The same lock as `flock /var/lock/backup.lock …`.
/// let store = file::Flock::at(path).tokens_in(tokens);
/// let client = Client::builder().connect_to(store).wait()?;
/// let guard = client.mutex("backup").lock().wait()?;
/// guard.finish().wait()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Flock {
    path: PathBuf,
    tokens: Where,
}

impl Flock {
    /// Uses the lock on this absolute path. The file is created if it is missing, as flock(1) does.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), tokens: Where::Home }
    }

    /// Keeps the token counter in this directory instead of that of [`file::Store::home`](super::Store::home).
    #[must_use]
    pub fn tokens_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.tokens = Where::At(directory.into());
        self
    }

    /// From the part of a URL after `flock:`.
    pub(crate) fn from_url(rest: &str) -> Result<Self> {
        let (path, query) = rest.split_once('?').map_or((rest, None), |(p, q)| (p, Some(q)));
        let path = path.strip_prefix("//").unwrap_or(path);
        if !path.starts_with('/') || path.ends_with('/') {
            return Err(config("flock: needs the absolute path of a file; write flock:/var/lock/NAME"));
        }
        let store = Self::at(super::unescape(path)?);
        match query.map(|q| q.strip_prefix("tokens=").filter(|d| d.starts_with('/'))) {
            None => Ok(store),
            Some(Some(directory)) => Ok(store.tokens_in(super::unescape(directory)?)),
            Some(None) => Err(config("flock: takes no option but ?tokens=/DIR")),
        }
    }
}

#[async_trait]
impl Connect for Flock {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        leave_to_parent();
        let clock = host.clock();
        let counters = match Directory::open(&self.tokens, None, crate::sys::filesystem::of) {
            Ok(directory) => Some(directory),
            // The user of a service may have no home directory that it can write to; the lock does not need one.
            Err(_) if matches!(self.tokens, Where::Home) => None,
            Err(e) => return Err(e),
        };
        Ok(Arc::new(backend::FlockFile::new(self.path.clone(), counters, clock.clone())))
    }
}

/// An error of the system at a path.
fn error(what: &str, path: &Path, errno: Errno) -> Error {
    let kind = match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => ErrorKind::Denied,
        Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP => ErrorKind::Config,
        _ => ErrorKind::Unavailable,
    };
    let words = super::errors::words(errno);
    Error::new(kind, format!("{what} {} failed: {words}", path.display()))
        .with_source(std::io::Error::from(errno))
        .with_backend(SCHEME)
        .with_retryable(false)
}
