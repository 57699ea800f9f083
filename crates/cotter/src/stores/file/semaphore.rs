//! Taking permits, and their limit.
//!
//! A process that takes permits, or changes their limit, holds the exclusive lock on the lock file in the meantime: the gate.
//! The limit is in the lock file, and counts while permits are taken.

use super::acquire::{MAX_RESTARTS, replaced};
use super::backend::Files;
use super::errors::fault;
use super::held::{Held, HeldAs};
use super::lock::{LockFile, LockKind};
use super::paths::LockPaths;
use super::permits::Taken;
use super::state::State;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Claim, Grant, Mode, Session, Until};
use crate::clock::unix_micros;
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::thread;
use std::time::Duration;

/// The outcome of one try for permits.
pub(super) enum PermitTry {
    Granted(Grant),
    /// Too few are free, or others wait for them.
    Busy(Busy),
    /// The lock file was replaced meanwhile.
    Again,
}

/// The reason why there are no permits for a claim.
#[derive(Default)]
pub(super) struct Busy {
    /// The limit at that time.
    pub(super) limit: u32,
    /// The permits whose return is to be waited for; none where the gate was closed all the time.
    pub(super) taken: Vec<Taken>,
}

/// The state of the gate, after trying to close it behind the caller.
enum Gate {
    Closed(LockFile),
    /// The name is in use as a lock.
    Locked(Mode),
    /// A process stays behind it for longer than any should.
    Stuck,
}

/// A process behind the gate makes some dozens of system calls. One that finds it closed tries this often without a pause,
/// and then this often with one.
const SPINS: usize = 20;
const NAPS: usize = 50;
const NAP: Duration = Duration::from_micros(100);
/// A change of the limit keeps trying for this long. Only a process that was stopped behind the gate keeps it closed for longer.
const GATE_TIMEOUT: Duration = Duration::from_secs(10);

/// A limit that is to be changed.
struct LimitChange<'a> {
    files: &'a Files,
    name: &'a Name,
    of: u32,
}

impl Attempt for LimitChange<'_> {
    type Done = ();

    async fn attempt(&mut self) -> Result<Option<()>> {
        self.files.try_to_change_limit(self.name, self.of)
    }

    fn period(&self) -> Duration {
        Duration::from_millis(20)
    }
}

impl Files {
    /// Tries to take permits. `seen` is the limit that a queued claim saw when it came; any other claim does not overtake
    /// those who wait.
    pub(super) fn take_permits(
        &self,
        claim: &Claim,
        paths: &LockPaths,
        seen: Option<u32>,
    ) -> Result<Result<Grant, Busy>> {
        for _ in 0..MAX_RESTARTS {
            match self.take_permits_once(claim, paths, seen).map_err(|e| e.with_name(&claim.name))? {
                PermitTry::Granted(grant) => return Ok(Ok(grant)),
                PermitTry::Busy(busy) => return Ok(Err(busy)),
                PermitTry::Again => {}
            }
        }
        Err(replaced(paths).with_name(&claim.name))
    }

    fn take_permits_once(&self, claim: &Claim, paths: &LockPaths, seen: Option<u32>) -> Result<PermitTry> {
        let as_of = self.clock.now();
        self.check_directory(as_of)?;
        match self.close_gate(paths)? {
            Gate::Closed(gate) => {
                let tried = self.behind_gate(claim, paths, seen, &gate, as_of);
                gate.free();
                tried
            }
            Gate::Locked(mode) => Err(claim.mode.mismatch(mode)),
            Gate::Stuck => Ok(PermitTry::Busy(Busy::default())),
        }
    }

    fn close_gate(&self, paths: &LockPaths) -> Result<Gate> {
        let opened = LockFile::open(&paths.lock, &self.directory.access)?;
        for round in 0..SPINS + NAPS {
            if opened.attempt(LockKind::Exclusive).map_err(|e| fault("locking", &paths.lock, e))? {
                return Ok(Gate::Closed(opened));
            }
            if round < SPINS { thread::yield_now() } else { thread::sleep(NAP) }
        }
        // Only now: the record of a holder that was killed stays until the next one writes its own.
        let state = State::read(opened.fd(), &paths.lock)?.filter(|state| state.held);
        Ok(state.map_or(Gate::Stuck, |state| Gate::Locked(state.mode())))
    }

    pub(super) fn behind_gate(
        &self,
        claim: &Claim,
        paths: &LockPaths,
        seen: Option<u32>,
        gate: &LockFile,
        as_of: Moment,
    ) -> Result<PermitTry> {
        // Its file was pruned or replaced before it was locked: the permits are counted under the next file.
        if !gate.id.is_at(&paths.lock) {
            return Ok(PermitTry::Again);
        }
        let mut state = State::of(gate.fd(), &paths.lock, &claim.name)?;
        let taken = paths.permits.clean()?;
        let (take, limit) = limit_for(claim.mode, &state, !taken.is_empty(), seen)?;
        let has_room = u64::from(take) + count(&taken) <= u64::from(limit);
        if seen.is_none() && paths.queue.is_awaited()? {
            if has_room {
                // Nobody who waits takes them: perhaps none of them listens.
                paths.queue.ask(None)?;
            }
            return Ok(PermitTry::Busy(Busy { limit, taken }));
        }
        if !has_room {
            return Ok(PermitTry::Busy(Busy { limit, taken }));
        }
        let claim = Claim { mode: Mode::Permits { take, of: limit }, ..claim.clone() };
        if state.shared {
            paths.readers.clear();
        }
        let turns = state.grant(&claim, unix_micros(self.clock.wall()));
        state.write(gate.fd(), &paths.lock)?;
        let (own, file) = paths.permits.enter(&state)?;
        let (paths, session) = (paths.clone(), Session::new());
        let held = Held { claim, paths, file, access: HeldAs::Permits(own, gate.id), state, turns, session };
        let grant = held.grant(as_of);
        Ok(self.keep(held, seen.is_some(), grant)?.map_or(PermitTry::Again, PermitTry::Granted))
    }

    /// Whether there are permits for this claim now, as far as that can be seen from outside the gate.
    pub(super) fn has_permits(&self, claim: &Claim, paths: &LockPaths) -> Result<bool> {
        let opened = LockFile::open(&paths.lock, &self.directory.access)?;
        let state = State::of(opened.fd(), &paths.lock, &claim.name)?;
        let Mode::Permits { take, of } = claim.mode else { return Ok(false) };
        let limit = if state.limit == 0 { of } else { state.limit };
        Ok(u64::from(take) + count(&paths.permits.taken()?) <= u64::from(limit))
    }

    /// Changes the limit of a name that is in use as a semaphore, and wakes those who wait. Where many take permits, the gate
    /// may be closed at every try, so there are several.
    pub(super) async fn change_limit(&self, name: &Name, of: u32) -> Result<()> {
        let last = Until::Moment(self.clock.now() + GATE_TIMEOUT);
        let changed = poll::until(&*self.clock, last, &mut LimitChange { files: self, name, of }).await?;
        changed.ok_or_else(|| {
            let why = format!("another process that uses {} is stuck", self.paths(name).lock.display());
            Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME)
        })
    }

    /// `None` while others are behind the gate.
    fn try_to_change_limit(&self, name: &Name, of: u32) -> Result<Option<()>> {
        let paths = self.paths(name);
        if rustix::fs::stat(&paths.lock).is_err() {
            return Ok(Some(()));
        }
        let gate = match self.close_gate(&paths)? {
            Gate::Closed(gate) if gate.id.is_at(&paths.lock) => gate,
            Gate::Closed(_) | Gate::Stuck => return Ok(None),
            Gate::Locked(_) => return Ok(Some(())),
        };
        let mut state = State::of(gate.fd(), &paths.lock, name)?;
        let is_used = !paths.permits.taken()?.is_empty() || paths.queue.is_awaited()?;
        if state.limit != 0 && is_used {
            state.limit = of;
            state.write(gate.fd(), &paths.lock)?;
        }
        gate.free();
        paths.queue.ask(None).map(Some)
    }

    /// Refuses a lock on a name whose permits are taken.
    pub(super) fn refuse_semaphore(&self, claim: &Claim, paths: &LockPaths, state: &State) -> Result<()> {
        if state.limit != 0 && !paths.permits.taken()?.is_empty() {
            return Err(claim.mode.mismatch(state.mode()));
        }
        Ok(())
    }
}

fn count(taken: &[Taken]) -> u64 {
    taken.iter().map(|taken| u64::from(taken.count)).sum()
}

/// The number of permits that a claim takes, and the limit that counts for it. A queued claim accepts a limit that was set
/// while it waited.
fn limit_for(mode: Mode, state: &State, in_use: bool, seen: Option<u32>) -> Result<(u32, u32)> {
    let Mode::Permits { take, of } = mode else { unreachable!("only permits are taken here") };
    let was_set = seen.is_some_and(|seen| seen != 0 && state.limit != 0 && seen != state.limit);
    let limit = if was_set { state.limit } else { of };
    let differs = in_use && state.limit != 0 && state.limit != limit;
    if differs || take > limit {
        return Err(mode.mismatch(state.mode()));
    }
    Ok((take, limit))
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, Where};
    use super::*;
    use crate::backend::Backend;
    use crate::engine::Engine;
    use cotter_testkit::timing::Stopwatch;
    use std::sync::Arc;

    /// A semaphore of one permit, which is taken.
    async fn in_use() -> (Arc<Files>, tempfile::TempDir) {
        let place = tempfile::tempdir().unwrap();
        let at = Where::At(place.path().join("locks"));
        let directory = Directory::open(&at, None, crate::sys::filesystem::of).unwrap();
        let files = Arc::new(Files::new(directory, Engine::process().unwrap().clock().clone()));
        assert!(files.acquire(&one_of(1), Until::Now).await.unwrap().granted().is_some());
        (files, place)
    }

    fn name() -> Name {
        Name::new("a").unwrap()
    }

    fn one_of(limit: u32) -> Claim {
        Claim::new(name(), Mode::Permits { take: 1, of: limit }, Duration::from_secs(20))
    }

    /// Another process behind the gate.
    fn behind_gate(files: &Files) -> LockFile {
        let gate = LockFile::open(&files.paths(&name()).lock, &files.directory.access).unwrap();
        assert!(gate.attempt(LockKind::Exclusive).unwrap());
        gate
    }

    /// Whoever takes permits keeps the gate closed for a moment, and there may be many.
    #[tokio::test]
    async fn the_limit_is_changed_once_the_gate_is_open() {
        let (files, _place) = in_use().await;
        let gate = behind_gate(&files);
        let changing = files.clone();
        let change = tokio::spawn(async move { changing.set_limit(&name(), 2).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!change.is_finished(), "somebody is behind the gate");
        gate.free();
        change.await.unwrap().unwrap();
        assert!(files.acquire(&one_of(2), Until::Now).await.unwrap().granted().is_some());
    }

    #[tokio::test]
    async fn a_process_that_was_stopped_behind_the_gate_is_reported() {
        let (files, _place) = in_use().await;
        let gate = behind_gate(&files);
        let start = Stopwatch::start();
        let error = files.set_limit(&name(), 2).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("is stuck"), "{error}");
        start.at_least(GATE_TIMEOUT, "it has time to go on");
        start.at_most(2 * GATE_TIMEOUT, "it is reported");
        gate.free();
        assert!(files.acquire(&one_of(2), Until::Now).await.is_err(), "the limit is as it was");
    }

    /// Its file was replaced between opening and locking it: the limit is that of the next file. Usually within the first try.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_limit_of_a_replaced_file_is_not_changed() {
        let (files, _place) = in_use().await;
        let gate = behind_gate(&files);
        let changing = files.clone();
        let change = tokio::spawn(async move { changing.set_limit(&name(), 2).await });
        tokio::time::sleep(Duration::from_millis(1)).await;
        let lock = files.paths(&name()).lock;
        let other = lock.with_extension("copy");
        std::fs::copy(&lock, &other).unwrap();
        std::fs::rename(&other, &lock).unwrap();
        gate.free();
        change.await.unwrap().unwrap();
        assert!(files.acquire(&one_of(2), Until::Now).await.unwrap().granted().is_some());
    }
}
