//! Locks in a directory on this host: the default store, without a server.
//!
//! The kernel keeps the lock (`flock`) and frees it when its holder dies, however it dies. Waiters queue with tickets.
//! The owner of the first ticket waits in the kernel's queue for the lock, in a thread; each of the others waits for
//! the ticket before its own to end.
//!
//! # Files in the directory
//! - `NAME.lock`, one for each name that was ever used. Only [`Admin::prune`](crate::Admin::prune) deletes it, under
//!   its lock, because another process may be waiting for it.
//! - `NAME.queue/`, one ticket for each process that waits. It exists only while there are waiters.
//! - `NAME.readers/`, one record for each reader. The next writer removes the records of readers that were killed.
//! - `NAME.permits/`, for each grant of permits a file that its holder keeps locked, and a record. The next user of the
//!   name removes those of holders that were killed.
//! - `notes/NAME/KEY`, the notes.
//!
//! # Tokens
//! The next token is the larger of two numbers: the counter in the file plus one, and the clock in microseconds. The
//! counter is not synced to the disk: a crash of the machine that loses the last writes leaves a smaller counter, but
//! the clock is above all tokens that were issued. A token repeats only if a counter is lost and the clock was set back
//! as well.
//!
//! # Cost
//! An uncontended lock and release take these system calls, and three `getpid`. A bare lock with a record (`open`,
//! `flock`, `write`, `flock`, `close`) takes five of them.
//!
//! | step | calls |
//! |---|---|
//! | are there waiters? | `openat` (fails) |
//! | the lock | `open`, `fstat`, `flock` |
//! | are there waiters by now? | `openat` (fails) |
//! | is a writer becoming a reader? | `fcntl` |
//! | counter and holder | `pread`, `pwrite` |
//! | is the locked file still at its path? | `newfstatat` |
//! | release | `pwrite`, `flock`, `close` |
//!
//! Once a second, the client checks whether the files of its locks are still at their paths. A waiter also checks once
//! a second, and costs nothing else.
//!
//! # Platforms
//! The above describes Linux. On macOS and FreeBSD, tickets are regular files, and waiters behind the first one look
//! every 50 ms; holders are known from the lock files alone, and a file `NAME.gate` lets a writer become a reader. On
//! Windows, connecting fails with [`Unsupported`](crate::ErrorKind::Unsupported).

// | file | concept |
// |---|---|
// | `backend` | the backend contract |
// | `acquire` | from a free lock file to a grant |
// | `waiting` | waiting, with a ticket and in the kernel's queue |
// | `wake_ups` | the events that wake a waiter |
// | `tickets` | the queue of a name, and our own ticket in it |
// | `rival` | the ticket of another waiter |
// | `peer` | a file that its owner keeps locked: a ticket, or permits |
// | `kernel_queue` | waiting in the kernel's queue, by threads |
// | `lock` | an open lock file and the kernel's lock on it |
// | `state` | the content of a lock file |
// | `held` | one grant |
// | `holds` | the table of what a client holds and waits for |
// | `recheck` | a periodic look at the files of what is held |
// | `readers` | the records of readers |
// | `permits` | the permits that are taken: a file for each grant |
// | `semaphore` | taking permits, and their limit |
// | `share` | the tokens of readers, and downgrades |
// | `count_gate` | one at a time, among those who share the lock |
// | `notes` | notes |
// | `admin` | listing and eviction |
// | `prune` | deleting the files of names that nobody uses |
// | `old_notes` | deleting their notes |
// | `doctor` | findings about a directory |
// | `directory` | choosing, making and checking the directory |
// | `trust` | the check that nobody else can replace the directory |
// | `access` | the permissions of files and directories |
// | `names` | file names for lock names |
// | `paths` | the paths of the files of one name |
// | `errors` | errors of the system as errors of cotter |
// | `flock/` | another store: the lock that flock(1) takes |
// | `unsupported` | this module on Windows |

mod access;
mod acquire;
mod admin;
mod backend;
mod count_gate;
mod directory;
mod doctor;
mod errors;
mod flock;
mod held;
mod holds;
mod kernel_queue;
mod lock;
mod names;
mod notes;
mod old_notes;
mod paths;
mod peer;
mod permits;
mod prune;
mod readers;
mod recheck;
mod rival;
mod semaphore;
mod share;
mod state;
mod tickets;
mod trust;
mod waiting;
mod wake_ups;

use crate::Result;
use crate::backend::{Backend, Connect, Host};
use crate::error::config;
use crate::sys::leave_to_parent;
use async_trait::async_trait;
use directory::{Directory, Probe, Where};
pub use flock::Flock;
use std::path::PathBuf;
use std::sync::Arc;

/// The scheme of the URLs.
const SCHEME: &str = "file";

/// Locks in one directory, for the processes of one user or group on one host.
///
/// A grant lives with its process: the ttl of the lease is ignored, and the lock is free as soon as the process ends.
/// The lock file must stay at its path: when it is deleted or replaced, the grant is lost, and its guard reports that.
///
/// ```
/// # use cotter::{file, Client};
/// # fn main() -> cotter::Result<()> {
/// # let private = tempfile::tempdir().unwrap();
/// let client = Client::builder().connect_to(file::Store::at(private.path().join("locks"))).wait()?;
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
    /// Uses the default directory: `.local/state/cotter` in the home directory that the system has on record for this
    /// user. Environment variables are ignored, so that cron, ssh and services share the directory.
    pub fn home() -> Self {
        Self { place: Where::Home, group: None, probe: crate::sys::filesystem::of }
    }

    /// Uses this directory, an absolute path. It is created with mode 0700 if it is missing and its parent exists.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { place: Where::At(directory.into()), ..Self::home() }
    }

    /// Shares the directory with all users of a group. It is created with mode 2770, and refused with any other mode.
    #[must_use]
    pub fn shared(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// From the part of a URL after `file:`.
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
        return Err(config(format!("{:?} after file: is not understood; write file:///DIR", shown(place))));
    };
    let (host, path) = path.split_at(path.find('/').unwrap_or(path.len()));
    if !host.is_empty() {
        let host = shown(host);
        return Err(config(format!(
            "file: takes no host, but there is {host:?}; write three slashes and an absolute path: file:///DIR"
        )));
    }
    if path.len() < 2 || path.split('/').any(|part| part == "." || part == "..") {
        return Err(config(format!(
            "the directory {path:?} of file: must be an absolute path without . and .., and not /; write file:///DIR"
        )));
    }
    if path.contains('#') {
        return Err(config("file: takes nothing after a #; write %23 if the directory has one"));
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
        return Err(config(format!("file: unknown option {key:?}; the only option is ?shared=GROUP")));
    }
    if value.is_empty() || value.contains('&') {
        return Err(config(format!("{query:?} does not name one group; write ?shared=GROUP")));
    }
    Ok(value)
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        leave_to_parent();
        let clock = host.clock();
        let directory = Directory::open(&self.place, self.group.as_deref(), self.probe)?;
        Ok(Arc::new(backend::Files::new(directory, clock.clone())))
    }
}

#[cfg(test)]
mod tests;
