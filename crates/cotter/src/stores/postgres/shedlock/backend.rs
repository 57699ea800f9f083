//! The contract.

use super::statements::Statements;
use crate::backend::pace::Rests;
use crate::backend::retry::{Contend, Tried};
use crate::backend::{Acquired, Admin, Backend, Claim, Extension, Grant, Info, Leave, Release, Until};
use crate::stores::postgres::backend::{duration, micros, one, released, value};
use crate::stores::postgres::connector::Link;
use crate::stores::postgres::connector::Pool;
use crate::stores::postgres::doctor;
use crate::stores::postgres::errors::unexpected;
use crate::stores::postgres::live::Bound;
use crate::stores::postgres::{SCHEME, Shared};
use crate::stores::shared::sql::shedlock::{self, STEP};
use crate::{Clock, Error, LossCause, Moment, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

/// A connection to a database with ShedLock's table.
#[derive(Debug)]
pub(in crate::stores::postgres) struct ShedLock {
    pub(super) pool: Pool,
    /// The connection that is always there.
    pub(super) link: Arc<Link>,
    shared: Arc<Shared>,
    pub(super) statements: Statements,
    info: Info,
}

impl ShedLock {
    pub(in crate::stores::postgres) fn new(pool: Pool, shared: Arc<Shared>) -> Self {
        let info = shedlock::info(SCHEME, "postgres in mode=shedlock", &shared.options.common.instance);
        let (link, statements) = (pool.first().clone(), Statements::new(&shared.options));
        Self { pool, link, shared, statements, info }
    }

    /// Sends one acquire request.
    async fn request(&self, claim: &Claim) -> Result<Option<Grant>> {
        let live = self.pool.of(claim.id).live().await?;
        let (ttl, text, mark) = (micros(claim.ttl + STEP), shedlock::text(claim), shedlock::mark(claim));
        let bound: [Bound<'_>; 4] =
            [(&&*claim.name, Type::TEXT), (&ttl, Type::INT8), (&text, Type::TEXT), (&mark, Type::TEXT)];
        let sent = self.link.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        let read = |rows: Vec<Row>| rows.first().map(|row| grant(claim, row, sent)).transpose();
        // Where another one holds it, the row was locked, and that waits for a standby as well.
        let granted = live.write(&self.statements.acquire, &bound, read, |_| true).await;
        if !granted.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        granted.map_err(|e| e.with_name(&claim.name))
    }

    /// Returns the text of the current holder of a name.
    pub(super) async fn look(&self, name: &Name) -> Result<Option<String>> {
        let rows = self.link.live().await?.rows(&self.statements.look, &[(&&**name, Type::TEXT)]).await;
        rows.map_err(|e| e.with_name(name))?.first().map(|row| value(row, 0)).transpose()
    }

    async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Extension>> {
        let names: Vec<&str> = grants.iter().map(|grant| &*grant.claim.name).collect();
        let marks: Vec<String> = grants.iter().map(|grant| shedlock::mark(&grant.claim)).collect();
        let ttl = micros(ttl + STEP);
        let bound: [Bound<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&marks, Type::TEXT_ARRAY), (&ttl, Type::INT8)];
        let live = self.link.live().await?;
        let as_of = self.link.now();
        let read = |rows: Vec<Row>| rows.iter().map(|row| extension(row, as_of)).collect();
        let is_any = |all: &Vec<Extension>| all.iter().any(|one| matches!(one, Extension::Extended { .. }));
        let all = live.write(&self.statements.extend, &bound, read, is_any).await?;
        match all.len() == grants.len() {
            true => Ok(all),
            false => Err(unexpected("a wrong number of extensions")),
        }
    }
}

fn grant(claim: &Claim, row: &Row, as_of: Moment) -> Result<Grant> {
    let locked_by: String = value(row, 0)?;
    let (_, number) = shedlock::parse(&locked_by);
    let mut grant = Grant::new(claim.clone(), number, as_of);
    grant.ttl = Some(duration(value(row, 1)?));
    Ok(grant)
}

fn extension(row: &Row, as_of: Moment) -> Result<Extension> {
    Ok(match value::<Option<i64>>(row, 0)? {
        Some(left) => Extension::extended(as_of, Some(duration(left))),
        None if value(row, 1)? => Extension::Lost(LossCause::Evicted),
        None => Extension::Lost(LossCause::Gone),
    })
}

impl Contend for ShedLock {
    fn clock(&self) -> &dyn Clock {
        &**self.link.clock()
    }

    fn rests(&self) -> &Rests {
        &self.shared.rests
    }

    async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        match self.request(claim).await? {
            Some(grant) => Ok(Tried::Granted(grant)),
            None => Ok(Tried::Taken(self.holder(claim).await?.unwrap_or_default())),
        }
    }

    async fn holder(&self, claim: &Claim) -> Result<Option<u64>> {
        Ok(self.look(&claim.name).await?.as_deref().map(shedlock::digest))
    }
}

#[async_trait]
impl Backend for ShedLock {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        shedlock::acquire(self, &self.info, (claim, until), self.request(claim)).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        shedlock::extend(grants, |batch| self.extend_batch(batch, ttl)).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let live = self.pool.of(claim.id).live().await?;
        let (mark, keep) = (shedlock::mark(claim), leave.keep_for.map(micros));
        let bound: [Bound<'_>; 3] = [(&&*claim.name, Type::TEXT), (&mark, Type::TEXT), (&keep, Type::INT8)];
        let (read, is_freed) = (|rows| released(&one(rows)?), |found: &Release| *found == Release::Freed);
        let found = live.write(&self.statements.release, &bound, read, is_freed).await;
        let found = found.map_err(|e| e.with_name(&claim.name))?;
        let (by, shared) = ((live.number, self.link.now()), &self.shared);
        Ok(shedlock::released(found, claim, by, &shared.rests, &shared.in_flight))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::server_time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.pool.close();
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}
