//! The contract.

use super::statements::{self, Statements};
use super::steps;
use crate::backend::pace::Rests;
use crate::backend::retry::{Contend, Tried};
use crate::backend::{Acquired, Admin, Backend, Claim, Extension, Grant, Info, Leave, Release, Until};
use crate::stores::mysql::attempt::{attempt, for_claim};
use crate::stores::mysql::connector::{Link, Pool};
use crate::stores::mysql::live::Live;
use crate::stores::mysql::rows::value;
use crate::stores::mysql::{SCHEME, Shared, doctor, state};
use crate::stores::shared::sql::shedlock;
use crate::{Clock, Name, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection to a database with ShedLock's table.
#[derive(Debug)]
pub(in crate::stores::mysql) struct ShedLock {
    pool: Pool,
    /// The connection that is always there.
    pub(super) link: Arc<Link>,
    shared: Arc<Shared>,
    pub(super) statements: Arc<Statements>,
    info: Info,
}

impl ShedLock {
    pub(in crate::stores::mysql) async fn open(pool: Pool, shared: Arc<Shared>) -> Result<Self> {
        let link = pool.first().clone();
        let asked = attempt(&link, |live| {
            let ask = statements::precision(&shared.options);
            async move { live.ask(move |session| Box::pin(async move { session.read(&ask, ()).await })).await }
        });
        let digits = asked.await?.first().map(|row| value(row, 0)).transpose()?.unwrap_or(0);
        let statements = Arc::new(Statements::new(&shared.options, digits));
        let mut info = shedlock::info(SCHEME, "mysql in mode=shedlock", &shared.options.instance);
        info.capabilities.ttl_step = statements.step * 2;
        Ok(Self { pool, link, shared, statements, info })
    }

    /// Makes a request after which no claim holds more than before.
    pub(super) async fn request<T, F: Future<Output = Result<T>>>(
        &self,
        request: impl Fn(Arc<Live>, Arc<Statements>) -> F,
    ) -> Result<T> {
        attempt(&self.link, |live| request(live, self.statements.clone())).await
    }

    /// Sends one acquire request.
    async fn request_for(&self, claim: &Claim) -> Result<Tried> {
        let asked = for_claim(&self.pool, &self.shared.in_flight, claim.id, |live| {
            let (claim, statements) = (claim.clone(), self.statements.clone());
            async move {
                live.run(move |session| {
                    Box::pin(async move { steps::acquire(session, &statements, &claim).await })
                })
                .await
            }
        });
        asked.await.map_err(|e| e.with_name(&claim.name))
    }

    /// Returns the text of the current holder of a name.
    pub(super) async fn look(&self, name: &Name) -> Result<Option<String>> {
        let owned = name.clone();
        let look = self.request(|live, statements| {
            let name = owned.clone();
            async move {
                live.ask(move |session| {
                    Box::pin(async move { steps::look(session, &statements, &name).await })
                })
                .await
            }
        });
        Ok(look.await.map_err(|e| e.with_name(name))?.map(|(locked_by, _)| locked_by))
    }

    async fn extend_batch(&self, grants: &[&Grant], ttl: Duration) -> Result<Vec<Extension>> {
        let claims: Vec<Claim> = grants.iter().map(|grant| grant.claim.clone()).collect();
        let extended = self.request(|live, statements| {
            let claims = claims.clone();
            async move {
                live.run(move |session| {
                    Box::pin(async move { steps::extend(session, &statements, &claims, ttl).await })
                })
                .await
            }
        });
        extended.await
    }
}

impl Contend for ShedLock {
    fn clock(&self) -> &dyn Clock {
        &**self.link.clock()
    }

    fn rests(&self) -> &Rests {
        &self.shared.rests
    }

    async fn try_once(&self, claim: &Claim) -> Result<Tried> {
        self.request_for(claim).await
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
        let once = async { self.request_for(claim).await.map(Tried::granted) };
        shedlock::acquire(self, &self.info, (claim, until), once).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        shedlock::extend(grants, |batch| self.extend_batch(batch, ttl)).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let answer = attempt(self.pool.of(claim.id), |live| {
            let (owned, statements) = (claim.clone(), self.statements.clone());
            async move {
                let job = live.run(move |session| {
                    Box::pin(async move { steps::release(session, &statements, &owned, leave).await })
                });
                Ok((job.await?, live.number))
            }
        });
        let (found, connection) = answer.await.map_err(|e| e.with_name(&claim.name))?;
        let (by, shared) = ((connection, self.link.now()), &self.shared);
        Ok(shedlock::released(found, claim, by, &shared.rests, &shared.in_flight))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        doctor::server_time(&self.link).await.map(|now| Some(state::wall(now)))
    }

    async fn close(&self) {
        self.pool.close();
        self.link.connector.farewell().await;
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}
