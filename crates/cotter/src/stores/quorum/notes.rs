//! Notes by majority: the largest (token, sequence) wins, and is written back before anybody uses it.

use super::backend::Quorum;
use super::proposer::{Outcome, Proposer};
use super::seats::member;
use super::shortage::no_quorum;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{Backend, Feature, Grant, NoteAt, Notes, Proposal, Until};
use crate::{Error, ErrorKind, Name, Note, Result};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// The time after which a waiter loads the note again. Members cannot say that the note of a majority has changed.
const PERIOD: Duration = Duration::from_millis(250);

/// A note and the number of its writing.
type Dated = (Note, u64);

fn pair((note, sequence): &Dated) -> (u64, u64) {
    (note.token.get(), *sequence)
}

/// Each member has revisions of its own for what holders write. This one follows from the writing, and is never 0.
fn revision((token, sequence): (u64, u64)) -> u64 {
    token.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(sequence).max(1)
}

fn is_swapped((note, _): &Dated) -> bool {
    note.token.get() == 0
}

fn by_proposal(accepted: Proposal) -> Note {
    Note::new(accepted.bytes, 0, accepted.origin)
}

/// The members that a note is loaded from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadFrom {
    FirstMajority,
    All,
}

/// The notes that members have returned, a majority at least.
type Read = Vec<(usize, Option<Dated>)>;

impl Quorum {
    /// Writes the note back until a majority has it: what one reader has seen, no later one must miss.
    async fn mend(
        &self,
        name: &Name,
        key: &str,
        largest: &Dated,
        lacking: &[usize],
        have: usize,
    ) -> Result<()> {
        let majority = self.seats.majority();
        if have >= majority {
            return Ok(());
        }
        let mend = |_, backend: Arc<dyn Backend>| async move {
            member(&*backend).mend(name, key, &largest.0, largest.1).await
        };
        let answers = self.seats.ask(lacking, self.seats.limit(Duration::MAX), mend, |_| false).await;
        let mended = answers.iter().filter(|a| matches!(a, Some(Ok(())))).count();
        if have + mended >= majority {
            return Ok(());
        }
        let failed = answers.into_iter().flatten().find_map(Result::err);
        Err(no_quorum((have + mended, self.seats.len(), majority), None, failed.as_ref()).with_name(name))
    }

    /// Loads a note from the first majority that answers, or from as many members as answer in time.
    async fn read(&self, name: &Name, key: &str, from: ReadFrom) -> Result<Read> {
        let (seats, majority) = (self.seats.awake(), self.seats.majority());
        let load = |_, backend: Arc<dyn Backend>| async move { member(&*backend).dated(name, key).await };
        let heard = |answers: &[Option<Result<_>>]| {
            from == ReadFrom::FirstMajority
                && answers.iter().filter(|a| matches!(a, Some(Ok(_)))).count() >= majority
        };
        let answers = self.seats.ask(&seats, self.seats.limit(Duration::MAX), load, heard).await;
        let (mut read, mut failed) = (Vec::new(), None);
        for (seat, answer) in seats.into_iter().zip(answers) {
            match answer {
                Some(Ok(dated)) => read.push((seat, dated)),
                Some(Err(e)) => failed = Some(e),
                None => {}
            }
        }
        if read.len() < majority {
            let counts = (read.len(), self.seats.len(), majority);
            return Err(no_quorum(counts, None, failed.as_ref()).with_name(name));
        }
        Ok(read)
    }
}

#[async_trait]
impl Notes for Quorum {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let mut from = ReadFrom::FirstMajority;
        loop {
            let read = self.read(name, key, from).await?;
            let Some(mut largest) = read.iter().filter_map(|(_, dated)| dated.clone()).max_by_key(pair)
            else {
                return Ok(None);
            };
            let lacks =
                |dated: &Option<Dated>| dated.as_ref().is_none_or(|dated| pair(dated) < pair(&largest));
            let lacking: Vec<_> =
                read.iter().filter(|(_, dated)| lacks(dated)).map(|(seat, _)| *seat).collect();
            let have = read.len() - lacking.len();
            if !is_swapped(&largest) {
                self.mend(name, key, &largest, &lacking, have).await?;
                largest.0.revision = revision(pair(&largest));
                return Ok(Some(largest.0));
            }
            if have >= self.seats.majority() {
                return Ok(Some(largest.0));
            }
            if let Outcome::Has(last) = Proposer::new(self, name, key, largest.1).settle().await? {
                return Ok(last.map(by_proposal));
            }
            // A member has a note of a holder, which is later than any that was swapped.
            from = ReadFrom::All;
        }
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let (claim, majority) = (&grant.claim, self.seats.majority());
        let Some(round) = self.shared.rounds.won(claim.id) else { return Ok(None) };
        // Members have revisions of their own. While the claim holds, nobody else writes what this is compared with.
        if at.seen.is_some() {
            let note = self.load(&claim.name, at.key).await?;
            if !at.may_replace(note.map(|note| (note.token.get(), note.revision))) {
                return Ok(None);
            }
        }
        let at = NoteAt { seen: None, ..at };
        let votes: Vec<_> = round.votes().map(|(seat, vote)| (seat, vote.clone())).collect();
        let seats: Vec<_> = votes.iter().map(|(seat, _)| *seat).collect();
        let store = |seat, backend: Arc<dyn Backend>| {
            let vote = votes.iter().find(|(s, _)| *s == seat).map(|(_, v)| v.clone()).expect("it has voted");
            async move {
                match backend.notes() {
                    Some(notes) => notes.store(&vote, at, bytes).await,
                    None => Ok(None),
                }
            }
        };
        let answers = self.seats.ask(&seats, self.seats.limit(claim.ttl), store, |_| false).await;
        let stored = answers.iter().filter(|a| matches!(a, Some(Ok(Some(_))))).count();
        let stale = answers.iter().filter(|a| matches!(a, Some(Ok(None)))).count();
        if stored >= majority {
            return Ok(Some(revision((at.token, at.sequence))));
        }
        if votes.len() - stale < majority && stored == 0 {
            return Ok(None);
        }
        let failed = answers.into_iter().flatten().find_map(Result::err);
        let counts = (stored + stale, self.seats.len(), majority);
        let error = no_quorum(counts, None, failed.as_ref()).with_name(&claim.name);
        Err(Error::with_outcome_unknown(error))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.info.require(Feature::Swap).map_err(|e| e.with_name(name))?;
        match Proposer::new(self, name, key, seen).swap(seen, bytes).await? {
            Outcome::Written(revision) => Ok(Some(revision)),
            Outcome::Has(_) => Ok(None),
            Outcome::Unknown => Err(overtaken().with_name(name)),
            Outcome::WrittenByHolder => Err(written_by_holder().with_name(name)),
        }
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let mut change = NoteChange::new(seen, PERIOD, || self.load(name, key));
        poll::until(&**self.seats.host.clock(), until, &mut change).await
    }
}

/// The error if nobody knows whether a value was ever the note.
fn overtaken() -> Error {
    let why = "other clients have changed the note since, and whether this value was written before that is not known";
    Error::with_outcome_unknown(Error::new(ErrorKind::Unavailable, why))
}

fn written_by_holder() -> Error {
    let why = "this note was written by a holder of the lock; on a quorum, a note is written either by holders or by \
               compare-and-set, so use another key";
    Error::new(ErrorKind::Unsupported, why)
}
