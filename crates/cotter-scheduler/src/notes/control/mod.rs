//! Requests of operators to the jobs of a group.
//!
//! | file | concept |
//! |---|---|
//! | `group`, `job` | the requests to the whole group, and to one job |
//! | `pause` | pauses of either |
//! | `load` | loading all requests, or those that have changed |
//! | `edit` | adding requests |

mod edit;
mod group;
mod job;
mod load;
mod pause;

pub(crate) use edit::{edit_group, edit_job, tell_one_shots};
pub(crate) use group::{GROUP, GroupControl};
pub(crate) use job::{Arguments, JobControl, StopRun};
pub(crate) use load::{Loaded, load, load_changed};
pub(crate) use pause::Pause;

use super::one_shots::{self, Added, OneShotKey};
use super::{foreign, shard};
use crate::{Result, UnixTime};
use cotter::Note;
use std::collections::BTreeMap;
use std::sync::Arc;

const LIST: &str = "control";

/// All requests to a group and its jobs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    pub(crate) group: GroupControl,
    /// By shard, so that a change copies one of them.
    jobs: BTreeMap<u8, Arc<Shard>>,
    /// One-shot runs, by shard.
    one_shots: BTreeMap<u8, Arc<one_shots::Shard>>,
}

/// The requests to the jobs of a shard.
type Shard = BTreeMap<String, JobControl>;

impl Control {
    /// The requests to a job alone.
    pub(crate) fn own(&self, job: &str) -> JobControl {
        let own = self.jobs.get(&shard::of(job)).and_then(|shard| shard.get(job));
        own.cloned().unwrap_or_default()
    }

    /// Whether this is the note of the group that was loaded, and whose pause may have ended since.
    pub(crate) fn is_of(&self, note: Option<&Note>, now: UnixTime) -> Result<bool> {
        let mut group = GroupControl::parse(note)?;
        group.expire(now);
        Ok(group == self.group)
    }

    /// Ends the pauses whose time is over. Returns whether there were any.
    pub(crate) fn expire(&mut self, now: UnixTime) -> bool {
        let mut changes = self.group.expire(now);
        for shard in self.jobs.values_mut().filter(|shard| ends(shard).any(|end| end <= now)) {
            changes |= Arc::make_mut(shard).values_mut().fold(false, |any, job| any | job.expire(now));
        }
        changes
    }

    /// When the next pause ends by itself.
    pub(crate) fn next_end(&self) -> Option<UnixTime> {
        let group = self.group.pause.iter().filter_map(|pause| pause.until);
        group.chain(self.jobs.values().flat_map(|shard| ends(shard))).min()
    }

    /// Whether a job is paused, by itself or with the group.
    pub(crate) fn is_paused(&self, job: &str) -> bool {
        self.group.pause.is_some() || self.own(job).pause.is_some()
    }

    /// Who wants a run of a job to end.
    pub(crate) fn stopped_by(&self, job: &str, token: u64) -> Option<String> {
        self.own(job).stopped_by(token).map(str::to_owned)
    }

    /// The requests that apply to a job: its own, and those to the group.
    pub(crate) fn of(&self, job: &str) -> JobControl {
        let own = self.own(job);
        JobControl {
            resumed_at: own.resumed_at.max(self.group.resumed_at),
            one_shots: self.one_shots_of(job, self.is_paused(job)),
            pause: own.pause.or_else(|| self.group.pause.clone()),
            ..own
        }
    }

    /// The two earliest: one of them may be the last run of the job. Those that a pause holds back are left out.
    fn one_shots_of(&self, job: &str, is_paused: bool) -> Vec<Added> {
        let shards = self.one_shots.values().filter(|shard| !shard.is_empty());
        let may_run = |added: &&Added| !is_paused || added.requested_at.is_some();
        let of_job = |shard| one_shots::of_job(shard, job).filter(may_run).take(2);
        let mut found: Vec<_> = shards.flat_map(|shard| of_job(shard)).collect();
        found.sort_by_key(|added| (added.at, &added.key));
        found.into_iter().take(2).cloned().collect()
    }

    /// How many slots of a job were requested and have not begun, given the one-shot run that has.
    pub(crate) fn requested_slots(&self, job: &str, begun: Option<&OneShotKey>) -> usize {
        let shard = self.one_shots.get(&one_shots::place_of(job)).filter(|shard| !shard.is_empty());
        let all = shard.into_iter().flat_map(|shard| one_shots::of_job(shard, job));
        all.filter(|added| added.requested_at.is_some() && begun != Some(&added.key)).count()
    }

    /// Whether a one-shot run is known here.
    pub(crate) fn has_one_shot(&self, key: &OneShotKey) -> bool {
        let shard = self.one_shots.get(&one_shots::shard_of(&key.id));
        shard.is_some_and(|shard| shard.keys().any(|(.., other)| other == key))
    }

    /// Drops a one-shot run that is no longer in the store.
    pub(crate) fn drop_one_shot(&mut self, key: &OneShotKey) {
        if let Some(shard) = self.one_shots.get_mut(&one_shots::shard_of(&key.id)) {
            Arc::make_mut(shard).retain(|(.., other), _| other != key);
        }
    }

    /// The jobs whose own requests have changed or are gone, or that have new one-shot runs.
    pub(crate) fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let gone = before.changed_requests(self).filter(|job| !self.has_own(job));
        self.changed_requests(before).chain(gone).chain(self.new_one_shots(before))
    }

    fn has_own(&self, job: &str) -> bool {
        self.jobs.get(&shard::of(job)).is_some_and(|shard| shard.contains_key(job))
    }

    fn new_one_shots<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        self.one_shots.iter().flat_map(|(number, shard)| {
            let old = before.one_shots.get(number);
            let shard = old.is_none_or(|old| !Arc::ptr_eq(old, shard)).then_some(shard);
            let is_new = move |key| old.is_none_or(|old| !old.contains_key(key));
            let new = shard.into_iter().flat_map(|shard| shard.keys()).filter(move |key| is_new(key));
            new.map(|(job, ..)| job.as_str())
        })
    }

    fn changed_requests<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a str> {
        let old = |shard: &u8| before.jobs.get(shard);
        let is_new = move |(number, shard): &(&u8, &Arc<Shard>)| {
            old(number).is_none_or(|old| !Arc::ptr_eq(old, shard))
        };
        let differs =
            move |number, job: &str, control| old(number).and_then(|old| old.get(job)) != Some(control);
        self.jobs.iter().filter(is_new).flat_map(move |(number, shard)| {
            let changed = shard.iter().filter(move |(job, control)| differs(number, job, *control));
            changed.map(|(job, _)| job.as_str())
        })
    }
}

/// The ends of its pauses.
fn ends(shard: &Shard) -> impl Iterator<Item = UnixTime> {
    shard.values().filter_map(|job| job.pause.as_ref()?.until)
}

fn parse_shard(note: Option<&Note>) -> Result<Shard> {
    let Some(note) = note else { return Ok(Shard::new()) };
    serde_json::from_slice(&note.bytes).map_err(|e| foreign("requests for jobs", &e))
}
