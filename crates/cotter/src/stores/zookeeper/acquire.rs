//! Entering the queue of a name.

use super::backend::Inner;
use super::errors::{Failure, NO_AUTH, NO_NODE, NODE_EXISTS, place_is_gone, unexpected};
use super::layout::Entry;
use super::live::Live;
use super::messages::{Kind, Op};
use super::permits::{Line, standing_for_permits};
use super::places::{Node, OwnNode};
use super::replies::{Children, Created, Data};
use super::session::ServerSession;
use crate::backend::{Claim, Grant, Mode};
use crate::{Error, ErrorKind, Moment, Result, stores::shared::queue};
use std::sync::Arc;

/// The number of tokens that a transaction stands for.
pub(super) const TURNS: u16 = 64;
/// How often a node is asked for whose folder vanishes, or whose data change.
pub(super) const TRIES: usize = 8;

/// Where a claim stands.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    /// First: it holds the lock. With the moment at which the line was asked for that says so.
    Holds(Node, Moment),
    /// It waits. With its own node.
    Behind(Node, Ahead),
    /// It has no node, because somebody else has one.
    Refused,
    /// Its node is gone: the session has ended, or somebody deleted it.
    Gone,
}

/// Whose end a claim waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ahead {
    /// That of the node with this path.
    Node(String),
    /// That of any node in this folder.
    Anybody(String),
}

impl Inner {
    /// Creates the node of a claim, unless it has one. With `if_free`, only where the claim would hold.
    pub(super) async fn enter(&self, claim: &Claim, if_free: bool) -> Result<Standing> {
        if let Some(place) = self.places.get(claim.id) {
            return self.enter_again(claim, &place).await;
        }
        let session = self.link.session().await?;
        let live = session.live().await?;
        if if_free && !self.is_free(claim, &live).await? {
            return Ok(Standing::Refused);
        }
        let standing = self.create(claim, &session, &live).await?;
        match standing {
            // Somebody was faster.
            Standing::Behind(..) if if_free => {
                self.remove(claim).await.map_err(Error::with_outcome_unknown)?;
                Ok(Standing::Refused)
            }
            standing => Ok(standing),
        }
    }

    /// The same claim was sent before.
    async fn enter_again(&self, claim: &Claim, place: &OwnNode) -> Result<Standing> {
        let node = match &place.node {
            Some(node) => Some(node.clone()),
            None => self.find(claim, &place.session).await?,
        };
        match node {
            Some(node) => self.look(claim, &node, &place.session).await,
            None => self.create(claim, &place.session, &*place.session.live().await?).await,
        }
    }

    /// Whether a newcomer would hold, as far as is known here.
    async fn is_free(&self, claim: &Claim, live: &Live) -> Result<bool> {
        let line = self.keys.line(&claim.name);
        let nodes: Children = match live.ask(&Op::children(&line)).await {
            Ok(nodes) => nodes,
            Err(failure) if failure.is(NO_NODE) => return Ok(true),
            // Nothing was asked for yet that would have to be undone.
            Err(Failure::Ended) => {
                return Err(Failure::NotSent(super::errors::unreachable("it hung up")).into());
            }
            Err(failure) => return Err(failure.into()),
        };
        let Line { mut entries, limit: set } = self.limited(nodes, &line, live).await?;
        entries.retain(Entry::is_before_newcomers);
        let Some(first) = entries.first() else { return Ok(true) };
        queue::admit(claim.mode, first.mode, set)?;
        let mut modes: Vec<_> = entries.iter().map(|entry| entry.mode).collect();
        modes.push(claim.mode);
        Ok(queue::holders(&modes, set) == modes.len())
    }

    /// Asks for a node, and for the whole line behind it.
    async fn create(&self, claim: &Claim, session: &Arc<ServerSession>, live: &Live) -> Result<Standing> {
        let (path, line) = (self.keys.place(claim), self.keys.line(&claim.name));
        let data = self.keys.data(claim);
        let op = Op::Create { path, data, kind: Kind::Sequential, acl: self.acl };
        for _ in 0..TRIES {
            self.places.asked(claim.id, session);
            let asked = self.link.now();
            let created = live.ask::<Created>(&op);
            let listed = live.ask::<Children>(&Op::children(&line));
            let node = match created.await {
                Ok(Created { path, stat }) => Node { path, created: stat.created },
                Err(failure) => {
                    session.note(&failure);
                    if failure.is_refusal() {
                        self.places.left(claim.id);
                    }
                    if !failure.is(NO_NODE) {
                        return Err(failure.into());
                    }
                    self.make_folder(&line, live).await?;
                    continue;
                }
            };
            self.places.found(claim.id, &node);
            let nodes = listed.await.map_err(|failure| Error::from(failure).with_outcome_unknown())?;
            let seen = self.limited(nodes, &line, live).await?;
            if let Some(first) = seen.entries.first() {
                queue::admit(claim.mode, first.mode, seen.limit)?;
            }
            return self.standing(claim, node, &seen, asked);
        }
        let why = "the node of the lock keeps being deleted; try again";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    /// Creates a folder and those above it. The server deletes them when they have been empty for a while.
    ///
    /// Whoever may create the folder need not be permitted to create those above, which are there then. The server does not say
    /// that they are, because it checks first what is permitted.
    pub(super) async fn make_folder(&self, path: &str, live: &Live) -> Result<()> {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        let create = |end: usize| {
            let (path, data, kind) = (path[..end].to_owned(), Vec::new(), self.keys.folder());
            live.ask::<Created>(&Op::Create { path, data, kind, acl: self.acl })
        };
        let all: Vec<_> = ends.map(create).collect();
        let mut denied = None;
        for created in all {
            match created.await {
                Err(failure) if failure.is(NO_AUTH) => denied = Some(failure),
                // One above may have vanished in between: the caller sees that, and comes again.
                Err(failure) if failure.is(NO_NODE) => {}
                Err(failure) if !failure.is(NODE_EXISTS) => return Err(failure.into()),
                // It is there, and so are those above.
                _ => denied = None,
            }
        }
        denied.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Finds the node of a claim whose request has no answer. Requests of a session are carried out in order, also over
    /// several connections, so a node that is not there by now will not be. A majority is asked: the request may have gone to
    /// another leader than the one that answers.
    pub(super) async fn find(&self, claim: &Claim, session: &ServerSession) -> Result<Option<Node>> {
        let live = session.live().await?;
        let line = self.keys.line(&claim.name);
        let caught_up = live.agree();
        let listed = live.ask::<Children>(&Op::children(&line));
        caught_up.await?;
        let nodes = match listed.await {
            Err(failure) if failure.is(NO_NODE) => return Ok(None),
            nodes => nodes?,
        };
        let Some(own) = nodes.iter().find(|node| node.starts_with(&self.keys.protection(claim.id))) else {
            return Ok(None);
        };
        let path = format!("{line}/{own}");
        match live.ask::<Data>(&Op::get(&path)).await {
            Err(failure) if failure.is(NO_NODE) => Ok(None),
            Err(failure) => Err(failure.into()),
            Ok(Data { stat, .. }) => {
                let node = Node { path, created: stat.created };
                self.places.found(claim.id, &node);
                Ok(Some(node))
            }
        }
    }

    /// Looks where a claim stands that has a node.
    async fn look(&self, claim: &Claim, node: &Node, session: &ServerSession) -> Result<Standing> {
        let asked = self.link.now();
        let seen = self.line(claim, session).await?;
        self.standing(claim, node.clone(), &seen, asked)
    }

    /// The line of a claim.
    pub(super) async fn line(&self, claim: &Claim, session: &ServerSession) -> Result<Line> {
        let (live, line) = (session.live().await?, self.keys.line(&claim.name));
        let nodes = match live.ask::<Children>(&Op::children(&line)).await {
            Err(failure) if failure.is(NO_NODE) => Children::new(),
            nodes => nodes.inspect_err(|failure| session.note(failure))?,
        };
        self.limited(nodes, &line, &live).await
    }

    /// The standing of a node in the queue.
    pub(super) fn standing(&self, claim: &Claim, own: Node, seen: &Line, asked: Moment) -> Result<Standing> {
        let entries = &seen.entries;
        let Some(at) = entries.iter().position(|entry| entry.node == own.name()) else {
            return Ok(Standing::Gone);
        };
        let line = self.keys.line(&claim.name);
        if claim.mode.is_permits() {
            return standing_for_permits(claim, own, seen, at, asked, line);
        }
        Ok(match blocker(claim.mode, &entries[..at]) {
            None => Standing::Holds(own, asked),
            Some(before) => Standing::Behind(own, Ahead::Node(format!("{line}/{}", before.node))),
        })
    }

    /// The grant of a claim whose node is the first one. Nobody may pass over it any more.
    pub(super) async fn grant(
        &self,
        claim: &Claim,
        node: &Node,
        asked: Moment,
        session: &Arc<ServerSession>,
    ) -> Result<Grant> {
        let number = u64::try_from(node.created).ok().and_then(|zxid| zxid.checked_mul(u64::from(TURNS)));
        let number = number.ok_or_else(|| unexpected("a transaction number that is too large"))?;
        self.unmark(claim, node, session).await?;
        let (seat, is_new) = session.seats.take(claim.id, &node.path);
        if is_new {
            session.look_soon(claim.id);
        }
        let (as_of, lasts) = session.prove_seat(&seat);
        if self.link.now() >= as_of + lasts || session.is_lost() {
            return Err(place_is_gone().with_outcome_unknown());
        }
        let mut grant = Grant::new(claim.clone(), number, asked);
        let turns = if claim.mode.is_exclusive() { claim.turns } else { 1 };
        (grant.turns, grant.session) = (turns.clamp(1, TURNS), Some(seat));
        Ok(grant)
    }
}

/// The one whose end a claim waits for, of those before it: a reader waits for the last writer, a writer for everybody.
fn blocker(mode: Mode, before: &[Entry]) -> Option<&Entry> {
    before.iter().rev().find(|entry| mode != Mode::Shared || entry.mode != Mode::Shared)
}
