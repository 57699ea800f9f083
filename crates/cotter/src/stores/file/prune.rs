//! Deleting the files of names that nobody uses any more.
//!
//! A lock file is deleted only by a process that has its lock, exclusively. Whoever has opened it before gets the lock
//! afterwards, on a file that is not at its path any more, and begins anew: before it touches any other file of the name,
//! because these may belong to those who use the next lock file by then.

use super::admin::file_names;
use super::backend::Files;
use super::count_gate;
use super::errors::fault;
use super::lock::{LockFile, LockKind, last_used};
use super::old_notes::OldNotes;
use super::paths::{LOCK, LockPaths};
use super::state::State;
use crate::backend::{Cursor, PruneOrder, PruneOutcome, PrunePage, Pruned};
use crate::clock::unix_micros;
use crate::{ErrorKind, Name, Result};
use rustix::fs::{rmdir, unlink};
use std::time::{Duration, SystemTime};

/// Answers in one page.
const PAGE_SIZE: usize = 1000;
/// Names between two moments in which other tasks of the runtime have their turn.
const NAMES_AT_A_TIME: usize = 16;
/// A file that was never written is left alone for this long: whoever has made it is about to lock it.
const BIRTH: Duration = Duration::from_secs(10);

impl Files {
    pub(super) async fn prune_page(&self, order: &PruneOrder, from: Option<&Cursor>) -> Result<PrunePage> {
        self.check_directory(self.clock.now())?;
        let mut page = PrunePage::default();
        for (at, file) in self.candidates(order, from)?.iter().enumerate() {
            if at % NAMES_AT_A_TIME == 0 {
                tokio::task::yield_now().await;
            }
            page.names.extend(self.prune_candidate(order, file)?);
            if page.names.len() == PAGE_SIZE {
                page.next = Some(Cursor::new(file));
                break;
            }
        }
        Ok(page)
    }

    /// The file names of all names after the cursor, without their suffixes.
    fn candidates(&self, order: &PruneOrder, from: Option<&Cursor>) -> Result<Vec<String>> {
        let mut files = file_names(&self.directory.path)?;
        files.retain_mut(|file| {
            let stem = file.strip_suffix(LOCK).map(str::len);
            stem.inspect(|length| file.truncate(*length)).is_some()
        });
        if order.notes_too {
            files.extend(OldNotes::all(&self.directory)?);
        }
        files.retain(|file| from.is_none_or(|from| file.as_str() > from.as_str()));
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    fn prune_candidate(&self, order: &PruneOrder, file: &str) -> Result<Option<Pruned>> {
        let Some(name) = self.name_of(file) else { return Ok(None) };
        let oldest = self.clock.wall().checked_sub(order.unused_for);
        let Some(oldest) = oldest.filter(|_| name.starts_with(&order.prefix)) else { return Ok(None) };
        let candidate = Candidate { files: self, order, oldest, paths: self.paths(&name), name };
        match candidate.prune() {
            Err(e) if e.kind() == ErrorKind::Denied => {
                let denied = PruneOutcome::Denied(e.to_string());
                let used = last_used(&candidate.paths.lock).unwrap_or(oldest);
                Ok(Some(Pruned::new(candidate.name, used, denied)))
            }
            // Something that is not ours has its path.
            Err(e) if e.kind() == ErrorKind::ForeignKey => Ok(None),
            Err(e) => Err(e.with_name(&candidate.name)),
            Ok(pruned) => Ok(pruned.map(|(used, outcome)| Pruned::new(candidate.name, used, outcome))),
        }
    }
}

/// A name that may be one of those to delete.
struct Candidate<'a> {
    files: &'a Files,
    order: &'a PruneOrder,
    /// Used since then, it stays.
    oldest: SystemTime,
    paths: LockPaths,
    name: Name,
}

impl Candidate<'_> {
    /// When it was used last, and what becomes of it; `None` for one that is in use.
    fn prune(&self) -> Result<Option<(SystemTime, PruneOutcome)>> {
        // Most names are in use: this look spares them the lock.
        if last_used(&self.paths.lock).is_some_and(|used| used > self.oldest) {
            return Ok(None);
        }
        let Some(opened) = LockFile::existing(&self.paths.lock)? else { return self.prune_notes() };
        if !opened.attempt(LockKind::Exclusive).map_err(|e| fault("locking", &self.paths.lock, e))? {
            return Ok(None);
        }
        let done = self.prune_locked(&opened);
        opened.free();
        done
    }

    fn prune_locked(&self, locked: &LockFile) -> Result<Option<(SystemTime, PruneOutcome)>> {
        let (path, now) = (&self.paths.lock, self.files.clock.wall());
        let used = locked.last_used().map_err(|e| fault("looking at", path, e))?;
        if used > self.oldest || !locked.id.is_at(path) || self.is_wanted(locked)? {
            return Ok(None);
        }
        let mut state = match State::read(locked.fd(), path)? {
            None if now.duration_since(used).is_ok_and(|age| age >= BIRTH) => State::default(),
            Some(state) if state.name.is_empty() || state.name == self.name.as_str() => state,
            _ => return Ok(None),
        };
        if state.last >= unix_micros(now) {
            return Ok(Some((used, PruneOutcome::AheadOfClock)));
        }
        let notes = OldNotes::of(&self.files.directory, &self.name);
        if let Some(written) = notes.newest()? {
            if !self.order.notes_too {
                return Ok(Some((used, PruneOutcome::HasNotes)));
            }
            if written > self.oldest || !(self.order.dry_run || notes.delete(self.oldest)?) {
                return Ok(None);
            }
        }
        if !self.order.dry_run {
            self.delete(locked, &mut state)?;
        }
        Ok(Some((used, PruneOutcome::Deleted)))
    }

    /// Whether it is held, or waited for, in a way that leaves the kernel's lock free: a writer is becoming a reader, permits
    /// are taken, or a waiter has not come to the lock yet.
    fn is_wanted(&self, locked: &LockFile) -> Result<bool> {
        Ok(count_gate::is_closed(locked.fd(), &self.paths)?
            || self.paths.queue.waiters()? > 0
            || !self.paths.permits.taken()?.is_empty())
    }

    /// Deletes the lock file last: if this process is killed before, the next prune goes on.
    fn delete(&self, locked: &LockFile, state: &mut State) -> Result<()> {
        let paths = &self.paths;
        if state.end_of_use() {
            state.write(locked.fd(), &paths.lock)?;
        }
        paths.readers.clear();
        paths.permits.clear();
        let _ = unlink(paths.gate());
        let _ = rmdir(&paths.queue.directory);
        unlink(&paths.lock).map_err(|e| fault("deleting", &paths.lock, e))
    }

    /// A name that was never locked, such as a latch.
    fn prune_notes(&self) -> Result<Option<(SystemTime, PruneOutcome)>> {
        let notes = OldNotes::of(&self.files.directory, &self.name);
        let Some(written) = notes.newest()?.filter(|written| *written <= self.oldest) else {
            return Ok(None);
        };
        let done = self.order.notes_too && (self.order.dry_run || notes.delete(self.oldest)?);
        Ok(done.then_some((written, PruneOutcome::Deleted)))
    }
}

#[cfg(test)]
mod tests;
