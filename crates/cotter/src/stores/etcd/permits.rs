//! Permits: entries that hold as far as the permits go.

use super::acquire::{Ahead, Entry, Standing, TRIES};
use super::backend::Inner;
use super::errors::{Failure, unexpected};
use super::leases::Proof;
use super::messages::{Compare, KeyValue, Target, TxnRequest, TxnResponse};
use super::requests::{TXN, delete, either, empty, equal, look, put, read, touch, until, whole};
use crate::backend::{Claim, Mode};
use crate::{Error, ErrorKind, Name, Result, stores::shared::queue};

/// The line of a name at one moment.
pub(super) struct Snapshot {
    revision: i64,
    /// In order of creation.
    entries: Vec<(Vec<u8>, Mode, Entry)>,
    /// The number of permits, where it was set.
    set: Option<u32>,
}

impl Inner {
    /// Puts the entry of a claim for permits. With `only_if_free`, only if it holds then: behind those that it has seen.
    pub(super) async fn enter_for_permits(
        &self,
        claim: &Claim,
        seconds: u64,
        only_if_free: bool,
        is_new: bool,
    ) -> Result<Standing> {
        for _ in 0..TRIES * 4 {
            let seen = self.snapshot(&claim.name).await?;
            if seen.place_of(&self.entry(claim)).is_some() {
                if !is_new {
                    return self.standing_in(claim, &seen);
                }
                self.key_pool.replace(claim.id);
            }
            if let Some((_, first, _)) = seen.entries.first() {
                queue::admit(claim.mode, *first, seen.set)?;
            }
            if only_if_free && !seen.has_room_for(claim.mode) {
                return Ok(Standing::Refused);
            }
            let proof = self.leases.proved(seconds).await?;
            let condition = match only_if_free {
                true => until(&self.keys.line(&claim.name), seen.revision),
                false => equal(self.entry(claim), Target::Created(0)),
            };
            match self.put_if(claim, proof, condition).await {
                Ok(answer) if answer.succeeded => {
                    let seen = self.snapshot_of(&answer, 2)?;
                    // Somebody may have entered with another use of the name at the same time, and first.
                    seen.entries
                        .first()
                        .map_or(Ok(()), |(_, first, _)| queue::admit(claim.mode, *first, seen.set))?;
                    return self.standing_in(claim, &seen);
                }
                Ok(answer) => {
                    let doubts = answer.found(0).first().map_or(0, |kv| kv.version);
                    self.leases.doubted(proof.lease, doubts);
                }
                Err(failure) if failure.is_lease_not_found() => self.leases.forget(proof.lease),
                Err(failure) => return Err(failure.into()),
            }
        }
        let why = "the queue kept changing during the request; try again";
        Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown())
    }

    /// A claim that finds the line empty drops the limit that was set for earlier ones.
    async fn put_if(&self, claim: &Claim, proof: Proof, condition: Compare) -> Result<TxnResponse, Failure> {
        let (line, key) = (self.keys.line(&claim.name), self.entry(claim));
        let (doubt, limit) = (self.keys.doubt(proof.lease), self.keys.limit(&claim.name));
        let certain = equal(doubt.clone(), Target::Version(self.leases.doubts(proof.lease)));
        let forget = either(empty(&line), delete(limit.clone()), look(limit.clone()));
        let entry = put(key, self.value(claim).as_bytes(), proof.lease);
        let txn = TxnRequest {
            compare: vec![condition, certain],
            success: vec![forget, entry, whole(&line), read(limit)],
            failure: vec![look(doubt)],
        };
        self.ask_in_doubt(claim, proof.lease, txn).await
    }

    /// Looks at the whole line of a claim for permits.
    pub(super) async fn look_for_permits(&self, claim: &Claim) -> Result<Standing> {
        self.standing_in(claim, &self.snapshot(&claim.name).await?)
    }

    async fn snapshot(&self, name: &Name) -> Result<Snapshot> {
        let line = self.keys.line(name);
        let txn = TxnRequest::of(vec![whole(&line), read(self.keys.limit(name))]);
        let answer: TxnResponse = self.link.ask(TXN, txn).await?;
        self.snapshot_of(&answer, 0)
    }

    /// The line is the answer to the operation with this number, the limit that to the next one.
    fn snapshot_of(&self, answer: &TxnResponse, at: usize) -> Result<Snapshot> {
        let entry = |kv: &KeyValue| (kv.key.clone(), self.keys.mode(&kv.key), Entry::from(kv));
        let mut entries: Vec<_> = answer.found(at).iter().map(entry).collect();
        entries.sort_by_key(|(.., entry)| entry.revision);
        let set = answer.found(at + 1).first().map(|kv| {
            let text = std::str::from_utf8(&kv.value).ok().and_then(|text| text.parse().ok());
            text.ok_or_else(|| unexpected("a limit that is not a number"))
        });
        Ok(Snapshot { revision: answer.revision(), entries, set: set.transpose()? })
    }

    fn standing_in(&self, claim: &Claim, seen: &Snapshot) -> Result<Standing> {
        let Some(at) = seen.place_of(&self.entry(claim)) else { return Ok(Standing::Gone) };
        let own = seen.entries[at].2;
        let modes: Vec<_> = seen.entries.iter().map(|(_, mode, _)| *mode).collect();
        let ahead = match queue::status(&modes, at, seen.set) {
            queue::Status::Holds => return Ok(Standing::Holds(own)),
            queue::Status::Next => Ahead::Anybody,
            queue::Status::Behind => Ahead::Waiter(seen.entries[at - 1].0.clone()),
        };
        let (Mode::Permits { take, .. }, Some(limit)) = (claim.mode, queue::limit(modes[0], seen.set)) else {
            return Err(unexpected("an entry of another kind in the queue of a semaphore"));
        };
        if take > limit {
            let why = format!("{take} permits can never be granted: the limit is {limit}");
            return Err(Error::new(ErrorKind::LimitMismatch, why));
        }
        Ok(Standing::Behind(own, ahead))
    }

    /// Tells the waiter behind this claim that it has been served: that one is the next now.
    pub(super) async fn pass_the_turn(&self, claim: &Claim, own: Entry) -> Result<()> {
        let key = self.entry(claim);
        let is_there = equal(key.clone(), Target::Created(own.revision));
        let txn = TxnRequest { compare: vec![is_there], success: vec![touch(key)], failure: Vec::new() };
        let _: TxnResponse = self.link.ask(TXN, txn).await?;
        Ok(())
    }

    /// The number of permits that was set while the name was in use.
    pub(super) async fn limit_of(&self, name: &Name) -> Result<Option<u32>> {
        Ok(self.snapshot(name).await?.set)
    }

    /// Sets the number of permits of a line that is not empty.
    pub(super) async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        let line = self.keys.line(name);
        let set = put(self.keys.limit(name), of.to_string().as_bytes(), 0);
        let txn = TxnRequest { compare: vec![empty(&line)], success: Vec::new(), failure: vec![set] };
        let _: TxnResponse = self.link.ask(TXN, txn).await?;
        Ok(())
    }
}

impl Snapshot {
    fn place_of(&self, key: &[u8]) -> Option<usize> {
        self.entries.iter().position(|(entry, ..)| entry == key)
    }

    fn has_room_for(&self, mode: Mode) -> bool {
        let mut modes: Vec<_> = self.entries.iter().map(|(_, mode, _)| *mode).collect();
        modes.push(mode);
        // The limit that was set ends with those for whom it was.
        let set = self.set.filter(|_| !self.entries.is_empty());
        queue::holders(&modes, set) == modes.len()
    }
}
