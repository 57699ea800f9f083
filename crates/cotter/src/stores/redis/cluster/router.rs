//! Sending a request to where the name is, and following it.

use super::super::names::Keys;
use super::super::options::Protocol;
use super::super::{SCHEME, Shared};
use super::nodes::{Node, Nodes, Way};
use super::redirect::{Redirect, given_up};
use super::slots::slot;
use super::view::{View, Viewer};
use crate::backend::{Backoff, Host, Info};
use crate::stores::shared::net::{HostPort, Link};
use crate::{Error, ErrorKind, Moment, Name, Result, join};
use std::sync::Arc;
use std::time::Duration;

/// A connection to a cluster.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Arc<Link<Viewer>>,
    pub(super) info: Info,
    keys: Keys,
}

/// The pauses between two requests for a name that nobody answers for.
const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(10), Duration::from_millis(250)).with_jitter(0.25);

/// Where a request is sent.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// The master of the slot.
    pub(super) owner: Arc<Node>,
    /// Who has got the key already.
    next: Option<Arc<Node>>,
}

impl Route {
    pub(super) fn way(&self) -> &Way {
        match &self.next {
            Some(next) => &next.asking,
            None => &self.owner.way,
        }
    }

    fn node(&self) -> &Node {
        self.next.as_ref().unwrap_or(&self.owner)
    }
}

impl Router {
    /// Looks at the cluster for the first time.
    pub(super) async fn open(shared: &Arc<Shared>, host: &Host) -> Result<Self> {
        let nodes = Arc::new(Nodes::new(shared.clone(), host.clone()));
        let viewer = Viewer::new(shared.clone(), nodes, host.clock().clone());
        let link = Link::open(viewer, host.clock()).await?;
        let view = link.live().await?;
        let instance = &shared.options.instance;
        let Some(node) = view.nodes.values().next() else {
            return Err(unavailable("no node of the cluster has any slot yet").with_server(instance));
        };
        // The first request has to wait for none of them; one that cannot be reached is told of when its names are wanted.
        let connect = join::all(view.nodes.values().map(|node| node.way.link.live()));
        let limit = host.clock().sleep_until(host.clock().now() + shared.options.connect_timeout);
        tokio::select! {
            _ = connect => {}
            () = limit => {}
        }
        // What a node says of itself, of all of them.
        let mut info = node.way.backend.info().clone();
        info.instance = info.instance.replacen(&node.at.to_string(), instance, 1);
        Ok(Self { shared: shared.clone(), keys: Keys::new(&shared.options), link, info })
    }

    pub(super) fn now(&self) -> Moment {
        self.link.now()
    }

    pub(super) fn slot(&self, name: &Name) -> u16 {
        match self.shared.options.protocol {
            Protocol::Native => slot(&self.keys.lock(name)),
            Protocol::Plain | Protocol::GetSet | Protocol::Redisson => slot(name),
        }
    }

    /// The time for which a request that nobody has carried out is sent again.
    pub(super) fn patience(&self) -> Duration {
        self.shared.options.connect_timeout
    }

    /// What a refusal of the node at `asked` means.
    pub(super) fn redirect(&self, e: &Error, asked: &HostPort) -> Option<Redirect> {
        let seeds = self.shared.seeds();
        Redirect::of(e, |host, port| seeds.reach(host, port, asked))
    }

    /// After an error that is no redirect: if a master is not there, another one may be.
    pub(super) fn doubt(&self, e: &Error) {
        if e.kind() == ErrorKind::Unavailable && e.is_retryable() {
            self.link.current().inspect(|view| view.doubt(self.now()));
        }
    }

    /// Sends a request until a node has answered it, or it may have been carried out, or its time is over.
    pub(super) async fn send<T, F: Future<Output = Result<T>>>(
        &self,
        name: &Name,
        request: impl Fn(Arc<Route>) -> F,
    ) -> Result<T> {
        let mut search = Search::new(self, name, self.now() + self.patience());
        loop {
            let answer = match search.route().await {
                Ok(route) => request(route.clone()).await.map_err(|e| (e, Some(route))),
                Err(e) => Err((e, None)),
            };
            match answer {
                Ok(answer) => return Ok(answer),
                Err((e, route)) => search.go_on(e, route.as_deref()).await?,
            }
        }
    }
}

/// The search for the node that answers for a name.
pub(super) struct Search<'a> {
    router: &'a Router,
    name: &'a Name,
    pub(super) slot: u16,
    /// When to give up.
    pub(super) end: Moment,
    /// Who is about to get the slot, and has got the key.
    next: Option<HostPort>,
    backoff: Backoff,
    /// Nobody has sent the request elsewhere yet.
    is_fresh: bool,
}

impl<'a> Search<'a> {
    pub(super) fn new(router: &'a Router, name: &'a Name, end: Moment) -> Self {
        let slot = router.slot(name);
        Self { router, name, slot, end, next: None, backoff: BACKOFF, is_fresh: true }
    }

    pub(super) async fn route(&mut self) -> Result<Arc<Route>> {
        let view = self.router.link.live().await.map_err(|e| e.with_name(self.name))?;
        let Some(owner) = view.node(self.slot) else {
            view.is_wrong();
            let why = format!("no master of the cluster has slot {}, to which the name belongs", self.slot);
            return Err(unavailable(why).with_name(self.name));
        };
        let next = self.next.take().map(|at| self.router.link.connector.nodes.at(&at));
        Ok(Arc::new(Route { owner: owner.clone(), next }))
    }

    /// What follows from an error: returns when the request is to be sent again, and the error if it is not.
    pub(super) async fn go_on(&mut self, e: Error, route: Option<&Route>) -> Result<()> {
        let redirect = route.and_then(|route| self.router.redirect(&e, &route.node().at));
        let view = self.router.link.current();
        let view = view.as_deref();
        let mut at_once = std::mem::replace(&mut self.is_fresh, false);
        match &redirect {
            Some(Redirect::Moved(there)) => self.moved(view, there),
            Some(Redirect::Ask(there)) => self.next = Some(there.clone()),
            Some(Redirect::Later) => {
                at_once = false;
                self.router.doubt(&e);
            }
            None if e.is_retryable() && e.kind() == ErrorKind::Unavailable && !e.outcome_unknown() => {
                at_once = false;
                self.router.doubt(&e);
            }
            None => {
                self.router.doubt(&e);
                return Err(self.give_up(e, None, route));
            }
        }
        let pause = if at_once { Duration::ZERO } else { self.backoff.pause() };
        let again = self.router.now() + pause;
        if again >= self.end {
            return Err(self.give_up(e, redirect.as_ref(), route));
        }
        self.router.link.clock().sleep_until(again).await;
        Ok(())
    }

    fn moved(&self, view: Option<&View>, there: &HostPort) {
        let Some(view) = view else { return };
        if view.map.master(self.slot) != Some(there) {
            self.router.link.connector.tell(there);
            view.is_wrong();
        }
    }

    fn give_up(&self, e: Error, redirect: Option<&Redirect>, route: Option<&Route>) -> Error {
        let node = route.map(Route::node);
        let e = given_up(e, redirect, node.map(|node| &node.at));
        let is_of_node = matches!(e.kind(), ErrorKind::Unavailable | ErrorKind::Denied) && redirect.is_none();
        let Some(node) = node.filter(|_| is_of_node) else { return e };
        let e = if node.was_reached() { e } else { self.router.shared.seeds().advise(e, &node.at) };
        e.with_server(&format!("{}, the master of slot {}", node.at, self.slot))
    }
}

pub(super) fn unavailable(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}
