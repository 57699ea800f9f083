//! The contract for all modes in which a lock lives with a session.

use super::connection::SessionConnector;
use super::keeper::Keeper;
use super::seats::{End, Seats, State};
use super::store::{IdOf, Store};
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Info, Leave, Level, Notes, Release,
    Session, Until,
};
use crate::stores::shared::net::Open;
use crate::{Error, LossCause, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A connection to a database whose sessions hold locks.
#[derive(Debug)]
pub(crate) struct Sessions<S> {
    store: Arc<S>,
    info: Info,
}

/// Sessions end by themselves, so there is no lease.
const MIN_TTL: Duration = Duration::from_millis(1);

/// The description of such a store. `ordered`: waiters are served in order of arrival.
pub(crate) fn info(scheme: &'static str, variant: &'static str, instance: &str, ordered: bool) -> Info {
    let mut info = Info::new(scheme, instance);
    info.variant = variant;
    info.level = Level::BestEffort;
    info.capabilities = Capabilities {
        ordered,
        names: true,
        distinct: true,
        records: true,
        notes: true,
        swap: true,
        min_ttl: MIN_TTL,
        ..Capabilities::default()
    };
    info
}

impl<S: Store> Sessions<S> {
    /// A session is opened as well, to see whether one can be had.
    pub(crate) async fn open(store: S, info: Info) -> Result<Self> {
        let spares = &store.parts().spares;
        spares.put(spares.take().await?);
        Ok(Self { store: Arc::new(store), info })
    }

    fn seats(&self) -> &Seats<IdOf<S>> {
        &self.store.parts().seats
    }

    /// The result of the release of a claim that holds nothing here.
    async fn absent(&self, claim: &Claim) -> Result<Release> {
        let evicted = self.store.evicted(&[claim]).await.map_err(|e| e.with_name(&claim.name))?;
        Ok(if evicted.first() == Some(&true) { Release::Evicted } else { Release::NotHeld })
    }

    fn state_of(&self, grant: &Grant, evicted: bool) -> Extension {
        if evicted {
            return Extension::Lost(LossCause::Evicted);
        }
        let session = self.seats().get(grant.claim.id).and_then(|seat| match seat.state() {
            State::Granted(held) => held.session,
            State::Asking | State::Ended(_) => None,
        });
        match session.filter(|session| session.lost().is_none()).as_ref().and_then(Session::proof) {
            Some((as_of, _)) => Extension::extended(as_of, None),
            None => Extension::Lost(LossCause::Gone),
        }
    }
}

/// A grant, with the time of the last proof of its session.
fn proved(mut grant: Grant) -> Grant {
    if let Some((as_of, _)) = grant.session.as_ref().and_then(Session::proof) {
        grant.as_of = as_of;
    }
    grant
}

fn scheme<S: Store>() -> &'static str {
    <S::Connector as Open>::SCHEME
}

#[async_trait]
impl<S: Store> Backend for Sessions<S> {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        self.info.supports(claim.mode)?;
        let (seat, is_new) = self.seats().enter(claim.id);
        if is_new {
            self.store.parts().host.spawn(Keeper::new(&self.store, claim, until, &seat).run());
        }
        let named = |e: Error| e.with_backend(scheme::<S>()).with_name(&claim.name);
        match seat.answer().await {
            State::Granted(grant) => Ok(Acquired::Granted(proved(grant))),
            State::Ended(End::Broken(_, e)) => Err(named(e).with_outcome_unknown()),
            ended => {
                self.seats().forget(claim.id);
                match ended {
                    State::Ended(End::Failed(e)) => Err(named(e)),
                    _ => Ok(Acquired::Busy),
                }
            }
        }
    }

    /// Sessions prove themselves, so this is about evictions only.
    async fn extend(&self, grants: &[&Grant], _: Duration) -> Vec<Result<Extension>> {
        let claims: Vec<&Claim> = grants.iter().map(|grant| &grant.claim).collect();
        match self.store.evicted(&claims).await {
            Ok(evicted) => {
                grants.iter().zip(evicted).map(|(grant, evicted)| Ok(self.state_of(grant, evicted))).collect()
            }
            Err(e) => grants.iter().map(|grant| Err(e.clone().with_name(&grant.claim.name))).collect(),
        }
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let Some(seat) = self.seats().get(claim.id) else { return self.absent(claim).await };
        seat.leave(leave.used);
        let end = seat.ended().await;
        if let End::Broken(session, _) = &end {
            self.store.end(session).await.map_err(|e| e.with_name(&claim.name))?;
        }
        let released = match end {
            End::Released => Release::Freed,
            End::Nothing | End::Failed(_) | End::Broken(..) => self.absent(claim).await?,
        };
        self.seats().forget(claim.id);
        Ok(released)
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        self.store.time().await.map(Some)
    }

    async fn close(&self) {
        self.seats().leave_all();
        self.store.parts().spares.close();
        self.store.parts().pool.close();
        self.store.parts().link.connector.farewell().await;
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(&*self.store)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(&*self.store)
    }
}

#[cfg(test)]
mod tests;
