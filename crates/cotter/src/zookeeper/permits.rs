//! Permits: nodes that hold as far as the permits go.
//!
//! The number of permits is part of a node's name. When it is set anew, each node of the line is marked with it, in one
//! transaction; those that come later are refused unless they name it themselves. So it lasts exactly as long as the line.

use super::acquire::{Ahead, Standing};
use super::backend::Inner;
use super::errors::{BAD_VERSION, Failure, NO_NODE, NODE_EXISTS, unexpected};
use super::layout::Entry;
use super::live::Live;
use super::messages::{Kind, Op};
use super::names::Mark;
use super::places::Node;
use super::replies::{Children, Data, Outcome};
use crate::backend::{Claim, Mode};
use crate::{Error, ErrorKind, Moment, Name, Result, queue};

/// How often the marks are set anew, because the line has changed.
const TRIES: usize = 50;

/// The standing of a claim for permits in the queue. `limit` is the number of permits, where it was set.
pub(super) fn standing_for_permits(
    claim: &Claim,
    own: Node,
    entries: &[Entry],
    at: usize,
    limit: Option<u32>,
    asked: Moment,
    line: String,
) -> Result<Standing> {
    let modes: Vec<_> = entries.iter().map(|entry| entry.mode).collect();
    let ahead = match queue::status(&modes, at, limit) {
        queue::Status::Holds => return Ok(Standing::Holds(own, asked)),
        queue::Status::Next => Ahead::Anybody(line),
        queue::Status::Behind => Ahead::Node(format!("{line}/{}", entries[at - 1].node)),
    };
    if let (Mode::Permits { take, .. }, Some(limit)) = (claim.mode, queue::limit(modes[0], limit))
        && take > limit
    {
        let why = format!("{take} permits can never be granted: the limit is {limit}");
        return Err(Error::new(ErrorKind::LimitMismatch, why));
    }
    Ok(Standing::Behind(own, ahead))
}

impl Inner {
    /// Tells the waiter behind this claim that it has been served: that one is the next now. Whoever has changed the data
    /// meanwhile has told it as well.
    pub(super) async fn pass_the_turn(&self, claim: &Claim, own: &Node, live: &Live) -> Result<()> {
        let served = Op::Set { path: own.path.clone(), data: self.keys.data(claim), version: 0 };
        match live.ask::<Outcome>(&Op::Multi(vec![served])).await {
            Ok(Outcome::Done(_) | Outcome::Failed(_, NO_NODE | BAD_VERSION)) => Ok(()),
            Ok(Outcome::Failed(_, code)) => Err(Failure::Code(code).into()),
            Err(failure) if failure.is(NO_NODE) || failure.is(BAD_VERSION) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The number of permits that was set while the first one of a line was in it.
    pub(super) async fn limit_of(&self, first: &Entry, line: &str, live: &Live) -> Result<Option<u32>> {
        if !first.mode.is_permits() {
            return Ok(None);
        }
        match live.ask::<Data>(&Op::get(&format!("{line}/{}", first.node))).await {
            Ok(data) => Ok(Mark::of(&data.bytes).and_then(|mark| match mark {
                Mark::Limit(of) => Some(of),
                Mark::Held | Mark::Evicted => None,
            })),
            // It has just left. Whoever is the first one now is looked at next time, which the watch of the line ensures.
            Err(failure) if failure.is(NO_NODE) => Ok(None),
            Err(failure) => Err(Error::from(failure).with_outcome_unknown()),
        }
    }

    /// Sets the number of permits of a line that is not empty.
    pub(super) async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let line = self.keys.line(name);
        let live = self.link.live().await?;
        for _ in 0..TRIES {
            let marks = self.marks(&line, of, &live).await?;
            if marks.is_empty() {
                return Ok(());
            }
            let outcome = live.ask::<Outcome>(&Op::Multi(self.with_bell(&line, marks))).await;
            match outcome {
                // Somebody may have entered meanwhile, who is marked next.
                Ok(Outcome::Done(_)) => {}
                Ok(Outcome::Failed(_, NO_NODE | BAD_VERSION | NODE_EXISTS)) => {}
                Ok(Outcome::Failed(_, code)) => return Err(Failure::Code(code).into()),
                Err(failure) if [NO_NODE, BAD_VERSION, NODE_EXISTS].iter().any(|code| failure.is(*code)) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(Error::new(ErrorKind::Unavailable, "the queue kept changing during the request; try again"))
    }

    /// The requests that mark all of a line that are not marked with this number and do not name it.
    async fn marks(&self, line: &str, of: u32, live: &Live) -> Result<Vec<Op>> {
        let nodes = match live.ask::<Children>(&Op::children(line)).await {
            Err(failure) if failure.is(NO_NODE) => return Ok(Vec::new()),
            nodes => nodes?,
        };
        let entries = self.keys.entries(nodes);
        let permits = entries.into_iter().filter(|entry| entry.mode.is_permits());
        let read: Vec<_> = permits
            .map(|entry| {
                let path = format!("{line}/{}", entry.node);
                (live.ask::<Data>(&Op::get(&path)), entry.mode, path)
            })
            .collect();
        let mut marks = Vec::new();
        for (data, mode, path) in read {
            let Data { bytes, stat } = match data.await {
                Err(failure) if failure.is(NO_NODE) => continue,
                data => data?,
            };
            let is_right = match Mark::of(&bytes) {
                Some(Mark::Limit(limit)) => limit == of,
                // It is about to leave.
                Some(Mark::Evicted) => true,
                Some(Mark::Held) | None => matches!(mode, Mode::Permits { of: named, .. } if named == of),
            };
            if !is_right {
                marks.push(Op::Set { path, data: Mark::Limit(of).on(&bytes), version: stat.version });
            }
        }
        Ok(marks)
    }

    /// Waiters watch the folder, whose watch does not notice the marks: so a node is created and deleted in it.
    fn with_bell(&self, line: &str, mut ops: Vec<Op>) -> Vec<Op> {
        let path = format!("{line}/limit");
        ops.push(Op::Create { path: path.clone(), data: Vec::new(), kind: Kind::Ephemeral, acl: self.acl });
        ops.push(Op::Delete { path });
        ops
    }

    /// The error for an answer to several requests that says that one of them was refused.
    pub(super) fn refused(&self, code: i32) -> Error {
        match code {
            0 => unexpected("no result for a transaction"),
            code => Failure::Code(code).into(),
        }
    }
}
