//! The contract.

use super::SCHEME;
use super::acquire::{Ahead, Standing};
use super::connector::Ensemble;
use super::errors::{Failure, NO_NODE, place_is_gone, unreachable};
use super::layout::Layout;
use super::link::Link;
use super::messages::{Acl, Op};
use super::names::Keys;
use super::options::Options;
use super::places::{Node, OwnNodes};
use super::waiting::Waiting;
use crate::backend::{
    Acquired, Admin, Backend, Capabilities, Claim, Extension, Grant, Host, Info, Leave, Mode, Notes, Release,
    Until, poll,
};
use crate::{Error, ErrorKind, Name, Result};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A client of an ensemble.
pub(super) struct ZooKeeper {
    pub(super) inner: Arc<Inner>,
    info: Info,
}

/// The state that its requests share.
pub(super) struct Inner {
    pub(super) link: Link,
    pub(super) keys: Keys,
    pub(super) places: OwnNodes,
    pub(super) acl: Acl,
}

impl ZooKeeper {
    pub(super) async fn open(ensemble: &Ensemble, options: &Options, host: &Host) -> Result<Self> {
        let link = Link::new(ensemble.clone(), options, host);
        link.session().await?;
        let mut info = Info::new(SCHEME, &options.instance);
        info.capabilities = Capabilities {
            ordered: true,
            names: true,
            distinct: true,
            in_line: true,
            records: true,
            shared: options.layout != Layout::CuratorMutex,
            permits: options.layout == Layout::Own,
            notes: true,
            swap: true,
            ..Capabilities::default()
        };
        info.variant = options.variant();
        info.names_are_given = options.layout != Layout::Own;
        let inner = Inner { link, keys: Keys::new(options), places: OwnNodes::default(), acl: options.acl };
        Ok(Self { inner: Arc::new(inner), info })
    }

    async fn wait(&self, claim: &Claim, until: Until, own: Node, ahead: Ahead) -> Result<Acquired> {
        let Some(place) = self.inner.places.get(claim.id) else { return Err(place_is_gone()) };
        let clock = self.inner.link.host().clock().clone();
        let mut waiting = Waiting::new(&self.inner, claim, place.session, own, ahead);
        let ended = poll::until(&*clock, until, &mut waiting).await;
        drop(waiting);
        match ended {
            Ok(Some(grant)) => return Ok(Acquired::Granted(grant)),
            // It would never be served, and holds up those behind it.
            Err(e) if e.kind() != ErrorKind::LimitMismatch => return Err(e),
            Ok(None) | Err(_) => _ = self.inner.remove(claim).await.map_err(Error::with_outcome_unknown)?,
        }
        ended.map(|_| Acquired::Busy)
    }
}

impl Inner {
    /// Removes the node of a claim.
    pub(super) async fn remove(&self, claim: &Claim) -> Result<Release> {
        let place = self.places.get(claim.id);
        let node = match &place {
            Some(place) if place.node.is_some() => place.node.clone(),
            // Its session is over: what was sent in it may still be carried out, until the servers have ended it.
            Some(place) if place.session.is_lost() => match place.session.has_ended() {
                true => None,
                false => return Err(unreachable("the previous session of this claim has not ended yet")),
            },
            Some(place) => self.find(claim, &place.session).await?,
            None => self.find(claim, &*self.link.session().await?).await?,
        };
        let freed = match &node {
            Some(node) => self.delete(node, place.as_ref().map(|place| &*place.session)).await?,
            None => false,
        };
        let is_evicted = place.is_some_and(|place| place.session.seats.is_evicted(claim.id));
        self.places.left(claim.id);
        Ok(match (freed, is_evicted) {
            (true, _) => Release::Freed,
            (false, true) => Release::Evicted,
            (false, false) => Release::NotHeld,
        })
    }

    /// Deletes a node, whoever made it. Returns false if it was gone already.
    async fn delete(&self, node: &Node, of: Option<&super::session::ServerSession>) -> Result<bool> {
        let deletion = Op::delete(&node.path);
        let deleted: Result<(), Failure> = match of.filter(|session| !session.is_lost()) {
            Some(session) => session.live().await?.ask(&deletion).await,
            None => self.link.ask(&deletion).await,
        };
        match deleted {
            Ok(()) => Ok(true),
            Err(failure) if failure.is(NO_NODE) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }
}

#[async_trait]
impl Backend for ZooKeeper {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let named = |e: Error| e.with_name(&claim.name);
        self.info.supports(claim.mode).map_err(named)?;
        let inner = &self.inner;
        let queued =
            inner.places.take_queued(claim.id).filter(|_| !matches!(until, Until::Now | Until::InLine));
        if let Some((own, ahead)) = queued {
            return self.wait(claim, until, own, ahead).await.map_err(named);
        }
        let entered = inner.enter(claim, until == Until::Now).await;
        if entered.as_ref().is_err_and(|e| e.kind() == ErrorKind::LimitMismatch) {
            inner.remove(claim).await.map_err(|e| named(e.with_outcome_unknown()))?;
        }
        let answer = match entered.map_err(named)? {
            Standing::Holds(node, asked) => inner.grant_now(claim, &node, asked).await.map(Acquired::Granted),
            Standing::Refused => Ok(Acquired::Busy),
            Standing::Gone => Err(place_is_gone()),
            Standing::Behind(_, ahead) if until == Until::InLine => {
                inner.places.queued(claim.id, ahead);
                Ok(Acquired::Queued)
            }
            Standing::Behind(own, ahead) => self.wait(claim, until, own, ahead).await,
        };
        answer.map_err(named)
    }

    async fn extend(&self, grants: &[&Grant], _: Duration) -> Vec<Result<Extension>> {
        self.inner.extend(grants).await
    }

    async fn release(&self, claim: &Claim, _: Leave) -> Result<Release> {
        self.inner.remove(claim).await.map_err(|e| e.with_name(&claim.name))
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.info.supports(Mode::Permits { take: 1, of }).map_err(|e| e.with_name(name))?;
        self.inner.set_limit(name, of).await.map_err(|e| e.with_name(name))
    }

    /// The servers do not tell their time. The leader is asked for something.
    async fn time(&self) -> Result<Option<SystemTime>> {
        self.inner.link.ask::<()>(&Op::sync("/")).await?;
        Ok(None)
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }

    async fn close(&self) {
        self.inner.places.clear();
        self.inner.link.end().await;
    }
}

impl Drop for ZooKeeper {
    fn drop(&mut self) {
        self.inner.link.close();
    }
}

impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeper").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Inner {
    async fn grant_now(&self, claim: &Claim, node: &Node, asked: crate::Moment) -> Result<Grant> {
        let Some(place) = self.places.get(claim.id) else { return Err(place_is_gone()) };
        self.grant(claim, node, asked, &place.session).await
    }
}
