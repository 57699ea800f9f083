//! Requests to run slots that have passed.
//!
//! Each is a one-shot run at the time of its slot: an earlier version runs it with the right slot as well.

use crate::decide::KnownSlots;
use crate::jobs::store_time;
use crate::notes::one_shots::{self, id_of_slot};
use crate::notes::{Added, Arguments, OneShotKey, tell_one_shots};
use crate::{Error, Jobs, Requested, Result, UnixTime};

/// What has come of a request to run [all slots of some time](Jobs::backfill).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backfill {
    /// All of them were requested, the oldest first.
    Requested(Vec<Requested>),
    /// More would wait than may, and nothing was requested.
    TooMany {
        /// How many slots there are.
        slots: usize,
        /// Whether counting has stopped, and there may be more.
        more: bool,
        /// How many others wait already.
        waiting: usize,
    },
}

/// The largest number of slots that is counted.
const MAX_COUNTED: usize = 10_000;

impl Jobs {
    /// Requests the run of one slot that has passed, whether or not it was run before, as soon as possible, even if the job is paused.
    /// To the work, the run is [the same](crate::Run::slot) as if it had been started for its slot. While a request for a slot
    /// waits, another one changes nothing. It can be [cancelled](Self::cancel), with its id among the [pending](Self::pending) runs.
    ///
    /// # Errors
    /// As [`trigger`](Self::trigger); [`ErrorKind::Job`](crate::ErrorKind::Job) also for an instant that is not a slot, or in the future,
    /// for a job whose slots depend on its runs, or that has none, and if [`MAX_REQUESTS`](Self::MAX_REQUESTS) slots of the job
    /// are waiting.
    pub async fn trigger_slot(&self, job: &str, slot: UnixTime) -> Result<Requested> {
        let (slots, now) = self.known_slots(job).await?;
        check_time(job, slot, now)?;
        if !slots.has(slot) {
            let why = format!("{slot} is not one of its slots; {}", nearest(&slots, slot, slot));
            return Err(Error::job(job, why));
        }
        match self.request_slots(job, &[slot], now).await? {
            Ok(requested) => Ok(requested.into_iter().next().expect("as many as slots")),
            Err(waiting) => {
                let why = format!("{waiting} requested slots are waiting; wait until some have run");
                Err(Error::job(job, why).passing())
            }
        }
    }

    /// The same for all slots from one instant on and before another: they run one after the other, the oldest first.
    ///
    /// # Errors
    /// As [`trigger_slot`](Self::trigger_slot), but for too many slots; [`ErrorKind::Job`](crate::ErrorKind::Job) also if there are none.
    pub async fn backfill(&self, job: &str, from: UnixTime, to: UnixTime) -> Result<Backfill> {
        let (slots, now) = self.known_slots(job).await?;
        if from >= to {
            return Err(Error::job(job, format!("{from} is not before {to}")));
        }
        check_time(job, from, now)?;
        check_time(job, to, now)?;
        let all: Vec<_> = slots.between(from, to).take(MAX_COUNTED + 1).collect();
        if all.is_empty() {
            let why = format!("it has no slot from {from} to {to}; {}", nearest(&slots, from, to));
            return Err(Error::job(job, why));
        }
        Ok(match self.request_slots(job, &all, now).await? {
            Ok(requested) => Backfill::Requested(requested),
            Err(waiting) => {
                let more = all.len() > MAX_COUNTED;
                Backfill::TooMany { slots: all.len().min(MAX_COUNTED), more, waiting }
            }
        })
    }

    /// The slots of a job, and the store's time.
    async fn known_slots(&self, job: &str) -> Result<(KnownSlots, UnixTime)> {
        let state = self.known(job).await?;
        if state.is_disabled() {
            return Err(Error::job(job, "it is disabled by its definition, and would not run"));
        }
        let slots = KnownSlots::of(&state).ok_or_else(|| {
            let why = format!("its trigger, {:?}, has no slots that are known beforehand", state.trigger);
            Error::job(job, why)
        })?;
        Ok((slots, store_time(&self.client).await?))
    }

    /// Requests slots, unless too many would wait: then returns how many others do.
    async fn request_slots(
        &self,
        job: &str,
        slots: &[UnixTime],
        now: UnixTime,
    ) -> Result<Result<Vec<Requested>, usize>> {
        let added: Vec<_> = slots.iter().map(|slot| self.slot_of(job, *slot, now)).collect();
        let adding = one_shots::add_slots(&self.client, &self.group, job, &added, Self::MAX_REQUESTS);
        let (shard, there) = adding.await?;
        let keys = match there {
            Ok(keys) => keys,
            Err(waiting) => return Ok(Err(waiting)),
        };
        tell_one_shots(&self.client, &self.group, [shard]).await?;
        let both = || added.iter().zip(&keys);
        let new: Vec<_> = both().filter(|(own, key)| own.key == **key).map(|(own, _)| own.at).collect();
        if let Some(about) = about(&new) {
            self.has_asked(Some(job), "trigger", about).await;
        }
        Ok(Ok(both().map(|(own, key)| Requested::of_slot(job, own.at, key.clone(), now)).collect()))
    }

    fn slot_of(&self, job: &str, slot: UnixTime, now: UnixTime) -> Added {
        Added {
            key: OneShotKey { id: id_of_slot(job, slot), number: rand::random() },
            job: job.to_owned(),
            at: slot,
            by: self.by.clone(),
            taken: None,
            arguments: Arguments::new(),
            requested_at: Some(now),
        }
    }
}

/// The slots, for the log; `None` if there are none.
fn about(slots: &[UnixTime]) -> Option<String> {
    match slots {
        [] => None,
        [only] => Some(format!("slot {only}")),
        [first, .., last] => Some(format!("{} slots, {first} to {last}", slots.len())),
    }
}

fn check_time(job: &str, at: UnixTime, now: UnixTime) -> Result<()> {
    if at > now {
        let why = format!("{at} is in the future; only slots that have passed can be requested");
        return Err(Error::job(job, why));
    }
    if at < UnixTime::EPOCH {
        return Err(Error::job(job, format!("{at} is out of range: 1970 or later")));
    }
    Ok(())
}

/// The slots before one instant, and from another on.
fn nearest(slots: &KnownSlots, from: UnixTime, to: UnixTime) -> String {
    match (slots.before(from), slots.at_or_after(to)) {
        (Some(before), Some(after)) => format!("the nearest ones are {before} and {after}"),
        (Some(only), None) | (None, Some(only)) => format!("the nearest one is {only}"),
        (None, None) => "it has none".to_owned(),
    }
}
