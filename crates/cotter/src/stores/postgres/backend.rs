//! The contract.

use super::connector::Link;
use super::connector::Pool;
use super::errors::unexpected;
use super::live::{Bound, Live};
use super::waiting::QueueEntry;
use super::wake::Subscription;
use super::{SCHEME, Shared, doctor};
use crate::backend::poll;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Mode, Notes,
    Release, Until,
};
use crate::{Error, Moment, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSqlOwned, Type};

/// A connection to a database with lease rows.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) pool: Pool,
    /// The connection that is always there.
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
    pub(super) subscription: Subscription,
    info: Info,
}

/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(10);

impl Lease {
    pub(super) fn new(pool: Pool, shared: Arc<Shared>) -> Self {
        let link = pool.first().clone();
        let mut info = Info::new(SCHEME, &shared.options.common.instance);
        info.place = shared.options.qualified();
        info.capabilities =
            Capabilities { per_runtime: true, in_line: true, ..Capabilities::complete(MIN_TTL) };
        let channel = format!("{}_{}", shared.options.common.prefix, ClaimId::random());
        let subscription = Subscription::new(&link, &shared.waiters, &channel);
        Self { pool, link, shared, subscription, info }
    }

    pub(super) fn now(&self) -> Moment {
        self.link.now()
    }

    /// Runs one statement that changes something, if there is anything to change, and answers with one row. Also returns a time that
    /// is not later than its sending.
    pub(super) async fn row(&self, statement: &str, bound: &[Bound<'_>]) -> Result<(Row, Moment)> {
        let live = self.link.live().await?;
        let sent = self.now();
        live.write(statement, bound, one, |_| false).await.map(|row| (row, sent))
    }

    async fn release_on(&self, live: &Live, claim: &Claim, leave: Leave) -> Result<Release> {
        let (id, used, keep) = (hex(claim.id), i32::from(leave.used), leave.keep_for.map(micros));
        let bound: [Bound<'_>; 4] =
            [(&&*claim.name, Type::TEXT), (&id, Type::TEXT), (&used, Type::INT4), (&keep, Type::INT8)];
        let (read, is_freed) = (|rows| released(&one(rows)?), |found: &Release| *found == Release::Freed);
        let released = live.write(&self.shared.statements.release, &bound, read, is_freed).await;
        released.map_err(|e| e.with_name(&claim.name))
    }
}

/// The answer to a release.
pub(super) fn released(row: &Row) -> Result<Release> {
    match value::<String>(row, 0)?.as_str() {
        "f" => Ok(Release::Freed),
        "n" => Ok(Release::NotHeld),
        "e" => Ok(Release::Evicted),
        other => Err(unexpected(other)),
    }
}

/// A claim id as it is bound.
pub(super) fn hex(id: ClaimId) -> String {
    id.to_string()
}

/// Whole microseconds, rounded up.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1000)).unwrap_or(MAX_MICROS).min(MAX_MICROS)
}

/// A thousand years: the database can still add it to its clock.
const MAX_MICROS: i64 = 31_536_000_000_000_000;

/// A duration as the functions answer it.
pub(super) fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// The only row of an answer.
pub(super) fn one(rows: Vec<Row>) -> Result<Row> {
    rows.into_iter().next().ok_or_else(|| unexpected("no row"))
}

/// A column of a row.
pub(super) fn value<T: FromSqlOwned>(row: &Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(|e| unexpected(&e.to_string()))
}

/// A token in a column.
pub(super) fn token(row: &Row, column: usize) -> Result<u64> {
    u64::try_from(value::<i64>(row, column)?).map_err(|_| unexpected("a negative token"))
}

#[async_trait]
impl Backend for Lease {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        claim.mode.check()?;
        match until {
            Until::Now => {}
            // Without a notification it would lose its place.
            Until::InLine => {
                if let Some(channel) = self.shared.waiters.channels.any() {
                    return Box::pin(self.try_or_join(claim, &channel)).await;
                }
            }
            // Boxed, or the future of every acquisition would have room for it.
            _ => {
                let entry = QueueEntry::new(self, claim);
                return Box::pin(poll::in_queue(self, &**self.link.clock(), claim, until, entry)).await;
            }
        }
        self.try_once(claim).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.extend_all(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.shared.waiters.forget(claim.id);
        let live = self.pool.of(claim.id).live().await?;
        let released = self.release_on(&live, claim, leave).await?;
        // A request never arrives behind its release on the connection that carried it. On another one it may, and then
        // it takes the lock again, whatever the release has found.
        let stray = self.shared.in_flight.stray_until(claim.id, live.number, self.now());
        Ok(stray.map_or(released, |until| released.unsettled(until)))
    }

    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        let (claim, id) = (&grant.claim, hex(grant.claim.id));
        let bound: [Bound<'_>; 2] = [(&&*claim.name, Type::TEXT), (&id, Type::TEXT)];
        let answer = self.row(&self.shared.statements.downgrade, &bound).await;
        let (row, as_of) = answer.map_err(|e| e.with_name(&claim.name))?;
        if value::<Option<i64>>(&row, 0)?.is_none() {
            return Err(Error::not_ours(claim.id).with_backend(SCHEME).with_name(&claim.name));
        }
        let mut shared = claim.clone();
        shared.mode = Mode::Shared;
        let mut grant = Grant::new(shared, token(&row, 0)?, as_of);
        grant.ttl = Some(duration(value(&row, 1)?));
        Ok(grant)
    }

    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        self.pass(from, to).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let of = i32::try_from(of).unwrap_or(i32::MAX);
        let bound: [Bound<'_>; 2] = [(&&**name, Type::TEXT), (&of, Type::INT4)];
        self.row(&self.shared.statements.set_limit, &bound).await.map(|_| ()).map_err(|e| e.with_name(name))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::server_time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.subscription.close();
        self.pool.close();
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}
