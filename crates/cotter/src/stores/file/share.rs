//! Readers: reserving their tokens, and turning a writer into a reader.

use super::backend::Files;
use super::count_gate;
use super::errors::fault;
use super::held::{Held, HeldAs};
use super::lock::{LockFile, LockKind};
use super::paths::LockPaths;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Claim, Grant, Mode, Session, Until};
use crate::sys::gate;
use crate::{Error, ErrorKind, Result};
use std::time::Duration;

impl Files {
    /// Makes a hold of a shared kernel lock. Other readers may do the same at this moment: the gate lets them reserve their
    /// tokens one after the other. `None` when a process is stuck inside.
    pub(super) fn share(&self, claim: &Claim, paths: &LockPaths, locked: LockFile) -> Result<Option<Held>> {
        let Some(gate) = count_gate::enter(locked.fd(), paths)? else {
            locked.free();
            return Ok(None);
        };
        let (state, turns) = self.reserve_tokens(claim, paths, &locked)?;
        drop(gate);
        let access = HeldAs::Reader(paths.readers.enter(&state)?);
        let (claim, paths, session) = (claim.clone(), paths.clone(), Session::new());
        Ok(Some(Held { claim, paths, file: locked, access, state, turns, session }))
    }

    /// Turns a writer into a reader.
    pub(super) async fn become_reader(&self, grant: &Grant) -> Result<Grant> {
        let last = Until::Moment(self.clock.now() + DOWNGRADE_TIMEOUT);
        let shared = poll::until(&*self.clock, last, &mut Downgrade { files: self, grant }).await?;
        shared.ok_or_else(|| {
            let why =
                "another process tried the lock at the moment of the downgrade, got it, and has stopped";
            Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME).with_name(&grant.claim.name)
        })
    }
}

/// A process that gets the lock in between gives it back at once.
const DOWNGRADE_TIMEOUT: Duration = Duration::from_secs(10);

/// A writer that is becoming a reader.
struct Downgrade<'a> {
    files: &'a Files,
    grant: &'a Grant,
}

impl Attempt for Downgrade<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        let (files, id) = (self.files, self.grant.claim.id);
        let step = files.holds.with_mut(id, |held| {
            let as_of = files.clock.now();
            Ok(held.step_down()?.then(|| held.grant(as_of)))
        });
        let step = step.unwrap_or_else(|| Err(Error::not_ours(id)));
        step.map_err(|e| e.with_name(&self.grant.claim.name))
    }

    fn period(&self) -> Duration {
        Duration::from_millis(1)
    }
}

impl Held {
    /// One step of the downgrade; true when it is done. The kernel gives up the exclusive lock before it takes the shared
    /// one, and another process may get the lock in between. While the gate is closed such a process does not keep it: a
    /// writer sees the gate, a reader needs it.
    fn step_down(&mut self) -> Result<bool> {
        let path = &self.paths.lock;
        match self.access {
            HeldAs::Reader(_) => return Ok(true),
            HeldAs::Permits(..) => {
                return Err(Error::new(ErrorKind::Misuse, "permits cannot be shared"));
            }
            HeldAs::Writer => match count_gate::close(self.file.fd(), &self.paths)? {
                None => return Ok(false),
                Some(closed) => self.access = HeldAs::Between(closed),
            },
            HeldAs::Between(_) => {}
        }
        if !self.file.attempt(LockKind::Shared).map_err(|e| fault("sharing", path, e))? {
            return Ok(false);
        }
        (self.claim.mode, self.state.shared) = (Mode::Shared, true);
        self.state.write(self.file.fd(), path)?;
        let record = self.paths.readers.enter(&self.state)?;
        if let HeldAs::Between(closed) = std::mem::replace(&mut self.access, HeldAs::Reader(record)) {
            gate::open(self.file.fd(), closed);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Directory, Where};
    use super::*;
    use crate::Name;
    use crate::backend::Backend;
    use crate::engine::Engine;
    use rustix::fs::FlockOperation;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn claim(mode: Mode) -> Claim {
        let (name, label) = (Name::new("a").unwrap(), "test".into());
        Claim { label, ..Claim::new(name, mode, DOWNGRADE_TIMEOUT) }
    }

    fn files(place: &std::path::Path) -> Files {
        let directory =
            Directory::open(&Where::At(place.join("locks")), None, crate::sys::filesystem::of).unwrap();
        Files::new(directory, Engine::process().unwrap().clock().clone())
    }

    /// Another writer has the kernel's lock in the moment between the two: it gives it back, and the reader goes on.
    #[tokio::test]
    async fn who_gets_in_between_does_not_stay() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (files(place.path()), files(place.path()));
        let grant = one.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().granted().expect("free");
        let id = grant.claim.id;
        let paths = one.paths(&grant.claim.name);
        let path = paths.lock.clone();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        // The kernel may have freed the old lock and not taken the new one yet.
        let (between, intruder) = (open(), open());
        one.holds.with_mut(id, |held| {
            held.access =
                HeldAs::Between(count_gate::close(held.file.fd(), &held.paths).unwrap().expect("open"));
            rustix::fs::flock(held.file.fd(), FlockOperation::Unlock).unwrap();
        });
        assert!(count_gate::is_closed(between.as_fd(), &paths).unwrap());
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().granted().is_none());
        rustix::fs::flock(&intruder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!one.holds.with_mut(id, Held::step_down).unwrap().unwrap(), "somebody is in between");
        drop(intruder);
        let shared = one.downgrade(&grant).await.unwrap();
        assert_eq!((shared.claim.mode, shared.number), (Mode::Shared, grant.number));
        assert!(!count_gate::is_closed(between.as_fd(), &paths).unwrap());
        assert!(other.acquire(&claim(Mode::Shared), Until::Now).await.unwrap().granted().is_some());
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().granted().is_none());
    }

    /// A guard that is dropped during its downgrade leaves nothing behind.
    #[tokio::test]
    async fn a_release_half_way_frees_it() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (files(place.path()), files(place.path()));
        let grant = one.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().granted().expect("free");
        one.holds.with_mut(grant.claim.id, |held| {
            held.access =
                HeldAs::Between(count_gate::close(held.file.fd(), &held.paths).unwrap().expect("open"));
        });
        one.release(&grant.claim, Default::default()).await.unwrap();
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().granted().is_some());
        assert!(one.downgrade(&grant).await.is_err());
    }
}
