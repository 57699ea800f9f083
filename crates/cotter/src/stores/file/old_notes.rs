//! The notes of a name that nobody uses any more.

use super::directory::Directory;
use super::errors::{errno, fault};
use super::lock::{LockFile, LockKind, last_used};
use super::names::encode;
use super::paths::{NOTE_GATE, NOTES};
use crate::{Name, Result};
use rustix::fs::{rmdir, unlink};
use rustix::io::Errno;
use std::path::PathBuf;
use std::time::SystemTime;

/// The directory with the notes of one name.
pub(super) struct OldNotes(PathBuf);

impl OldNotes {
    pub(super) fn of(directory: &Directory, name: &Name) -> Self {
        Self(directory.path.join(NOTES).join(encode(name)))
    }

    /// The directories of all names that have notes.
    pub(super) fn all(directory: &Directory) -> Result<Vec<String>> {
        Self(directory.path.join(NOTES)).names()
    }

    /// When the last note was written; `None` where there is none.
    pub(super) fn newest(&self) -> Result<Option<SystemTime>> {
        let notes = self.names()?.into_iter().filter(|name| !name.starts_with('.'));
        Ok(notes.filter_map(|name| last_used(&self.0.join(name))).max())
    }

    /// Deletes all notes, unless one was written since `oldest` or is being written. Writers take turns by locking the gate,
    /// and one that has opened the gate before sees afterwards that it has gone.
    pub(super) fn delete(&self, oldest: SystemTime) -> Result<bool> {
        let path = self.0.join(NOTE_GATE);
        let Some(gate) = LockFile::existing(&path)? else { return Ok(false) };
        if !gate.attempt(LockKind::Exclusive).map_err(|e| fault("locking", &path, e))? {
            return Ok(false);
        }
        let is_old = || Ok(gate.id.is_at(&path) && self.newest()?.is_none_or(|written| written <= oldest));
        let done = is_old().and_then(|old| if old { self.clear().map(|()| true) } else { Ok(false) });
        gate.free();
        done
    }

    /// The gate goes last.
    fn clear(&self) -> Result<()> {
        let names = self.names()?;
        let notes = names.iter().map(String::as_str).filter(|name| *name != NOTE_GATE);
        for name in notes.chain([NOTE_GATE]) {
            let path = self.0.join(name);
            unlink(&path).map_err(|e| fault("deleting", &path, e))?;
        }
        // A writer may have made another gate in it by now.
        let _ = rmdir(&self.0);
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        match std::fs::read_dir(&self.0).map_err(|e| errno(&e)) {
            Err(Errno::NOENT) => Ok(Vec::new()),
            Err(e) => Err(fault("reading the directory", &self.0, e)),
            Ok(_) => super::admin::file_names(&self.0),
        }
    }
}
