//! Values beside names: one file per key, written beside, brought to the disk, and renamed into place.
//!
//! Writers of one name pass a gate, a file that they lock in turn; readers do not. A write waits for the disk in the
//! task that asks for it.

use super::backend::Files;
use super::errors::{errno, fault, foreign};
use super::lock::{Opened, SAFE, Way};
use super::names::encode;
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

/// The notes of one name.
struct Shelf<'a> {
    files: &'a Files,
    top: PathBuf,
    directory: PathBuf,
}

impl<'a> Shelf<'a> {
    fn of(files: &'a Files, name: &Name) -> Self {
        let top = files.directory.path.join("notes");
        Self { files, directory: top.join(encode(name)), top }
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

    /// Writes if `may` agrees with what is there; answers the new revision.
    async fn write(
        &self,
        at: NoteAt<'_>,
        bytes: &[u8],
        may: impl Fn(Option<&Kept>) -> bool + Send,
    ) -> Result<Option<u64>> {
        let _gate = self.pass().await?;
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

    /// Waits until no other writer is inside.
    async fn pass(&self) -> Result<Inside> {
        let access = &self.files.directory.access;
        for directory in [&self.top, &self.directory] {
            access.make(directory).map_err(|e| fault("making the directory", directory, e))?;
        }
        let clock = &*self.files.clock;
        let mut gate = Gate { shelf: self, path: self.directory.join(".gate") };
        let passed = poll::until(clock, Until::Moment(clock.now() + GATE), &mut gate).await?;
        passed.ok_or_else(|| {
            let why = format!("another writer keeps {} locked", gate.path.display());
            Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME)
        })
    }

    /// Inside the gate, so the name of the new file is free.
    fn replace(&self, path: &Path, text: &[u8]) -> Result<()> {
        let new = self.directory.join(".new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let access = &self.files.directory.access;
        // Of one who was killed in here; it may have been another user.
        let _ = unlink(&new);
        let written = || {
            let fd = open(&new, flags, access.file)?;
            access.open_up(&fd)?;
            let mut file = File::from(fd);
            file.write_all(text).map_err(|e| errno(&e))?;
            fsync(&file)?;
            rename(&new, path)
        };
        written().map_err(|e| fault("writing", path, e))
    }
}

/// A writer is inside for one write to the disk.
const GATE: Duration = Duration::from_secs(10);

/// Waits to be let in.
struct Gate<'a> {
    shelf: &'a Shelf<'a>,
    path: PathBuf,
}

/// Inside the gate, until it is dropped.
struct Inside(Option<Opened>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Opened::free);
    }
}

impl Attempt for Gate<'_> {
    type Done = Inside;

    async fn attempt(&mut self) -> Result<Option<Inside>> {
        let opened = Opened::ours(&self.path, &self.shelf.files.directory.access)?;
        let inside = opened.attempt(Way::Alone).map_err(|e| fault("locking", &self.path, e))?;
        Ok(inside.then_some(Inside(Some(opened))))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    fn period(&self) -> Duration {
        Duration::from_millis(2)
    }
}

#[async_trait]
impl Notes for Files {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        Ok(Shelf::of(self, name).load(key)?.map(|k| k.note))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let claim = &grant.claim;
        let newer = |old: Option<&Kept>| {
            let larger = |k: &Kept| (at.token, at.sequence) > (k.note.token.get(), k.sequence);
            self.holds.is_good(claim.id) && old.is_none_or(larger)
        };
        Shelf::of(self, &claim.name).write(at, bytes, newer).await
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let same = |old: Option<&Kept>| old.map_or(0, |k| k.note.revision) == seen;
        let at = NoteAt { key, token: 0, sequence: 0 };
        Shelf::of(self, name).write(at, bytes, same).await
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let shelf = Shelf::of(self, name);
        let mut change = Change { shelf, key, seen, watch: None, woken: Arc::default() };
        poll::until(&*self.clock, until, &mut change).await
    }
}

/// Waits until a note is another one than was seen.
struct Change<'a> {
    shelf: Shelf<'a>,
    key: &'a str,
    seen: u64,
    watch: Option<Watch>,
    woken: Arc<Notify>,
}

impl Attempt for Change<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        if self.watch.is_none() {
            let watcher = self.shelf.files.watcher();
            self.watch = watcher.and_then(|w| w.watch(&self.shelf.directory, &self.woken));
        }
        Ok(self.shelf.load(self.key)?.map(|k| k.note).filter(|n| n.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    /// Before the first note there is nothing to watch.
    fn period(&self) -> Duration {
        Duration::from_millis(if self.watch.is_some() { 1000 } else { 50 })
    }
}
