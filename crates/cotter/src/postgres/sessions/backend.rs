//! The contract for both modes.

use super::connection::Connection;
use super::keeper::Keeper;
use super::records;
use super::seats::{End, Seats, State};
use super::spare::Spares;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Host, Info, Leave, Level, Notes,
    Release, Session, Until,
};
use crate::postgres::connector::Link;
use crate::postgres::connector::Pool;
use crate::postgres::doctor;
use crate::postgres::options::Options;
use crate::postgres::statements::Statements;
use crate::postgres::{SCHEME, Shared};
use crate::{Error, ErrorKind, Moment, Result};
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The steps in which the modes differ.
pub(super) trait Steps: Debug + Send + Sync + Sized + 'static {
    /// The store's name in errors.
    const VARIANT: &'static str;
    /// Waiters are served in order of arrival.
    const ORDERED: bool;

    fn new(options: &Options) -> Self;

    /// What tells the names of this mode, or of this table, from the same names of another.
    fn place(&self) -> &str;

    /// Refuses what cannot be locked, before the first claim.
    fn check(&self, link: &Link) -> impl Future<Output = Result<()>> + Send;

    /// Asks for the lock, in one statement that waits in the server for so long. It may be cancelled.
    fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> impl Future<Output = Result<Asked>> + Send;

    /// Reserves tokens for a lock that is held.
    fn tokens(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> impl Future<Output = Result<Tokens>> + Send;

    /// Whether the session still holds the lock.
    fn beat(&self, session: &Connection, held: &Held) -> impl Future<Output = Result<bool>> + Send;

    /// Gives the lock back; false if the session did not hold it any more.
    fn unlock(
        &self,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Makes a session whose statement has failed ready for the next claim: it holds nothing afterwards.
    fn reset(&self, session: &Connection) -> impl Future<Output = Result<()>> + Send;
}

/// How long a statement may wait for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    No,
    For(Duration),
    Forever,
}

impl Wait {
    /// As a setting: milliseconds, where 0 means no limit.
    pub(super) fn setting(self) -> String {
        match self {
            Self::No | Self::Forever => "0".into(),
            Self::For(time) => time.as_millis().clamp(1, i32::MAX as u128).to_string(),
        }
    }
}

/// The answer to a request for a lock.
#[derive(Debug)]
pub(super) enum Asked {
    Held(Held),
    /// Held by another. `failed`: it was said by an error, after which the session has to be made ready for the next claim.
    Busy {
        failed: bool,
    },
    /// Cancelled from another session.
    Cancelled,
}

/// A lock that a session holds.
#[derive(Debug)]
pub(super) struct Held {
    /// The session held it at this moment, or later.
    pub(super) as_of: Moment,
    /// The statement has waited, so its sending proves nothing.
    pub(super) waited: bool,
    /// The transaction that holds it.
    pub(super) xid: Option<String>,
    /// The tokens, where they were reserved by the same statement.
    pub(super) block: Option<(u64, u16)>,
}

/// Tokens for a lock that the session still held at `as_of`.
#[derive(Debug)]
pub(super) struct Tokens {
    /// `None` if the session does not hold the lock any more.
    pub(super) block: Option<(u64, u16)>,
    pub(super) as_of: Moment,
}

/// A connection to a database whose sessions hold locks.
#[derive(Debug)]
pub(super) struct Sessions<S> {
    pub(super) inner: Arc<Inner<S>>,
    info: Info,
}

/// What its claims share.
#[derive(Debug)]
pub(super) struct Inner<S> {
    pub(super) steps: S,
    pub(super) host: Host,
    pub(super) pool: Pool,
    /// The connection for everything that is not about one claim.
    pub(super) link: Arc<Link>,
    pub(super) options: Options,
    pub(super) statements: Statements,
    pub(super) records: records::Statements,
    pub(super) spares: Arc<Spares>,
    pub(super) seats: Seats,
}

/// Sessions end by themselves, so there is no lease.
const MIN_TTL: Duration = Duration::from_millis(1);

impl<S: Steps> Sessions<S> {
    /// Connects. A session is opened as well, to see whether one can be had.
    pub(super) async fn open(pool: Pool, shared: &Shared, host: &Host) -> Result<Self> {
        let options = shared.options.clone();
        let mut info = Info::new(SCHEME, &options.instance);
        info.variant = S::VARIANT;
        info.level = Level::BestEffort;
        info.capabilities = Capabilities {
            ordered: S::ORDERED,
            names: true,
            distinct: true,
            records: true,
            notes: true,
            swap: true,
            min_ttl: MIN_TTL,
            ..Capabilities::default()
        };
        let (steps, link) = (S::new(&options), pool.first().clone());
        steps.check(&link).await?;
        let spares = Arc::new(Spares::new(&shared.connector, host, options.session_timeout));
        spares.put(spares.take().await?);
        let inner = Inner {
            steps,
            host: host.clone(),
            link,
            pool,
            statements: Statements::new(&options),
            records: records::Statements::new(&options),
            options,
            spares,
            seats: Seats::default(),
        };
        Ok(Self { inner: Arc::new(inner), info })
    }
}

impl<S: Steps> Inner<S> {
    pub(super) fn now(&self) -> Moment {
        self.host.clock().now()
    }

    /// What a release finds of a claim that holds nothing here.
    async fn absent(&self, claim: &Claim) -> Result<Release> {
        let evicted = self.evicted(&[claim]).await.map_err(|e| e.with_name(&claim.name))?;
        Ok(if evicted.first() == Some(&true) { Release::Evicted } else { Release::NotHeld })
    }
}

/// A grant, with the time of the last proof of its session.
fn proved(mut grant: Grant) -> Grant {
    if let Some((as_of, _)) = grant.session.as_ref().and_then(Session::proof) {
        grant.as_of = as_of;
    }
    grant
}

/// The error for a claim whose task has ended without an answer.
pub(super) fn crashed() -> Error {
    let why = "the task of this claim ended early, because its client was closed";
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME).with_outcome_unknown()
}

#[async_trait]
impl<S: Steps> Backend for Sessions<S> {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode)?;
        let (seat, is_new) = self.inner.seats.enter(claim.id);
        if is_new {
            self.inner.host.spawn(Keeper::new(&self.inner, claim, until, &seat).run());
        }
        let named = |e: Error| e.with_name(&claim.name);
        match seat.answer().await.map_err(named)? {
            State::Granted(grant) => Ok(Acquired::Granted(proved(grant))),
            State::Ended(End::Broken(_, e)) => Err(named(e).with_outcome_unknown()),
            ended => {
                self.inner.seats.forget(claim.id);
                match ended {
                    State::Ended(End::Failed(e)) => Err(named(e)),
                    _ => Ok(Acquired::Busy),
                }
            }
        }
    }

    async fn extend(&self, grants: &[&Grant], _: Duration) -> Vec<Result<Extension>> {
        self.inner.look_at(grants).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let Some(seat) = self.inner.seats.get(claim.id) else { return self.inner.absent(claim).await };
        seat.leave(leave.used);
        let State::Ended(end) = seat.ended().await? else { return Err(crashed()) };
        if let End::Broken(session, _) = &end {
            session.end(&self.inner.link).await.map_err(|e| e.with_name(&claim.name))?;
        }
        let released = match end {
            End::Released => Release::Freed,
            End::Nothing | End::Failed(_) | End::Broken(..) => self.inner.absent(claim).await?,
        };
        self.inner.seats.forget(claim.id);
        Ok(released)
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::server_time(&self.inner.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.inner.seats.leave_all();
        self.inner.spares.close();
        self.inner.pool.close();
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(&*self.inner)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(&*self.inner)
    }
}
