//! The contract, on files.

use super::count_gate;
use super::directory::Directory;
use super::errors::{fault, foreign};
use super::holds::{Held, Holds, How};
use super::kernel_queue::Sleepers;
use super::lock::{Opened, Way};
use super::paths::Spot;
use super::recheck::Rounds;
use super::state::State;
use super::waiting::Place;
use crate::backend::poll;
use crate::backend::{
    Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Mode, Notes, Release, Session, Until,
};
use crate::clock::unix_micros;
use crate::sys::watch::Watcher;
use crate::{Clock, Error, ErrorKind, LossCause, Moment, Name, Result};
use async_trait::async_trait;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

/// One client's view of a directory.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) directory: Directory,
    pub(super) holds: Arc<Holds>,
    pub(super) sleepers: Sleepers,
    pub(super) clock: Arc<dyn Clock>,
    rounds: Rounds,
    /// None where the system gives no inotify instance.
    watcher: OnceLock<Option<Arc<Watcher>>>,
    /// When the directory was looked at last, in nanoseconds.
    seen: AtomicU64,
    info: Info,
}

/// What one try came to.
pub(super) enum Try {
    Granted(Grant),
    Busy,
    /// The file was replaced meanwhile.
    Again,
}

/// A lock file is not replaced this often by chance.
const RESTARTS: usize = 20;
/// Another directory in the place of ours is noticed after this long.
const LOOK: Duration = Duration::from_secs(1);
/// How often to try again, and from which time on with a pause, when somebody has the lock who does not say that he holds
/// it: on the way in or out, or with a thread that was left waiting. That takes microseconds.
const TRIES: Range<usize> = 20..30;
const NAP: Duration = Duration::from_micros(100);

impl Files {
    /// Looks after what it will hold on the runtime that calls.
    pub(super) fn new(directory: Directory, clock: Arc<dyn Clock>) -> Self {
        let mut info = Info::new(super::SCHEME, format!("file://{}", directory.path.display()));
        info.capabilities = Capabilities {
            shared: true,
            immediate: true,
            min_ttl: Duration::from_millis(1),
            ..Capabilities::default()
        };
        let holds = Arc::<Holds>::default();
        let rounds = Rounds::start(&holds);
        let (sleepers, watcher) = (Sleepers::default(), OnceLock::new());
        let seen = AtomicU64::new(clock.now().as_nanos());
        Self { directory, holds, sleepers, clock, rounds, watcher, seen, info }
    }

    /// Events of the file system, for who is going to wait for them.
    pub(super) fn watcher(&self) -> Option<&Arc<Watcher>> {
        self.watcher.get_or_init(|| Watcher::start().ok()).as_ref()
    }

    #[cfg(test)]
    pub(super) fn watches(&self) -> Option<&Arc<Watcher>> {
        self.watcher.get()?.as_ref()
    }

    pub(super) fn way(claim: &Claim) -> Way {
        if claim.mode.is_exclusive() { Way::Alone } else { Way::WithReaders }
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
        let as_of = self.clock.now();
        self.look_at_the_directory(as_of)?;
        if !queued && spot.queue.is_awaited()? {
            // Nobody who waits takes a free lock: does anybody of them listen?
            if self.could_be_had(spot, Self::way(claim))? {
                spot.queue.ask(None)?;
            }
            return Ok(Try::Busy);
        }
        let opened = Opened::ours(&spot.lock, &self.directory.access)?;
        if !attempt(&opened, Self::way(claim), spot, queued)? {
            return Ok(Try::Busy);
        }
        self.go_on(claim, spot, queued, opened, as_of)
    }

    /// Whether the lock would be given now.
    pub(super) fn could_be_had(&self, spot: &Spot, way: Way) -> Result<bool> {
        Ok(Opened::ours(&spot.lock, &self.directory.access)?.could_be_had(way))
    }

    /// From the kernel's lock to a grant.
    pub(super) fn go_on(
        &self,
        claim: &Claim,
        spot: &Spot,
        queued: bool,
        bolt: Opened,
        as_of: Moment,
    ) -> Result<Try> {
        // Who looked, was paused, and only now has the lock, must not overtake those who came meanwhile.
        if !queued && spot.queue.is_awaited()? {
            bolt.free();
            return Ok(Try::Busy);
        }
        let exclusive = claim.mode.is_exclusive();
        // The lock of a writer that is becoming a reader can be had for a moment.
        if exclusive && count_gate::is_closed(bolt.fd(), spot)? {
            bolt.free();
            return Ok(Try::Busy);
        }
        let held =
            if exclusive { Some(self.reserve(claim, spot, bolt)?) } else { self.share(claim, spot, bolt)? };
        let Some(held) = held else { return Ok(Try::Busy) };
        let grant = held.grant(as_of);
        self.keep(held, queued, grant)
    }

    /// Reserves the tokens, and writes who holds.
    fn reserve(&self, claim: &Claim, spot: &Spot, bolt: Opened) -> Result<Held> {
        let (state, turns) = self.count_up(claim, spot, &bolt)?;
        let (claim, spot) = (claim.clone(), spot.clone());
        Ok(Held { claim, spot, bolt, how: How::Exclusive, state, turns, session: Session::new() })
    }

    /// The next tokens, written down before anybody sees them.
    pub(super) fn count_up(&self, claim: &Claim, spot: &Spot, bolt: &Opened) -> Result<(State, u16)> {
        let mut state = match State::read(bolt.fd(), &spot.lock)? {
            Some(state) if !state.name.is_empty() && state.name != claim.name.as_str() => {
                return Err(foreign(&spot.lock, &format!("belongs to the lock {:?}", state.name)));
            }
            state => state.unwrap_or_default(),
        };
        if state.shared && claim.mode.is_exclusive() {
            spot.readers.clear();
        }
        let turns = state.grant(claim, unix_micros(self.clock.wall()));
        state.write(bolt.fd(), &spot.lock)?;
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
            self.rounds.begin();
            return Ok(Try::Granted(grant));
        }
        drop(self.holds.remove(id));
        Ok(Try::Again)
    }

    /// It may have been moved away, and what stands there now may be open to others.
    fn look_at_the_directory(&self, now: Moment) -> Result<()> {
        let seen = self.seen.load(Ordering::Relaxed);
        if now.as_nanos().saturating_sub(seen) >= LOOK.as_nanos() as u64 {
            self.directory.check_again()?;
            self.seen.store(now.as_nanos(), Ordering::Relaxed);
        }
        Ok(())
    }

    fn granted_before(&self, claim: &Claim) -> Option<Grant> {
        self.holds.with(claim.id, |held| held.grant(self.clock.now()))
    }
}

/// One try. Who stands in line is going to wait for the lock anyway; whoever does not hears that it is busy only if
/// somebody holds it.
fn attempt(opened: &Opened, way: Way, spot: &Spot, queued: bool) -> Result<bool> {
    for round in 0..TRIES.end {
        if opened.attempt(way).map_err(|e| fault("locking", &spot.lock, e))? {
            return Ok(true);
        }
        if queued || State::read(opened.fd(), &spot.lock)?.is_some_and(|state| state.held) {
            return Ok(false);
        }
        if TRIES.contains(&round) { thread::sleep(NAP) } else { thread::yield_now() }
    }
    Ok(false)
}

impl Held {
    pub(super) fn grant(&self, as_of: Moment) -> Grant {
        let mut grant = Grant::new(self.claim.clone(), self.state.first, as_of);
        grant.turns = self.turns;
        grant.session = Some(self.session.clone());
        grant
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
        if let Some(Some(watcher)) = self.watcher.get() {
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
        self.holds.with(grant.claim.id, |held| held.bolt.duplicate()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::directory::Where;
    use super::super::tickets::arrival;
    use super::*;
    use crate::engine::Engine;

    struct Scene {
        files: Files,
        claim: Claim,
        spot: Spot,
        _place: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let directory =
                Directory::open(&Where::At(place.path().join("locks")), None, crate::sys::filesystem::of)
                    .unwrap();
            let files = Files::new(directory, Engine::process().unwrap().clock().clone());
            let (name, label) = (Name::new("a").unwrap(), "test".into());
            let ttl = Duration::from_secs(10);
            let claim = Claim { label, ..Claim::new(name, Mode::Exclusive, ttl) };
            Self { spot: files.spot(&claim.name), files, claim, _place: place }
        }

        fn catch(&self) -> Opened {
            let opened = Opened::ours(&self.spot.lock, &self.files.directory.access).unwrap();
            assert!(opened.attempt(Way::Alone).unwrap(), "free");
            opened
        }

        fn go_on(&self, bolt: Opened) -> Result<Try> {
            self.files.go_on(&self.claim, &self.spot, false, bolt, self.files.clock.now())
        }
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
        let bolt = scene.catch();
        let held = scene.files.reserve(&scene.claim, &scene.spot, bolt).unwrap();
        std::fs::remove_file(&scene.spot.lock).unwrap();
        let grant = held.grant(scene.files.clock.now());
        assert!(matches!(scene.files.keep(held, false, grant), Ok(Try::Again)));
        assert!(scene.files.granted_before(&scene.claim).is_none());
    }
}
