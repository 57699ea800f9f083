//! From a free lock file to a grant.

use super::backend::Files;
use super::count_gate;
use super::errors::fault;
use super::held::{Held, HeldAs};
use super::holds::Hold;
use super::lock::{LockFile, LockKind};
use super::paths::LockPaths;
use super::state::State;
use crate::backend::{Claim, Grant, Session};
use crate::clock::unix_micros;
use crate::{Error, ErrorKind, Moment, Result};
use std::ops::Range;
use std::thread;
use std::time::Duration;

/// The outcome of one try.
pub(super) enum Try {
    Granted(Grant),
    Busy,
    /// The file was replaced meanwhile.
    Again,
}

/// A lock file is not replaced this often by chance.
pub(super) const MAX_RESTARTS: usize = 20;
/// How often to try when the lock is taken though no holder is recorded, and in which of these tries with a pause before
/// the next: a holder that is coming or going, or an abandoned thread, takes microseconds.
const TRIES: Range<usize> = 20..30;
const PAUSE: Duration = Duration::from_micros(100);

impl Files {
    /// Tries to get the lock. A `queued` claim has its turn; any other one does not overtake those who wait.
    pub(super) fn take(&self, claim: &Claim, paths: &LockPaths, queued: bool) -> Result<Option<Grant>> {
        for _ in 0..MAX_RESTARTS {
            match self.take_once(claim, paths, queued).map_err(|e| e.with_name(&claim.name))? {
                Try::Granted(grant) => return Ok(Some(grant)),
                Try::Busy => return Ok(None),
                Try::Again => {}
            }
        }
        Err(replaced(paths).with_name(&claim.name))
    }

    fn take_once(&self, claim: &Claim, paths: &LockPaths, queued: bool) -> Result<Try> {
        let as_of = self.clock.now();
        self.check_directory(as_of)?;
        if !queued && paths.queue.is_awaited()? {
            let opened = LockFile::open(&paths.lock, &self.directory.access)?;
            self.refuse_semaphore(claim, paths, &State::of(opened.fd(), &paths.lock, &claim.name)?)?;
            // The lock is free and nobody who waits takes it: perhaps none of them listens.
            if opened.could_be_had(LockKind::of(claim)) {
                paths.queue.ask(None)?;
            }
            return Ok(Try::Busy);
        }
        let opened = LockFile::open(&paths.lock, &self.directory.access)?;
        if !attempt(&opened, LockKind::of(claim), paths, queued)? {
            return Ok(Try::Busy);
        }
        self.grant_locked(claim, paths, queued, opened, as_of)
    }

    /// Whether the lock could be had now.
    pub(super) fn could_be_had(&self, paths: &LockPaths, kind: LockKind) -> Result<bool> {
        Ok(LockFile::open(&paths.lock, &self.directory.access)?.could_be_had(kind))
    }

    /// Makes a grant of a locked file.
    pub(super) fn grant_locked(
        &self,
        claim: &Claim,
        paths: &LockPaths,
        queued: bool,
        locked: LockFile,
        as_of: Moment,
    ) -> Result<Try> {
        // This process may have been paused after its first look at the queue. It must not overtake those who have
        // come since.
        if !queued && paths.queue.is_awaited()? {
            locked.free();
            return Ok(Try::Busy);
        }
        let exclusive = claim.mode.is_exclusive();
        // The lock of a writer that is becoming a reader can be had for a moment.
        if exclusive && count_gate::is_closed(locked.fd(), paths)? {
            locked.free();
            return Ok(Try::Busy);
        }
        // Its file was pruned or replaced before it was locked: what is beside the name belongs to the next file.
        if !exclusive && !locked.id.is_at(&paths.lock) {
            locked.free();
            return Ok(Try::Again);
        }
        let held = if exclusive {
            Some(self.write(claim, paths, locked)?)
        } else {
            self.share(claim, paths, locked)?
        };
        let Some(held) = held else { return Ok(Try::Busy) };
        let grant = held.grant(as_of);
        Ok(self.keep(held, queued, grant)?.map_or(Try::Again, Try::Granted))
    }

    /// Reserves the tokens of a writer and records it as the holder.
    fn write(&self, claim: &Claim, paths: &LockPaths, locked: LockFile) -> Result<Held> {
        let (state, turns) = self.reserve_tokens(claim, paths, &locked)?;
        let (claim, paths, session) = (claim.clone(), paths.clone(), Session::new());
        Ok(Held { claim, paths, file: locked, access: HeldAs::Writer, state, turns, session })
    }

    /// Reserves the next tokens and writes that to the file before anybody sees them.
    pub(super) fn reserve_tokens(
        &self,
        claim: &Claim,
        paths: &LockPaths,
        locked: &LockFile,
    ) -> Result<(State, u16)> {
        let mut state = State::of(locked.fd(), &paths.lock, &claim.name)?;
        self.refuse_semaphore(claim, paths, &state)?;
        if state.limit != 0 {
            paths.permits.clear();
        }
        if state.shared && claim.mode.is_exclusive() {
            paths.readers.clear();
        }
        let turns = state.grant(claim, unix_micros(self.clock.wall()));
        state.write(locked.fd(), &paths.lock)?;
        Ok((state, turns))
    }

    /// Enters the grant first and looks at its files afterwards: in the other order, nobody would hear of a file that goes
    /// between the two. `None` when one has gone.
    pub(super) fn keep(&self, held: Held, queued: bool, grant: Grant) -> Result<Option<Grant>> {
        let id = held.claim.id;
        if let Some(held) = self.holds.insert(id, held, queued) {
            held.release(0);
            return Err(Error::not_ours(id));
        }
        // One that was released meanwhile is not looked at any more.
        if self.holds.with(id, Held::is_linked).unwrap_or(true) {
            self.rechecks.begin();
            return Ok(Some(grant));
        }
        drop(self.holds.remove(id));
        Ok(None)
    }
}

pub(super) fn replaced(paths: &LockPaths) -> Error {
    let why = format!("{} keeps being replaced", paths.lock.display());
    Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME)
}

/// Tries to lock the file. A queued claim is going to wait for the lock anyway; any other one is told that the lock is busy
/// only if somebody is recorded as its holder.
fn attempt(opened: &LockFile, kind: LockKind, paths: &LockPaths, queued: bool) -> Result<bool> {
    for round in 0..TRIES.end {
        if opened.attempt(kind).map_err(|e| fault("locking", &paths.lock, e))? {
            return Ok(true);
        }
        if queued || State::read(opened.fd(), &paths.lock)?.is_some_and(|state| state.held) {
            return Ok(false);
        }
        if TRIES.contains(&round) { thread::sleep(PAUSE) } else { thread::yield_now() }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, Where};
    use super::super::tickets::arrival;
    use super::*;
    use crate::Name;
    use crate::backend::Mode;
    use crate::engine::Engine;

    struct Scene {
        files: Files,
        claim: Claim,
        paths: LockPaths,
        _place: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("locks");
            let directory = Directory::open(&Where::At(path), None, crate::sys::filesystem::of).unwrap();
            let files = Files::new(directory, Engine::process().unwrap().clock().clone());
            let (name, label) = (Name::new("a").unwrap(), "test".into());
            let ttl = Duration::from_secs(10);
            let claim = Claim { label, ..Claim::new(name, Mode::Exclusive, ttl) };
            Self { paths: files.paths(&claim.name), files, claim, _place: place }
        }

        fn locked(&self) -> LockFile {
            let opened = LockFile::open(&self.paths.lock, &self.files.directory.access).unwrap();
            assert!(opened.attempt(LockKind::Exclusive).unwrap(), "free");
            opened
        }

        fn grant(&self, locked: LockFile) -> Result<Try> {
            self.files.grant_locked(&self.claim, &self.paths, false, locked, self.files.clock.now())
        }
    }

    #[tokio::test]
    async fn a_paused_newcomer_does_not_overtake() {
        let scene = Scene::new();
        let locked = scene.locked();
        let ticket = scene.paths.queue.enter(arrival()).unwrap();
        assert!(matches!(scene.grant(locked), Ok(Try::Busy)));
        drop(ticket);
        assert!(matches!(scene.grant(scene.locked()), Ok(Try::Granted(_))));
    }

    #[tokio::test]
    async fn a_file_that_goes_away_while_it_is_taken_is_not_granted() {
        let scene = Scene::new();
        let locked = scene.locked();
        std::fs::remove_file(&scene.paths.lock).unwrap();
        assert!(matches!(scene.grant(locked), Ok(Try::Again)));
        // The same, one step later.
        let held = scene.files.write(&scene.claim, &scene.paths, scene.locked()).unwrap();
        std::fs::remove_file(&scene.paths.lock).unwrap();
        let grant = held.grant(scene.files.clock.now());
        assert!(scene.files.keep(held, false, grant).unwrap().is_none());
        assert!(scene.files.granted_before(&scene.claim).is_none());
    }
}
