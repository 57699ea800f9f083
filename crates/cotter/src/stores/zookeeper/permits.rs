//! Permits: nodes that hold as far as the permits go.
//!
//! The number of permits is part of a node's name. When it is set anew, each node of the line is marked with it, in one
//! transaction; those that come later are refused unless they name it themselves. So it lasts exactly as long as the line.

use super::acquire::{Ahead, Standing};
use super::backend::Inner;
use super::errors::{BAD_VERSION, Failure, NO_NODE, NODE_EXISTS, keeps_changing, unexpected};
use super::layout::Entry;
use super::live::Live;
use super::messages::{Kind, Op};
use super::names::Marks;
use super::places::Node;
use super::replies::{Children, Data, Outcome};
use crate::backend::{Claim, Mode};
use crate::{Error, ErrorKind, Moment, Name, Result, stores::shared::queue};

/// How often the marks are set anew, or a line is read again, because it has changed.
const TRIES: usize = 50;

/// A line, and the number of permits that applies to it, where that was set.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) entries: Vec<Entry>,
    pub(super) limit: Option<u32>,
}

/// The standing of a claim for permits in a line, whose folder is `path`.
pub(super) fn standing_for_permits(
    claim: &Claim,
    own: Node,
    Line { entries, limit }: &Line,
    at: usize,
    asked: Moment,
    path: String,
) -> Result<Standing> {
    let modes: Vec<_> = entries.iter().map(|entry| entry.mode).collect();
    let ahead = match queue::status(&modes, at, *limit) {
        queue::Status::Holds => return Ok(Standing::Holds(own, asked)),
        queue::Status::Next => Ahead::Anybody(path),
        queue::Status::Behind => Ahead::Node(format!("{path}/{}", entries[at - 1].node)),
    };
    if let (Mode::Permits { take, .. }, Some(limit)) = (claim.mode, queue::limit(modes[0], *limit))
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

    /// The line with these nodes, and the number of permits that was set while the first one of it was in it. If that one has left
    /// since, nobody knows, and the line is read again.
    pub(super) async fn limited(&self, nodes: Children, line: &str, live: &Live) -> Result<Line> {
        let mut entries = self.keys.entries(nodes);
        for _ in 0..TRIES {
            let Some(first) = entries.first().filter(|first| first.mode.is_permits()) else {
                return Ok(Line { entries, limit: None });
            };
            match live.ask::<Data>(&Op::get(&format!("{line}/{}", first.node))).await {
                Ok(data) => return Ok(Line { entries, limit: Marks::of(&data.bytes).limit }),
                Err(failure) if failure.is(NO_NODE) => {}
                Err(failure) => return Err(Error::from(failure).with_outcome_unknown()),
            }
            entries = match live.ask::<Children>(&Op::children(line)).await {
                Ok(nodes) => self.keys.entries(nodes),
                Err(failure) if failure.is(NO_NODE) => Vec::new(),
                Err(failure) => return Err(Error::from(failure).with_outcome_unknown()),
            };
        }
        Err(keeps_changing().with_outcome_unknown())
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
        Err(keeps_changing())
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
            let before = Marks::of(&bytes);
            if queue::limit(mode, before.limit) != Some(of) {
                let data = Marks { limit: Some(of), ..before }.on(&bytes);
                marks.push(Op::Set { path, data, version: stat.version });
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
