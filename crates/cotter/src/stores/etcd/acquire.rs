//! Entering the queue of a name.

use super::backend::Inner;
use super::errors::{Failure, place_is_gone, unexpected};
use super::leases::{Proof, seconds};
use super::messages::{KeyValue, Target, TxnRequest, TxnResponse};
use super::names::Line;
use super::requests::{TXN, empty, equal, first, last, look, put};
use super::seats::Seat;
use crate::backend::{Claim, ClaimId, Grant, Mode, Session, Until};
use crate::{Error, ErrorKind, Result, stores::shared::queue};
use std::sync::Arc;

/// The number of tokens that a revision stands for.
pub(super) const TURNS: u16 = 64;
/// How often a request is repeated that another one has put in doubt, or whose lease has ended.
pub(super) const TRIES: usize = 5;

/// Where a claim stands.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    /// First: it holds the lock. With its entry.
    Holds(Entry),
    /// It waits. With its own entry.
    Behind(Entry, Ahead),
    /// It has no entry, because somebody else has one.
    Refused,
    /// Its entry is gone: the lease has ended, or somebody deleted it.
    Gone,
}

/// The event that a claim waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ahead {
    /// The end of the entry with this key.
    Entry(Vec<u8>),
    /// The end of the entry with this key, or that it is served.
    Waiter(Vec<u8>),
    /// The end of any entry of the line.
    Anybody,
}

/// An entry as the server knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) revision: i64,
    pub(super) lease: i64,
}

impl From<&KeyValue> for Entry {
    fn from(kv: &KeyValue) -> Self {
        Self { revision: kv.create_revision, lease: kv.lease }
    }
}

impl Inner {
    /// Puts the entry of a claim, unless it is there already. If it may not wait, only if there is no other.
    pub(super) async fn enter(self: Arc<Self>, claim: Claim, until: Until) -> Result<Standing> {
        let (is_new, if_empty) = (self.key_pool.enter(claim.id, &claim.name), until == Until::Now);
        // Whoever asks for the first time most likely gets the lock.
        let is_first = matches!(until, Until::Now | Until::InLine);
        let seconds = if is_first { seconds(claim.ttl) } else { self.leases.of_waiters() };
        let standing = match claim.mode.is_permits() {
            true => self.enter_for_permits(&claim, seconds, if_empty, is_new).await,
            false => self.enter_line(&claim, seconds, if_empty, is_new).await,
        };
        if is_new && !matches!(standing, Ok(Standing::Holds(_) | Standing::Behind(..))) {
            self.key_pool.take_back(claim.id);
        }
        standing
    }

    async fn enter_line(
        self: &Arc<Self>,
        claim: &Claim,
        seconds: u64,
        if_empty: bool,
        is_new: bool,
    ) -> Result<Standing> {
        for _ in 0..TRIES {
            let proof = self.leases.proved(seconds).await?;
            let answer = match self.put_entry(claim, proof, if_empty).await {
                Ok(answer) => answer,
                Err(failure) if failure.is_lease_not_found() => {
                    self.leases.forget(proof.lease);
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            };
            if let Some(standing) = self.standing_of(claim, proof, &answer, is_new).await? {
                return Ok(standing);
            }
        }
        let why = "other requests of this process kept interrupting this one; try again";
        Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown())
    }

    async fn put_entry(&self, claim: &Claim, proof: Proof, if_empty: bool) -> Result<TxnResponse, Failure> {
        let (line, key) = (self.keys.line(&claim.name), self.entry(claim));
        let (doubt, lease) = (self.keys.doubt(proof.lease), proof.lease);
        let mut compare = vec![equal(doubt.clone(), Target::Version(self.leases.doubts(lease)))];
        match claim.mode {
            _ if !if_empty => compare.push(equal(key.clone(), Target::Created(0))),
            Mode::Shared => compare.extend(self.keys.no_readers(&claim.name).iter().map(empty)),
            _ => compare.push(empty(&line)),
        }
        let entry = put(key.clone(), self.value(claim).as_bytes(), lease);
        let mut success = vec![entry];
        // Otherwise the condition has said what is before it.
        if !if_empty {
            success.push(last(&line, 2, 0));
        }
        if !if_empty && claim.mode == Mode::Shared {
            success.extend(self.blockers(claim).iter().map(|line| last(line, 2, 0)));
        }
        let txn = TxnRequest { compare, success, failure: vec![look(key), look(doubt), first(&line)] };
        self.ask_in_doubt(claim, lease, txn).await
    }

    /// The entries that may keep a claim behind them from holding.
    pub(super) fn blockers(&self, claim: &Claim) -> Vec<Line> {
        match claim.mode {
            Mode::Shared => self.keys.no_readers(&claim.name).into(),
            _ => vec![self.keys.line(&claim.name)],
        }
    }

    /// Sends a transaction that puts the entry of a claim.
    pub(super) async fn ask_in_doubt(
        &self,
        claim: &Claim,
        lease: i64,
        txn: TxnRequest,
    ) -> Result<TxnResponse, Failure> {
        self.doubts.sent(claim.id, lease);
        self.key_pool.asked(claim.id);
        let answer: Result<TxnResponse, Failure> = self.link.ask(TXN, txn).await;
        match &answer {
            Err(failure) if !failure.is_refusal() => return answer,
            Ok(answer) if answer.succeeded => {}
            _ => self.key_pool.refused(claim.id),
        }
        self.doubts.answered(claim.id, lease);
        answer
    }

    /// Returns `None` if the request has to be repeated.
    async fn standing_of(
        &self,
        claim: &Claim,
        proof: Proof,
        answer: &TxnResponse,
        is_new: bool,
    ) -> Result<Option<Standing>> {
        let key = self.entry(claim);
        if answer.succeeded {
            let other = |at: usize| answer.found(at).iter().find(|kv| kv.key != key);
            if let Some(other) = other(1) {
                queue::admit(claim.mode, self.keys.mode(&other.key), None)?;
            }
            let entry = Entry { revision: answer.revision(), lease: proof.lease };
            let behind = |kv: &KeyValue| Standing::Behind(entry, Ahead::Entry(kv.key.clone()));
            let blocker = match claim.mode {
                Mode::Shared => answer.latest(2),
                _ => other(1),
            };
            return Ok(Some(blocker.map_or(Standing::Holds(entry), behind)));
        }
        if let [own] = answer.found(0) {
            if is_new {
                self.key_pool.replace(claim.id);
                return Ok(None);
            }
            return self.look_before(claim, own.into()).await.map(Some);
        }
        let doubts = answer.found(1).first().map_or(0, |kv| kv.version);
        let is_outdated = doubts != self.leases.doubts(proof.lease);
        self.leases.doubted(proof.lease, doubts);
        match answer.found(2).first().filter(|_| !is_outdated) {
            None => Ok(None),
            Some(first) => {
                queue::admit(claim.mode, self.keys.mode(&first.key), None)?;
                Ok(Some(Standing::Refused))
            }
        }
    }

    /// The grant of a claim whose entry is the first one, for as long as the lease that it is attached to. That of a waiter is
    /// short; it is moved to the one that was asked for when it is extended.
    pub(super) async fn grant(&self, claim: &Claim, entry: Entry) -> Result<Grant> {
        let known = self.seats.place(claim.id).map(|seat| seat.seconds);
        let known = known.or_else(|| self.leases.length_of(entry.lease));
        let seconds = known.unwrap_or_else(|| seconds(claim.ttl));
        let proof = self.leases.proved_within(seconds, 3).await?;
        let entry = self.attach(claim, entry, proof).await?;
        let entry = entry.ok_or_else(|| place_is_gone().with_outcome_unknown())?;
        let number = u64::try_from(entry.revision).ok().and_then(|r| r.checked_mul(u64::from(TURNS)));
        let number = number.ok_or_else(|| unexpected("a revision that is too large"))?;
        let mut grant = Grant::new(claim.clone(), number, proof.as_of);
        let turns = if claim.mode.is_exclusive() { claim.turns } else { 1 };
        (grant.turns, grant.ttl) = (turns.clamp(1, TURNS), Some(proof.ttl));
        grant.session = Some(self.sit(claim, claim.id, entry, seconds));
        Ok(grant)
    }

    fn sit(&self, claim: &Claim, id: ClaimId, Entry { revision, lease }: Entry, seconds: u64) -> Session {
        self.seats.session(id, || {
            let session = Session::new();
            let _watched = self.watches.guard(self.entry(claim), revision, self.mark(id), &session);
            Seat { session, lease, seconds, revision, _watched }
        })
    }
}
