//! Readers: how they get their tokens, and how a writer becomes one.

use super::backend::Files;
use super::count_gate;
use super::errors::fault;
use super::holds::{Held, How};
use super::lock::{Opened, Way};
use super::paths::Spot;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Claim, Grant, Mode, Session, Until};
use crate::sys::gate;
use crate::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::time::Duration;

impl Files {
    /// From a shared lock of the kernel to a hold. Other readers may come in at this moment: the gate makes the tokens
    /// of each its own. `None` when somebody is stuck in there.
    pub(super) fn share(&self, claim: &Claim, spot: &Spot, bolt: Opened) -> Result<Option<Held>> {
        let Some(gate) = count_gate::enter(bolt.fd(), spot)? else {
            bolt.free();
            return Ok(None);
        };
        let (state, turns) = self.count_up(claim, spot, &bolt)?;
        drop(gate);
        let how = How::Shared(spot.readers.enter(&state)?);
        let (claim, spot, session) = (claim.clone(), spot.clone(), Session::new());
        Ok(Some(Held { claim, spot, bolt, how, state, turns, session }))
    }

    /// From writer to reader.
    pub(super) async fn go_down(&self, grant: &Grant) -> Result<Grant> {
        let last = Until::Moment(self.clock.now() + PATIENCE);
        let shared = poll::until(&*self.clock, last, &mut Descent { files: self, grant }).await?;
        shared.ok_or_else(|| {
            let why = "somebody who looked at the lock at this moment has stopped, and keeps it";
            Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME).with_name(&grant.claim.name)
        })
    }
}

/// Who comes between gives the lock back at once.
const PATIENCE: Duration = Duration::from_secs(10);

/// A writer on its way to be a reader.
struct Descent<'a> {
    files: &'a Files,
    grant: &'a Grant,
}

impl Attempt for Descent<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        let (files, id) = (self.files, self.grant.claim.id);
        let step = files.holds.with_mut(id, |held| {
            let as_of = files.clock.now();
            Ok(held.go_down()?.then(|| held.grant(as_of)))
        });
        let step = step.unwrap_or_else(|| Err(Error::not_ours(id)));
        step.map_err(|e| e.with_name(&self.grant.claim.name))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    fn period(&self) -> Duration {
        Duration::from_millis(1)
    }
}

impl Held {
    /// One step; true when it reads. The kernel gives up the one lock before it takes the other, so somebody may get
    /// in between. Behind the closed gate that is nobody who keeps it: a writer sees the gate, a reader needs it.
    fn go_down(&mut self) -> Result<bool> {
        let path = &self.spot.lock;
        match self.how {
            How::Shared(_) => return Ok(true),
            How::Exclusive => match count_gate::close(self.bolt.fd(), &self.spot)? {
                None => return Ok(false),
                Some(closed) => self.how = How::Between(closed),
            },
            How::Between(_) => {}
        }
        if !self.bolt.attempt(Way::WithReaders).map_err(|e| fault("sharing", path, e))? {
            return Ok(false);
        }
        (self.claim.mode, self.state.shared) = (Mode::Shared, true);
        self.state.write(self.bolt.fd(), path)?;
        let record = self.spot.readers.enter(&self.state)?;
        if let How::Between(closed) = std::mem::replace(&mut self.how, How::Shared(record)) {
            gate::open(self.bolt.fd(), closed);
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
        Claim { label, ..Claim::new(name, mode, PATIENCE) }
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
        let grant = one.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().expect("free");
        let id = grant.claim.id;
        let spot = one.spot(&grant.claim.name);
        let path = spot.lock.clone();
        let open = || File::options().read(true).write(true).open(&path).unwrap();
        // What the kernel may do: the old lock is gone, the new one is not there yet.
        let (between, intruder) = (open(), open());
        one.holds.with_mut(id, |held| {
            held.how = How::Between(count_gate::close(held.bolt.fd(), &held.spot).unwrap().expect("open"));
            rustix::fs::flock(held.bolt.fd(), FlockOperation::Unlock).unwrap();
        });
        assert!(count_gate::is_closed(between.as_fd(), &spot).unwrap());
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().is_none());
        rustix::fs::flock(&intruder, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!one.holds.with_mut(id, Held::go_down).unwrap().unwrap(), "somebody is in between");
        drop(intruder);
        let shared = one.downgrade(&grant).await.unwrap();
        assert_eq!((shared.claim.mode, shared.number), (Mode::Shared, grant.number));
        assert!(!count_gate::is_closed(between.as_fd(), &spot).unwrap());
        assert!(other.acquire(&claim(Mode::Shared), Until::Now).await.unwrap().is_some());
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().is_none());
    }

    /// Its guard was dropped half-way: nothing of it stays.
    #[tokio::test]
    async fn a_release_half_way_frees_it() {
        let place = tempfile::tempdir().unwrap();
        let (one, other) = (files(place.path()), files(place.path()));
        let grant = one.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().expect("free");
        one.holds.with_mut(grant.claim.id, |held| {
            held.how = How::Between(count_gate::close(held.bolt.fd(), &held.spot).unwrap().expect("open"));
        });
        one.release(&grant.claim, Default::default()).await.unwrap();
        assert!(other.acquire(&claim(Mode::Exclusive), Until::Now).await.unwrap().is_some());
        assert!(one.downgrade(&grant).await.is_err());
    }
}
