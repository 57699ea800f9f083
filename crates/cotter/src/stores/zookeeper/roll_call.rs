//! Passing over waiters that give no sign of life.
//!
//! A node stays as long as its session, whether its client still runs or not. So whoever has waited for a moment marks its node,
//! and takes the mark off before it holds. A node that should hold and still has the mark after [`GRACE`] is of a client that has
//! not noticed that it is its turn, and somebody behind it deletes it, on the condition that its data have not changed. Only one
//! of the two can succeed: whoever was passed over finds its node gone instead of taking the lock, and queues again.
//!
//! Nodes without the mark are of holders, of those who have not waited for long, of other clients, or of earlier versions of this
//! one. They end with their sessions.

use super::acquire::TRIES;
use super::backend::Inner;
use super::errors::{BAD_VERSION, NO_NODE, keeps_changing, place_is_gone};
use super::live::Live;
use super::messages::Op;
use super::names::Marks;
use super::permits::Line;
use super::places::Node;
use super::replies::{Data, Outcome, Stat};
use super::session::ServerSession;
use crate::backend::Claim;
use crate::{Moment, Result, stores::shared::queue};
use std::collections::HashMap;
use std::time::Duration;

/// The time after which a waiter marks its node. Most waits of a lock that is passed on quickly are over by then, and cost no write.
pub(super) const MARK_AFTER: Duration = Duration::from_millis(100);
/// The time in which a waiter whose turn it is takes the lock, or is passed over.
const GRACE: Duration = Duration::from_millis(1200);
/// The time between two looks, for each one before that may be a dead waiter: so many in a line ask no more than a few.
pub(super) const PERIOD: Duration = Duration::from_millis(500);
/// The nodes that are read at once.
const AT_ONCE: usize = 16;

/// What a waiter knows of the nodes before its own.
#[derive(Debug, Default)]
pub(super) struct RollCall(HashMap<String, Seen>);

/// A node that should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// It had no mark.
    Present,
    /// It has had one with this version since this moment.
    Absent(i32, Moment),
}

impl RollCall {
    /// Takes note of a node that should hold. Returns the version with which it may be deleted.
    fn note(&mut self, node: &str, data: &Data, now: Moment) -> Option<i32> {
        let version = data.stat.version;
        let seen = match (Marks::of(&data.bytes).waits, self.0.get(node)) {
            (false, _) => Seen::Present,
            (true, Some(Seen::Absent(before, since))) if *before == version => Seen::Absent(version, *since),
            (true, _) => Seen::Absent(version, now),
        };
        self.0.insert(node.to_owned(), seen);
        matches!(seen, Seen::Absent(_, since) if now >= since + GRACE).then_some(version)
    }

    fn is_present(&self, node: &str) -> bool {
        self.0.get(node) == Some(&Seen::Present)
    }

    /// The time until the next look, with so many before the waiter that may be dead.
    fn pause(&self, unknown: usize, now: Moment) -> Duration {
        let ends = self.0.values().filter_map(|seen| match seen {
            Seen::Absent(_, since) => Some((*since + GRACE).since(now)),
            Seen::Present => None,
        });
        let regular = PERIOD * u32::try_from(unknown).unwrap_or(u32::MAX);
        ends.min().unwrap_or(regular).min(regular)
    }
}

impl Inner {
    /// Looks whether those before the node with this number hold that should, and deletes those that have not taken the lock for
    /// too long. Returns the time until the next look; `None` if everybody before it holds.
    pub(super) async fn call_the_roll(
        &self,
        roll: &mut RollCall,
        Line { entries, limit }: &Line,
        at: usize,
        (folder, live): (&str, &Live),
    ) -> Result<Option<Duration>> {
        let before = &entries[..at];
        roll.0.retain(|node, _| before.iter().any(|entry| entry.node == *node));
        let modes: Vec<_> = entries.iter().map(|entry| entry.mode).collect();
        let serving = before.iter().take(queue::holders(&modes, *limit));
        let unknown = serving.filter(|entry| !roll.is_present(&entry.node)).take(AT_ONCE);
        let asked: Vec<_> = unknown
            .map(|entry| {
                let path = format!("{folder}/{}", entry.node);
                (live.ask::<Data>(&Op::get(&path)), path, &entry.node)
            })
            .collect();
        for (data, path, node) in asked {
            let data = match data.await {
                Err(failure) if failure.is(NO_NODE) => continue,
                data => data?,
            };
            if let Some(version) = roll.note(node, &data, self.link.now()) {
                let ops = vec![Op::Check { path: path.clone(), version }, Op::delete(&path)];
                live.ask::<Outcome>(&Op::Multi(ops)).await?;
                roll.0.remove(node);
            }
        }
        let unknown = before.iter().filter(|entry| !roll.is_present(&entry.node)).count();
        Ok((unknown > 0).then(|| roll.pause(unknown, self.link.now())))
    }

    /// Marks the node of a claim that waits.
    pub(super) async fn mark(&self, claim: &Claim, own: &Node, live: &Live) -> Result<()> {
        self.places.marked(claim.id, true);
        self.set_waits(claim, own, (true, 0), live).await
    }

    /// Takes the mark off, if there may be one.
    pub(super) async fn unmark(&self, claim: &Claim, own: &Node, session: &ServerSession) -> Result<()> {
        if self.places.get(claim.id).is_some_and(|place| place.is_marked) {
            self.set_waits(claim, own, (false, 1), &*session.live().await?).await?;
            self.places.marked(claim.id, false);
        }
        Ok(())
    }

    /// Sets the mark or takes it off. Most likely nobody else has changed the data, which have this version then.
    async fn set_waits(&self, claim: &Claim, own: &Node, likely: (bool, i32), live: &Live) -> Result<()> {
        let (waits, mut version) = likely;
        let mut bytes = self.keys.data(claim);
        for _ in 0..TRIES {
            let data = Marks { waits, ..Marks::of(&bytes) }.on(&bytes);
            match live.ask::<Stat>(&Op::Set { path: own.path.clone(), data, version }).await {
                Err(failure) if failure.is(NO_NODE) => return Err(place_is_gone()),
                Err(failure) if failure.is(BAD_VERSION) => {}
                set => return Ok(set.map(|_| ())?),
            }
            let now = match live.ask::<Data>(&Op::get(&own.path)).await {
                Err(failure) if failure.is(NO_NODE) => return Err(place_is_gone()),
                now => now?,
            };
            (bytes, version) = (now.bytes, now.stat.version);
        }
        Err(keeps_changing())
    }
}
