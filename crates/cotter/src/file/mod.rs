//! Locks in a directory of this host: the default, without a server.
//!
//! The kernel keeps the lock (`flock`) and frees it when its holder dies, however it dies. Waiters stand in a line of
//! tickets; the first of them stands in the kernel's queue for the lock, by a thread that sleeps there, and each of the
//! others waits for the end of the ticket before its own.
//!
//! # What stands in the directory
//! - `NAME.lock`, one for each name that was ever used; never deleted by cotter, because somebody could wait for it.
//! - `NAME.queue/`, one ticket, a named pipe, for each process that waits; there only while somebody waits.
//! - `NAME.readers/`, one record for each reader; what a killed one left is cleared away by the next writer.
//! - `notes/NAME/KEY`, values beside names.
//!
//! # Tokens
//! The next one is the larger of the counter in the file plus one, and the clock in microseconds. Nothing is brought to
//! the disk for that: a crash of the machine that loses the last writes leaves a smaller counter, and the clock is
//! above all tokens that were given, as it was when they were given. Only a counter that is lost *and* a clock that was
//! stepped back, together, repeat a token.
//!
//! # What it costs
//! An uncontended pair is these system calls, and three `getpid`. A bare lock with a record (`open`, `flock`, `write`,
//! `flock`, `close`) is five of them.
//!
//! | step | calls |
//! |---|---|
//! | does somebody wait? | `openat` (not there) |
//! | the lock | `open`, `fstat`, `flock` |
//! | does somebody wait by now? | `openat` (not there) |
//! | is a writer just becoming a reader? | `fcntl` |
//! | counter and holder | `pread`, `pwrite` |
//! | is it still the file that others see? | `newfstatat` |
//! | release | `pwrite`, `flock`, `close` |
//!
//! What is held is looked at once a second: whether its file still stands in its place. Who waits looks once a second, too,
//! and costs nothing else.
//!
//! | file | concept |
//! |---|---|
//! | `directory` | choosing, making and checking the directory |
//! | `trust` | who could put another directory in its place |
//! | `access` | with which rights files and directories are made |
//! | `names` | file names for lock names |
//! | `paths` | where the files of one name are |
//! | `count_gate` | one at a time, among those who share the lock |
//! | `readers` | who reads |
//! | `share` | how readers get their tokens, and how a writer becomes one |
//! | `lock` | the kernel's lock, and the descriptor that keeps it |
//! | `kernel_queue` | waiting in the kernel's queue |
//! | `state` | what stands in a lock file |
//! | `holds` | what this client holds |
//! | `recheck` | a look at the files of what is held |
//! | `tickets` | tickets |
//! | `rival` | somebody else's ticket |
//! | `waiting` | waiting |
//! | `backend` | the contract |
//! | `notes` | values beside names |
//! | `admin` | looking from outside |
//! | `doctor` | what is worth knowing about a directory |
//! | `errors` | what the system refuses |
//! | `flock/` | another store: the lock that flock(1) takes |

mod access;
mod admin;
mod backend;
mod count_gate;
mod directory;
mod doctor;
mod errors;
mod flock;
mod holds;
mod kernel_queue;
mod lock;
mod names;
mod notes;
mod paths;
mod readers;
mod recheck;
mod rival;
mod share;
mod state;
mod tickets;
mod trust;
mod waiting;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use crate::error::config;
use async_trait::async_trait;
use directory::{Directory, Probe, Where};
pub use flock::Flock;
use std::path::PathBuf;
use std::sync::Arc;

/// The scheme of its URLs.
const SCHEME: &str = "file";

/// Locks in one directory, for the processes of one user or group on one host.
///
/// A grant lives with its process: the ttl of the lease is ignored, and the lock is free as soon as the process ends.
/// The lock file must stay where it is: deleted or replaced, the grant is lost, and its guard says so.
///
/// ```
/// # use cotter::{file, Client};
/// # fn main() -> cotter::Result<()> {
/// # let private = tempfile::tempdir().unwrap();
/// let client = Client::builder().backend(file::Store::at(private.path().join("locks"))).connect().wait()?;
/// let guard = client.mutex("orders:cleanup").lock().wait()?;
/// println!("held with token {}", guard.token());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    place: Where,
    group: Option<String>,
    probe: Probe,
}

impl Default for Store {
    fn default() -> Self {
        Self::home()
    }
}

impl Store {
    /// The default directory: `.local/state/cotter` in the home directory that the system knows for this user.
    /// Nothing of the environment counts, so that cron, ssh and services share it.
    pub fn home() -> Self {
        Self { place: Where::Home, group: None, probe: crate::sys::filesystem::of }
    }

    /// This directory, an absolute path. Made with mode 0700 if it is missing and its parent is there.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { place: Where::At(directory.into()), ..Self::home() }
    }

    /// Shares the directory with all users of a group: made with mode 2770, refused with any other.
    #[must_use]
    pub fn shared(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// From what stands behind `file:` in a URL.
    pub(crate) fn from_url(rest: &str) -> Result<Self> {
        let (place, query) = rest.split_once('?').map_or((rest, None), |(p, q)| (p, Some(q)));
        let store = if place.is_empty() { Self::home() } else { Self::at(path(place)?) };
        match query {
            None => Ok(store),
            Some(query) => Ok(store.shared(group(query)?)),
        }
    }
}

/// The directory of `///DIR`.
fn path(place: &str) -> Result<PathBuf> {
    let Some(path) = place.strip_prefix("//") else {
        return Err(config(format!("{:?} behind file: is not understood; write file:///DIR", shown(place))));
    };
    let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    if !host.is_empty() {
        let host = shown(host);
        return Err(config(format!(
            "file: knows no host, but there is {host:?}; write three slashes and an absolute path: file:///DIR"
        )));
    }
    if path.len() < 2 || path.split('/').any(|part| part == "." || part == "..") {
        return Err(config(format!(
            "the directory {path:?} of file: is not absolute and plain; write file:///DIR"
        )));
    }
    if path.contains('#') {
        return Err(config("file: takes nothing behind a #; write %23 if the directory has one"));
    }
    unescape(path)
}

/// A part of a wrong URL in a message. One that was meant for another store may hold a password.
fn shown(part: &str) -> &str {
    if part.contains('@') { "..." } else { part }
}

fn unescape(path: &str) -> Result<PathBuf> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        rest = others;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let byte = others.get(..2).and_then(names::hex).filter(|b| *b != 0);
        let wrong =
            || config(format!("the % in the directory {path:?} is not followed by two digits; write %25"));
        bytes.push(byte.ok_or_else(wrong)?);
        rest = &others[2..];
    }
    let path = String::from_utf8(bytes).map_err(|_| config("the directory of file: is not UTF-8"))?;
    Ok(path.into())
}

/// The group of `shared=GROUP`.
fn group(query: &str) -> Result<&str> {
    let (key, value) = query.split_once('=').unwrap_or((query, ""));
    if key != "shared" {
        return Err(config(format!("file: does not know the option {key:?}; it takes ?shared=GROUP")));
    }
    if value.is_empty() || value.contains('&') {
        return Err(config(format!("{query:?} does not name one group; write ?shared=GROUP")));
    }
    Ok(value)
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let clock = host.clock();
        let directory = Directory::open(&self.place, self.group.as_deref(), self.probe)?;
        Ok(Arc::new(backend::Files::new(directory, clock.clone())))
    }
}

#[cfg(test)]
mod tests;
