//! Values beside names: one file per key, written beside, brought to the disk, and renamed into place.
//!
//! Writers of one name pass a gate, a file that they lock in turn; readers do not. A write waits for the disk in the
//! task that asks for it.

use super::backend::Files;
use super::encode::encode;
use super::fault::{fault, foreign};
use super::lock::Caught;
use super::watch::{Signal, Watch};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::poll::{self, Attempt};
use crate::{Error, ErrorKind, Name, Note, Result};
use async_trait::async_trait;
use rustix::fs::inotify::WatchFlags;
use rustix::fs::{OFlags, fstat, fsync, open, rename};
use rustix::io::Errno;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

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
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&path).and_then(|mut f| f.read_to_end(&mut bytes));
        match read {
            Ok(_) => Kept::parse(&bytes).map(Some).ok_or_else(|| foreign(&path, "was not written by cotter")),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(fault("reading", &path, Errno::from_io_error(&e).unwrap_or(Errno::IO))),
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
    async fn pass(&self) -> Result<Caught> {
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
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let access = &self.files.directory.access;
        let written = || {
            let fd = open(&new, flags, access.file)?;
            access.open_up(&fd, &fstat(&fd)?)?;
            let mut file = std::fs::File::from(fd);
            file.write_all(text).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
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

impl Attempt for Gate<'_> {
    type Done = Caught;

    async fn attempt(&mut self) -> Result<Option<Caught>> {
        Caught::attempt(&self.path, &self.shelf.files.directory.access)
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
        let mut change = Change { shelf, key, seen, watch: None, signal: Arc::default() };
        poll::until(&*self.clock, until, &mut change).await
    }
}

/// Waits until a note is another one than was seen.
struct Change<'a> {
    shelf: Shelf<'a>,
    key: &'a str,
    seen: u64,
    watch: Option<Watch>,
    signal: Arc<Signal>,
}

impl Attempt for Change<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        if self.watch.is_none() {
            let watcher = self.shelf.files.watcher.as_ref();
            self.watch =
                watcher.and_then(|w| w.watch(&self.shelf.directory, WatchFlags::MOVED_TO, &self.signal));
        }
        Ok(self.shelf.load(self.key)?.map(|k| k.note).filter(|n| n.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.signal.woken.clone().notified_owned())
    }

    /// Before the first note there is nothing to watch.
    fn period(&self) -> Duration {
        Duration::from_millis(if self.watch.is_some() { 1000 } else { 50 })
    }
}
