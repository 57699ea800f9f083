//! A store whose grants live with a session, as those of ZooKeeper, etcd or a database connection do.

use async_trait::async_trait;
use cotter::backend::{
    Acquired, Admin, Backend, Claim, ClaimId, Connect, Extension, Grant, Host, Info, Leave, Member, Notes,
    Release, Session, Until,
};
use cotter::clock::{Clock, Moment};
use cotter::{Error, ErrorKind, LossCause, Name, Result};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Connects to another store and makes its grants live with a session: one per connection, kept alive by a task.
#[derive(Debug, Clone)]
pub struct Sessions {
    inner: Arc<dyn Connect>,
    lasts: Duration,
    control: Control,
}

/// The server's control over its sessions. Cloning gives another handle.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<State>);

#[derive(Debug, Default)]
struct State {
    silent: AtomicBool,
    refuses_releases: Mutex<Option<ErrorKind>>,
    acquired: AtomicUsize,
    connections: AtomicUsize,
    late: Mutex<Option<(Answer, Duration)>>,
    unsettled: Mutex<Option<Duration>>,
    gives_only: Mutex<Option<Duration>>,
}

/// The answer to the caller of an acquisition that lands late.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Lost,
    Unsettled,
}

/// The server keeps what a claim holds for longer than any test takes; the session ends it.
const FOR_LONG: Duration = Duration::from_secs(24 * 3600);

impl Sessions {
    /// Sessions that last so long after each sign of life.
    pub fn over(inner: impl Connect, lasts: Duration, control: &Control) -> Self {
        Self { inner: Arc::new(inner), lasts, control: control.clone() }
    }
}

impl Control {
    /// The keepers get no answer from now on, as in a paused process or behind a cut network.
    pub fn silence(&self) {
        self.0.silent.store(true, Ordering::SeqCst);
    }

    /// Releases fail with errors of this kind, as long as this is set.
    pub fn refuse_releases(&self, with: Option<ErrorKind>) {
        *lock(&self.0.refuses_releases) = with;
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.0.connections.load(Ordering::SeqCst)
    }

    /// How often the store was asked for a lock.
    pub fn acquired(&self) -> usize {
        self.0.acquired.load(Ordering::SeqCst)
    }

    /// Extensions give no more than this from now on.
    pub fn extend_only_by(&self, time: Duration) {
        *lock(&self.0.gives_only) = Some(time);
    }

    /// The next release finds what it finds, but something may still arrive for so long.
    pub fn next_release_is_unsettled_for(&self, time: Duration) {
        *lock(&self.0.unsettled) = Some(time);
    }

    /// The next acquisition loses its answer and is carried out only so much later.
    pub fn next_lands_after(&self, late: Duration) {
        *lock(&self.0.late) = Some((Answer::Lost, late));
    }

    /// The next acquisition is answered with "busy, but something may arrive", and is carried out only so much later.
    pub fn next_is_busy_and_lands_after(&self, late: Duration) {
        *lock(&self.0.late) = Some((Answer::Unsettled, late));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Connect for Sessions {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let inner = self.inner.connect(host).await?;
        let mut info = inner.info().clone();
        info.capabilities.leases = false;
        info.capabilities.tickets = false;
        info.capabilities.immediate = false;
        let session = Session::new();
        session.prove(host.clock().now(), self.lasts);
        host.spawn(keep(session.clone(), host.clock().clone(), self.lasts, self.control.clone()));
        let (control, clock) = (self.control.clone(), host.clock().clone());
        let strays = Arc::default();
        self.control.0.connections.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(SessionBackend { inner, info, session, control, host: host.clone(), clock, strays }))
    }
}

/// Proves a session every third of its time.
async fn keep(session: Session, clock: Arc<dyn Clock>, lasts: Duration, control: Control) {
    while session.lost().is_none() {
        clock.sleep_until(clock.now() + lasts / 3).await;
        if !control.0.silent.load(Ordering::SeqCst) {
            session.prove(clock.now(), lasts);
        }
    }
}

#[derive(Debug)]
struct SessionBackend {
    inner: Arc<dyn Backend>,
    info: Info,
    session: Session,
    control: Control,
    host: Host,
    clock: Arc<dyn Clock>,
    /// Until when an acquisition of the claim may arrive.
    strays: Arc<Mutex<HashMap<ClaimId, Moment>>>,
}

impl Drop for SessionBackend {
    fn drop(&mut self) {
        self.control.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

impl SessionBackend {
    /// Carries an acquisition out after its caller has been answered.
    fn land(&self, claim: &Claim, answer: Answer, after: Duration) -> Result<Acquired> {
        let at = self.clock.now() + after;
        lock(&self.strays).insert(claim.id, at);
        let (inner, claim, sleep) = (self.inner.clone(), claim.clone(), self.clock.sleep_until(at));
        self.host.spawn(async move {
            sleep.await;
            let _ = inner.acquire(&claim, Until::Now).await;
        });
        match answer {
            Answer::Lost => {
                Err(Error::new(ErrorKind::Unavailable, "the answer was lost").with_outcome_unknown())
            }
            Answer::Unsettled => Ok(Acquired::unsettled(at)),
        }
    }

    fn with_session(&self, mut grant: Grant) -> Grant {
        grant.ttl = None;
        grant.session = Some(self.session.clone());
        grant
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for SessionBackend {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.control.0.acquired.fetch_add(1, Ordering::SeqCst);
        let mut claim = claim.clone();
        claim.ttl = FOR_LONG;
        let late = lock(&self.control.0.late).take();
        if let Some((answer, after)) = late {
            return self.land(&claim, answer, after);
        }
        Ok(match self.inner.acquire(&claim, until).await? {
            Acquired::Granted(grant) => Acquired::Granted(self.with_session(grant)),
            answer => answer,
        })
    }

    async fn extend(&self, grants: &[&Grant], _: Duration) -> Vec<Result<Extension>> {
        let (now, given) = (self.clock.now(), *lock(&self.control.0.gives_only));
        // Real ones answer when the session was proved last.
        let as_of = self.session.proof().filter(|_| given.is_none()).map_or(now, |(as_of, _)| as_of);
        let answers = self.inner.extend(grants, FOR_LONG).await;
        let lives = |answer| match answer {
            Ok(Extension::Extended { .. }) => Ok(Extension::extended(as_of, given)),
            other => other,
        };
        answers.into_iter().map(lives).collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        if let Some(kind) = *lock(&self.control.0.refuses_releases) {
            let error = Error::new(kind, "the release was refused");
            return Err(if error.is_retryable() { error.with_outcome_unknown() } else { error });
        }
        let released = self.inner.release(claim, leave).await?;
        if let Some(time) = lock(&self.control.0.unsettled).take() {
            return Ok(released.unsettled(self.clock.now() + time));
        }
        let until = lock(&self.strays).get(&claim.id).copied();
        Ok(match until.filter(|until| self.clock.now() <= *until) {
            Some(until) => released.unsettled(until),
            None => released,
        })
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        Ok(self.with_session(self.inner.downgrade(grant).await?))
    }

    async fn adopt(&self, from: &Claim, _: &Claim) -> Result<Option<Grant>> {
        Err(Error::unsupported("tickets", "sessions").with_name(&from.name))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.inner.set_limit(name, of).await
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.inner.time().await
    }

    async fn close(&self) {
        self.session.lose(LossCause::Closed);
        self.inner.close().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        self.inner.notes()
    }

    fn admin(&self) -> Option<&dyn Admin> {
        self.inner.admin()
    }

    fn member(&self) -> Option<&dyn Member> {
        None
    }

    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        self.inner.descriptors(grant)
    }
}
