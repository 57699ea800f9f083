//! Notes: one file per key, written under another name, synced to the disk, and renamed into place.
//!
//! The writers of one name take turns by locking a file; readers do not. A write waits for the disk in the task that asks
//! for it.

use super::backend::Files;
use super::errors::{errno, fault, foreign};
use super::lock::{LockFile, LockKind, SAFE};
use super::names::encode;
use super::paths::{NOTE_GATE, NOTES};
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::sys::watch::Watch;
use crate::{Error, ErrorKind, Name, Note, Result};
use async_trait::async_trait;
use rustix::fs::{OFlags, fsync, open, rename, unlink};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

const HEADER: &str = "cotter note 1 ";

/// A note, and the sequence that a later one of the same token must exceed.
struct Kept {
    note: Note,
    sequence: u64,
}

impl Kept {
    fn text(&self) -> Vec<u8> {
        let (token, revision) = (self.note.token, self.note.revision);
        let head = format!("{HEADER}token={token} sequence={} revision={revision}\n", self.sequence);
        [head.as_bytes(), &self.note.bytes].concat()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|b| *b == b'\n')?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?.strip_prefix(HEADER)?;
        let number = |key: &str| {
            let values = head.split(' ').filter_map(|part| part.split_once('='));
            values.filter(|(k, _)| *k == key).find_map(|(_, value)| value.parse().ok())
        };
        let note = Note::new(bytes[end + 1..].to_vec(), number("token")?, number("revision")?);
        Some(Self { note, sequence: number("sequence")? })
    }
}

/// The directory with the notes of one name.
struct NoteDirectory<'a> {
    files: &'a Files,
    all_notes: PathBuf,
    directory: PathBuf,
}

impl<'a> NoteDirectory<'a> {
    fn of(files: &'a Files, name: &Name) -> Self {
        let all_notes = files.directory.path.join(NOTES);
        Self { files, directory: all_notes.join(encode(name)), all_notes }
    }

    fn file(&self, key: &str) -> PathBuf {
        // No other key is encoded like this.
        self.directory.join(if key.is_empty() { "=".to_owned() } else { encode(key) })
    }

    fn load(&self, key: &str) -> Result<Option<Kept>> {
        let path = self.file(key);
        let file = match open(&path, SAFE | OFlags::RDONLY, rustix::fs::Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(e) => return Err(fault("reading", &path, e)),
        };
        if !file.metadata().is_ok_and(|found| found.is_file()) {
            return Err(foreign(&path, "is not a regular file"));
        }
        let mut bytes = Vec::new();
        match (&file).read_to_end(&mut bytes) {
            Ok(_) => Kept::parse(&bytes).map(Some).ok_or_else(|| foreign(&path, "was not written by cotter")),
            Err(e) => Err(fault("reading", &path, errno(&e))),
        }
    }

    /// Writes if `may` agrees to replace the present note, and returns the new revision.
    async fn write(
        &self,
        at: NoteAt<'_>,
        bytes: &[u8],
        may: impl Fn(Option<&Kept>) -> bool + Send,
    ) -> Result<Option<u64>> {
        let _lock = self.lock().await?;
        let old = self.load(at.key)?;
        if !may(old.as_ref()) {
            return Ok(None);
        }
        let revision = old.map_or(0, |k| k.note.revision) + 1;
        let note = Note::new(bytes.to_vec(), at.token, revision);
        let kept = Kept { note, sequence: at.sequence };
        self.replace(&self.file(at.key), &kept.text())?;
        Ok(Some(revision))
    }

    /// Waits until no other process writes.
    async fn lock(&self) -> Result<WriteLock> {
        let clock = &*self.files.clock;
        let mut attempt = LockAttempt { notes: self, path: self.directory.join(NOTE_GATE) };
        let last = Until::Moment(clock.now() + LOCK_TIMEOUT);
        let locked = poll::until(clock, last, &mut attempt).await?;
        locked.ok_or_else(|| {
            let why = format!("another writer keeps {} locked", attempt.path.display());
            Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME)
        })
    }

    /// Only one process writes, so the name of the new file is free.
    fn replace(&self, path: &Path, text: &[u8]) -> Result<()> {
        let new = self.directory.join(".new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let access = &self.files.directory.access;
        // A writer that was killed may have left one, and may have been another user.
        let _ = unlink(&new);
        let written = || {
            let fd = open(&new, flags, access.file)?;
            access.open_up(&fd)?;
            let mut file = File::from(fd);
            file.write_all(text).map_err(|e| errno(&e))?;
            fsync(&file)?;
            rename(&new, path)
        };
        written().map_err(|e| {
            // Nobody else deletes it until the next note of this name is written, and a full disk needs the room.
            let _ = unlink(&new);
            fault("writing", path, e)
        })
    }
}

/// A writer keeps the lock for one write to the disk.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for the lock of the writers.
struct LockAttempt<'a> {
    notes: &'a NoteDirectory<'a>,
    path: PathBuf,
}

/// The lock of the writers, until it is dropped.
struct WriteLock(Option<LockFile>);

impl WriteLock {
    /// Whether it keeps other writers out: who prunes deletes the file.
    fn is_linked(&self, path: &Path) -> bool {
        self.0.as_ref().is_some_and(|file| file.id.is_at(path))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(LockFile::free);
    }
}

impl Attempt for LockAttempt<'_> {
    type Done = WriteLock;

    async fn attempt(&mut self) -> Result<Option<WriteLock>> {
        let access = &self.notes.files.directory.access;
        for directory in [&self.notes.all_notes, &self.notes.directory] {
            access.make(directory).map_err(|e| fault("creating the directory", directory, e))?;
        }
        let opened = match LockFile::open(&self.path, access) {
            // Who prunes may remove the directory at this moment.
            Err(_) if !self.notes.directory.exists() => return Ok(None),
            other => other?,
        };
        let locked = opened.attempt(LockKind::Exclusive).map_err(|e| fault("locking", &self.path, e))?;
        let lock = locked.then(|| WriteLock(Some(opened)));
        Ok(lock.filter(|lock| lock.is_linked(&self.path)))
    }

    fn period(&self) -> Duration {
        Duration::from_millis(2)
    }
}

#[async_trait]
impl Notes for Files {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        Ok(NoteDirectory::of(self, name).load(key)?.map(|k| k.note))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let claim = &grant.claim;
        let newer = |old: Option<&Kept>| {
            let larger = |k: &Kept| (at.token, at.sequence) > (k.note.token.get(), k.sequence);
            let is_based_on = at.may_replace(old.map(|k| (k.note.token.get(), k.note.revision)));
            self.holds.is_good(claim.id) && is_based_on && old.is_none_or(larger)
        };
        NoteDirectory::of(self, &claim.name).write(at, bytes, newer).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let same = |old: Option<&Kept>| old.map_or(0, |k| k.note.revision) == seen;
        let at = NoteAt::new(key, 0, 0);
        NoteDirectory::of(self, name).write(at, bytes, same).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let notes = NoteDirectory::of(self, name);
        let mut change = NoteChange { notes, key, seen, watch: None, woken: Arc::default() };
        poll::until(&*self.clock, until, &mut change).await
    }
}

/// Waits until the revision of a note differs from the one that was seen.
struct NoteChange<'a> {
    notes: NoteDirectory<'a>,
    key: &'a str,
    seen: u64,
    watch: Option<Watch>,
    woken: Arc<Notify>,
}

impl Attempt for NoteChange<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        if self.watch.is_none() {
            let watcher = self.notes.files.watcher();
            self.watch = watcher.and_then(|w| w.watch(&self.notes.directory, &self.woken));
        }
        Ok(self.notes.load(self.key)?.map(|k| k.note).filter(|n| n.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    /// Before the first note there is no directory to watch.
    fn period(&self) -> Duration {
        Duration::from_millis(if self.watch.is_some() { 1000 } else { 50 })
    }
}
