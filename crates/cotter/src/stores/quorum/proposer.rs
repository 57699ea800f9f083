//! Notes that are swapped: a register on a majority of the members, see [`Acceptor`](crate::backend::Acceptor).
//!
//! A swap takes two round trips. In the first, a majority promises to take nothing older and says what it has; in the
//! second, a majority accepts what is proposed. A value that a proposer finds at fewer members may have been reported to
//! its writer or may be lost yet, so it is proposed again before anybody relies on it, and keeps the revision under which
//! it was proposed first.

use super::backend::Quorum;
use super::seats::{Answers, acceptor};
use super::shortage::no_quorum;
use super::waiting::SILENCE;
use crate::backend::{Backend, Backoff, Promise, Proposal};
use crate::{Error, ErrorKind, Moment, Name, Result};
use std::sync::Arc;
use std::time::Duration;

/// The pauses of proposers that disturb each other.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(100));
/// The time for which a proposer lets others go first.
const CONTENTION: Duration = Duration::from_secs(20);
/// Numbers that are chosen at the same time should differ.
const STEP: f64 = 16.0;

/// One proposer of values for a note.
pub(super) struct Proposer<'a> {
    quorum: &'a Quorum,
    name: &'a Name,
    key: &'a str,
    number: u64,
    pauses: Backoff,
}

/// The outcome of an attempt, or of all of them.
pub(super) enum Outcome {
    /// A majority has this value.
    Has(Option<Proposal>),
    /// A majority has the value that was to be written.
    Written(u64),
    /// Others have written so often since that nobody knows whether they did over the value that was to be written or
    /// instead of it.
    Unknown,
    /// The note is no register: a holder has written it.
    WrittenByHolder,
}

/// A value to write over the one that was seen.
struct Change<'a> {
    seen: u64,
    bytes: &'a [u8],
    /// The number under which it was proposed first. From then on somebody may have it.
    origin: Option<u64>,
}

/// The result of the promises of a majority.
enum Prepared {
    /// This was accepted last, and whether by a majority.
    Last(Option<Proposal>, bool),
    /// Another proposer has a number that is not smaller.
    Behind(u64),
    WrittenByHolder,
}

impl<'a> Proposer<'a> {
    /// Begins above a number that is known.
    pub(super) fn new(quorum: &'a Quorum, name: &'a Name, key: &'a str, known: u64) -> Self {
        let pauses = Backoff::new(PAUSES.0, PAUSES.1).with_jitter(1.0);
        let mut proposer = Self { quorum, name, key, number: 0, pauses };
        proposer.pass(if known < Proposal::MAX_NUMBER { known } else { 0 });
        proposer
    }

    fn pass(&mut self, number: u64) {
        self.number = number + crate::random::between(1.0, STEP) as u64;
    }

    /// Has a majority accept what a member has.
    pub(super) async fn settle(mut self) -> Result<Outcome> {
        self.until_done(&mut None).await
    }

    /// Writes a value if the revision is still the one that was seen.
    pub(super) async fn swap(mut self, seen: u64, bytes: &[u8]) -> Result<Outcome> {
        let mut change = Some(Change { seen, bytes, origin: None });
        let outcome = self.until_done(&mut change).await;
        let sent = change.is_some_and(|c| c.origin.is_some());
        outcome.map_err(|e| if sent { Error::with_outcome_unknown(e) } else { e })
    }

    async fn until_done(&mut self, change: &mut Option<Change<'_>>) -> Result<Outcome> {
        let seats = &self.quorum.seats;
        let (began, mut silent_since) = (seats.now(), None);
        loop {
            let (error, ends) = match self.attempt(change).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {
                    silent_since = None;
                    (disturbed(), began + CONTENTION)
                }
                Err(e) if e.is_retryable() => (e, *silent_since.get_or_insert_with(|| seats.now()) + SILENCE),
                Err(e) => return Err(e),
            };
            if seats.now() >= ends {
                return Err(error.with_name(self.name));
            }
            self.pause(ends).await;
        }
    }

    async fn pause(&mut self, ends: Moment) {
        let seats = &self.quorum.seats;
        seats.host.clock().sleep_until((seats.now() + self.pauses.pause()).min(ends)).await;
    }

    /// `None`: another proposer was faster.
    async fn attempt(&mut self, change: &mut Option<Change<'_>>) -> Result<Option<Outcome>> {
        let (last, agreed) = match self.prepare().await? {
            Prepared::Last(last, agreed) => (last, agreed),
            Prepared::WrittenByHolder => return Ok(Some(Outcome::WrittenByHolder)),
            Prepared::Behind(number) => {
                self.pass(number);
                return Ok(None);
            }
        };
        let revision = last.as_ref().map_or(0, |p| p.origin);
        match change {
            Some(change) if change.seen == revision => self.write(change, last).await,
            Some(Change { origin: Some(origin), seen, .. }) => {
                let (fate, origin) = (fate(last.as_ref(), *origin, *seen), *origin);
                Ok(self.keep(last, agreed).await?.map(|last| match fate {
                    Some(true) => Outcome::Written(origin),
                    Some(false) => Outcome::Has(last),
                    None => Outcome::Unknown,
                }))
            }
            _ => Ok(self.keep(last, agreed).await?.map(Outcome::Has)),
        }
    }

    async fn write(&mut self, change: &mut Change<'_>, last: Option<Proposal>) -> Result<Option<Outcome>> {
        let origin = *change.origin.get_or_insert(self.number);
        let before = last.into_iter().flat_map(|last| [vec![last.origin], last.before].concat());
        let before = before.take(Proposal::MAX_BEFORE).collect();
        let proposal = Proposal::new(self.number, origin, before, change.bytes.to_vec());
        Ok(self.accept(&proposal).await?.then_some(Outcome::Written(origin)))
    }

    /// What a majority has stays; anything else has to get one first.
    async fn keep(&mut self, last: Option<Proposal>, agreed: bool) -> Result<Option<Option<Proposal>>> {
        let Some(last) = last else { return Ok(Some(None)) };
        let accepted = agreed || self.accept(&Proposal { number: self.number, ..last.clone() }).await?;
        Ok(accepted.then_some(Some(last)))
    }

    /// The first round trip.
    async fn prepare(&self) -> Result<Prepared> {
        let (name, key, number, majority) = (self.name, self.key, self.number, self.quorum.seats.majority());
        let prepare = |_, backend: Arc<dyn Backend>| async move {
            acceptor(&*backend)?.prepare(name, key, number).await
        };
        let given = |answers: &[Option<Result<Promise>>]| {
            answers.iter().filter(|a| matches!(a, Some(Ok(Promise::Given(_))))).count()
        };
        let answers = self.ask(prepare, |answers| given(answers) >= majority).await;
        let (mut given, mut behind, mut abstains, mut failed) = (Vec::new(), None, None, None);
        for answer in answers.into_iter().flatten() {
            match answer {
                Ok(Promise::Given(last)) => given.push(last),
                Ok(Promise::Refused(number)) => behind = behind.max(Some(number)),
                Ok(Promise::WrittenByHolder) => return Ok(Prepared::WrittenByHolder),
                Ok(Promise::Abstains(left)) => {
                    abstains = Some(abstains.map_or(left, |known: Duration| known.min(left)))
                }
                Err(e) => failed = Some(e),
            }
        }
        if given.len() >= majority {
            return Ok(latest(given, majority));
        }
        let counts = (given.len(), self.quorum.seats.len(), majority);
        behind.map(Prepared::Behind).ok_or_else(|| no_quorum(counts, abstains, failed.as_ref()))
    }

    /// The second round trip. All members are asked, and as many as possible shall have it.
    async fn accept(&mut self, proposal: &Proposal) -> Result<bool> {
        let (name, key, majority) = (self.name, self.key, self.quorum.seats.majority());
        let accept = |_, backend: Arc<dyn Backend>| async move {
            acceptor(&*backend)?.accept(name, key, proposal).await
        };
        let answers = self.ask(accept, |_| false).await;
        let count = |is: bool| answers.iter().filter(|a| matches!(a, Some(Ok(yes)) if *yes == is)).count();
        let (accepted, refused) = (count(true), count(false));
        // The next attempt needs a number of its own.
        self.pass(self.number);
        if accepted >= majority {
            return Ok(true);
        }
        if refused > 0 {
            return Ok(false);
        }
        let counts = (accepted, self.quorum.seats.len(), majority);
        Err(no_quorum(counts, None, answers.into_iter().flatten().find_map(Result::err).as_ref()))
    }

    async fn ask<T, F: Future<Output = Result<T>>>(
        &self,
        call: impl Fn(usize, Arc<dyn Backend>) -> F,
        done: impl Fn(&[Option<Result<T>>]) -> bool,
    ) -> Answers<T> {
        let seats = &self.quorum.seats;
        seats.ask(&seats.awake(), seats.limit(Duration::MAX), call, done).await
    }
}

/// The proposal with the largest number, and whether a majority has it.
fn latest(given: Vec<Option<Proposal>>, majority: usize) -> Prepared {
    let largest = given.iter().flatten().map(|p| p.number).max();
    let have = given.iter().filter(|p| p.as_ref().map(|p| p.number) == largest).count();
    let last = given.into_iter().flatten().find(|p| Some(p.number) == largest);
    Prepared::Last(last, have >= majority)
}

/// Whether a value that was proposed over the one that was `seen` has ever been the note, when another one is now. `None` if
/// that was too long ago.
fn fate(last: Option<&Proposal>, origin: u64, seen: u64) -> Option<bool> {
    let last = last?;
    if last.origin == origin || last.before.contains(&origin) {
        return Some(true);
    }
    // Whatever came after the one that was seen was not this value, and nothing else can come there any more.
    let reaches_back = last.before.contains(&seen) || last.before.len() < Proposal::MAX_BEFORE;
    reaches_back.then_some(false)
}

fn disturbed() -> Error {
    Error::new(ErrorKind::NoQuorum, "other clients keep writing the same note; try again later")
}
