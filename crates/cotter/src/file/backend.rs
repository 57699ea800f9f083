//! The contract, on files.

use super::directory::Directory;
use super::fault::foreign;
use super::gate;
use super::holds::{Held, Holds, How};
use super::lock::{Bolt, Caught};
use super::place::Place;
use super::spot::Spot;
use super::state::State;
use super::watch::Watcher;
use crate::backend::{
    Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Mode, Notes, Release, Until,
};
use crate::clock::unix_micros;
use crate::{Clock, Error, ErrorKind, LossCause, Moment, Name, Result, Session, poll};
use async_trait::async_trait;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One client's view of a directory.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) directory: Directory,
    pub(super) holds: Arc<Holds>,
    /// None where the system gives no inotify instance.
    pub(super) watcher: Option<Arc<Watcher>>,
    pub(super) clock: Arc<dyn Clock>,
    info: Info,
}

/// What one try came to.
enum Try {
    Granted(Grant),
    Busy,
    /// The file was replaced meanwhile.
    Again,
}

/// A lock file is not replaced this often by chance.
const RESTARTS: usize = 20;

impl Files {
    pub(super) fn new(directory: Directory, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(super::SCHEME, format!("file://{}", directory.path.display()));
        info.capabilities = Capabilities {
            shared: true,
            immediate: true,
            min_ttl: Duration::from_millis(1),
            ..Capabilities::default()
        };
        let holds = Arc::<Holds>::default();
        let watcher = Watcher::start(&directory.path, &holds).ok();
        Self { directory, holds, watcher, clock, info }
    }

    pub(super) fn spot(&self, name: &Name) -> Spot {
        Spot::of(&self.directory, name)
    }

    /// One try. `queued`: it is this claim's turn; otherwise nobody who waits is passed over.
    pub(super) fn take(&self, claim: &Claim, spot: &Spot, queued: bool) -> Result<Option<Grant>> {
        for _ in 0..RESTARTS {
            match self.take_once(claim, spot, queued).map_err(|e| e.with_name(&claim.name))? {
                Try::Granted(grant) => return Ok(Some(grant)),
                Try::Busy => return Ok(None),
                Try::Again => {}
            }
        }
        let why = format!("{} is replaced again and again", spot.lock.display());
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(super::SCHEME).with_name(&claim.name))
    }

    fn take_once(&self, claim: &Claim, spot: &Spot, queued: bool) -> Result<Try> {
        self.come_back()?;
        let as_of = self.clock.now();
        if !queued && spot.queue.is_awaited()? {
            return Ok(Try::Busy);
        }
        let access = &self.directory.access;
        let caught = match claim.mode {
            Mode::Shared => Caught::attempt_shared(&spot.lock, access)?,
            _ => Caught::attempt(&spot.lock, access)?,
        };
        match caught {
            Some(caught) => self.go_on(claim, spot, queued, caught, as_of),
            None => Ok(Try::Busy),
        }
    }

    /// From the kernel's lock to a grant.
    fn go_on(&self, claim: &Claim, spot: &Spot, queued: bool, caught: Caught, as_of: Moment) -> Result<Try> {
        // Who looked, was paused, and only now has the lock, must not overtake those who came meanwhile.
        if !queued && spot.queue.is_awaited()? {
            caught.hand_back(&spot.lock);
            return Ok(Try::Busy);
        }
        let exclusive = claim.mode.is_exclusive();
        // The lock of a writer that is becoming a reader can be had for a moment. It raises the event when it is one.
        if exclusive && gate::is_closed(caught.reader(), &spot.lock)? {
            return Ok(Try::Busy);
        }
        let Some(bolt) = caught.bolt(&spot.lock)? else { return Ok(Try::Again) };
        let held =
            if exclusive { Some(self.reserve(claim, spot, bolt)?) } else { self.share(claim, spot, bolt)? };
        let Some(held) = held else { return Ok(Try::Busy) };
        let grant = held.grant(as_of);
        self.keep(held, queued, grant)
    }

    /// Reserves the tokens, and writes who holds.
    fn reserve(&self, claim: &Claim, spot: &Spot, bolt: Bolt) -> Result<Held> {
        let (state, turns) = self.count_up(claim, spot, &bolt)?;
        let (claim, spot) = (claim.clone(), spot.clone());
        Ok(Held { claim, spot, bolt, how: How::Exclusive, state, turns, session: Session::new() })
    }

    /// The next tokens, written down before anybody sees them.
    pub(super) fn count_up(&self, claim: &Claim, spot: &Spot, bolt: &Bolt) -> Result<(State, u16)> {
        let mut state = match State::read(bolt.reader(), &spot.lock)? {
            Some(state) if !state.name.is_empty() && state.name != claim.name.as_str() => {
                return Err(foreign(&spot.lock, &format!("belongs to the lock {:?}", state.name)));
            }
            state => state.unwrap_or_default(),
        };
        if state.shared && claim.mode.is_exclusive() {
            spot.readers.clear();
        }
        let turns = state.grant(claim, unix_micros(self.clock.wall()));
        state.write(bolt.writer(), &spot.lock)?;
        Ok((state, turns))
    }

    /// Entered first and looked at then: between the two nobody would hear that the file is gone.
    fn keep(&self, held: Held, queued: bool, grant: Grant) -> Result<Try> {
        let id = held.claim.id;
        let (file, path) = (held.bolt.file, held.spot.lock.clone());
        if let Some(held) = self.holds.insert(held, queued) {
            held.release(0);
            return Err(Error::not_ours(id));
        }
        if file.is_at(&path) {
            // The lock is good; whether its directory is watched again is a matter of how soon a loss is noticed.
            let _ = self.come_back();
            return Ok(Try::Granted(grant));
        }
        drop(self.holds.remove(id));
        Ok(Try::Again)
    }

    /// After the directory went away: is what stands there now as it should be?
    fn come_back(&self) -> Result<()> {
        let Some(watcher) = self.watcher.as_ref().filter(|w| w.is_astray()) else { return Ok(()) };
        self.directory.check_again()?;
        watcher.come_back().map_err(|e| {
            let errno = rustix::io::Errno::from_io_error(&e).unwrap_or(rustix::io::Errno::IO);
            super::fault::fault("watching", &self.directory.path, errno)
        })
    }

    fn granted_before(&self, claim: &Claim) -> Option<Grant> {
        self.holds.with(claim.id, |held| held.grant(self.clock.now()))
    }
}

impl Held {
    pub(super) fn grant(&self, as_of: Moment) -> Grant {
        Grant {
            claim: self.claim.clone(),
            number: self.state.first,
            turns: self.turns,
            as_of,
            ttl: None,
            session: Some(self.session.clone()),
            votes: None,
        }
    }
}

#[async_trait]
impl Backend for Files {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        if let Mode::Permits { .. } = claim.mode {
            return Err(Error::unsupported("a semaphore", super::SCHEME));
        }
        if let Some(grant) = self.granted_before(claim) {
            return Ok(Some(grant));
        }
        if until == Until::Now {
            return self.take(claim, &self.spot(&claim.name), false);
        }
        let mut place = Place::new(self, claim);
        poll::until(&*self.clock, until, &mut place).await
    }

    async fn extend(&self, grants: &[&Grant], _ttl: Duration) -> Vec<Result<Extension>> {
        let extend = |grant: &&Grant| {
            let as_of = self.clock.now();
            let good = self.holds.is_good(grant.claim.id);
            Ok(if good { Extension::Extended { as_of, ttl: None } } else { Extension::Lost(LossCause::Gone) })
        };
        grants.iter().map(extend).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        Ok(self.holds.release(claim.id, leave))
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        self.go_down(grant).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(Some(self.clock.wall()))
    }

    async fn close(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.end();
        }
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.holds.with(grant.claim.id, |held| held.bolt.duplicates()).unwrap_or_else(|| Ok(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::{Where, magic};
    use super::super::queue::arrival;
    use super::*;
    use crate::backend::ClaimId;
    use crate::engine::Engine;
    use std::os::fd::AsRawFd;

    struct Scene {
        files: Files,
        claim: Claim,
        spot: Spot,
        _place: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let directory = Directory::open(&Where::At(place.path().join("locks")), None, magic).unwrap();
            let files = Files::new(directory, Engine::process().unwrap().clock().clone());
            let (name, label) = (Name::new("a").unwrap(), "test".into());
            let ttl = Duration::from_secs(10);
            let claim = Claim { name, id: ClaimId::random(), mode: Mode::Exclusive, ttl, turns: 1, label };
            Self { spot: files.spot(&claim.name), files, claim, _place: place }
        }

        fn catch(&self) -> Caught {
            Caught::attempt(&self.spot.lock, &self.files.directory.access).unwrap().expect("free")
        }

        fn go_on(&self, caught: Caught) -> Result<Try> {
            self.files.go_on(&self.claim, &self.spot, false, caught, self.files.clock.now())
        }
    }

    #[tokio::test]
    async fn the_lock_goes_before_the_event_when_a_process_dies() {
        let scene = Scene::new();
        let bolt = scene.catch().bolt(&scene.spot.lock).unwrap().unwrap();
        assert!(bolt.reader().as_raw_fd() > bolt.writer().as_raw_fd());
    }

    #[tokio::test]
    async fn a_paused_newcomer_does_not_overtake() {
        let scene = Scene::new();
        let caught = scene.catch();
        let ticket = scene.spot.queue.enter(arrival()).unwrap();
        assert!(matches!(scene.go_on(caught), Ok(Try::Busy)));
        drop(ticket);
        assert!(matches!(scene.go_on(scene.catch()), Ok(Try::Granted(_))));
    }

    #[tokio::test]
    async fn a_file_that_goes_away_while_it_is_taken_is_not_granted() {
        let scene = Scene::new();
        let caught = scene.catch();
        std::fs::remove_file(&scene.spot.lock).unwrap();
        assert!(matches!(scene.go_on(caught), Ok(Try::Again)));
        // The same, one step later.
        let bolt = scene.catch().bolt(&scene.spot.lock).unwrap().unwrap();
        let held = scene.files.reserve(&scene.claim, &scene.spot, bolt).unwrap();
        std::fs::remove_file(&scene.spot.lock).unwrap();
        let grant = held.grant(scene.files.clock.now());
        assert!(matches!(scene.files.keep(held, false, grant), Ok(Try::Again)));
        assert!(scene.files.granted_before(&scene.claim).is_none());
    }
}
