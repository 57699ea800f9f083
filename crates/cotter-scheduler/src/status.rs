//! The status of a job: what its notes and the requests to it tell, at an instant of the store's clock.

use crate::decide::{Successes, due_since, settled_until, slot_after};
use crate::notes::hosts::Mark;
use crate::notes::hosts::owned::{OfAll, crowded};
use crate::notes::{Control, JobControl, State, standby, waits};
use crate::{Ending, UnixTime};
use std::time::Duration;

/// The status of a job, from its notes.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStatus {
    /// The name within the group.
    pub name: String,
    /// The trigger of the definition in effect, as text.
    pub trigger: String,
    /// The generation of that definition.
    pub generation: u64,
    /// Whether the job is paused.
    pub paused: bool,
    /// The operator that paused it, or the group.
    pub paused_by: Option<String>,
    /// The reason for the pause, if one was given.
    pub pause_reason: Option<String>,
    /// When the pause was asked for.
    pub paused_since: Option<UnixTime>,
    /// When the pause ends by itself; `None` if it has to be resumed.
    pub paused_until: Option<UnixTime>,
    /// The operator of the last request to pause, resume, trigger or stop it.
    pub asked_by: Option<String>,
    /// The number of pending requests to run it.
    pub requests: u64,
    /// The number of slots that were [requested](crate::Jobs::trigger_slot) and have not begun.
    pub requested_slots: usize,
    /// The latest slot that is settled.
    pub last_slot: Option<UnixTime>,
    /// The next slot, by the store's clock and without jitter: the first one that is not settled, and while the job runs, the first
    /// one from now on. `None` while the job is paused or disabled, and for a fixed delay while it runs.
    pub next_slot: Option<UnixTime>,
    /// Since when something is due that no scheduler has started: a slot, a retry, a request, a one-shot run, or a run after other jobs.
    /// `None` if there is no such thing or it is not [`OVERDUE`](Self::OVERDUE) yet, and while the job runs or is paused or disabled.
    pub overdue_since: Option<UnixTime>,
    /// The first start of a scheduler with this job.
    pub first_started: UnixTime,
    /// The time at which the last run will be repeated, if it has failed, or was stopped with its scheduler, and will be.
    pub retry_at: Option<UnixTime>,
    /// The number of the attempt of the last run.
    pub attempt: Option<u32>,
    /// The host of the last run; `None` if it is not known.
    pub host: Option<String>,
    /// The end of the last successful run.
    pub succeeded: Option<UnixTime>,
    /// The fencing token of the last run.
    pub token: Option<u64>,
    /// When the last run started.
    pub started: Option<UnixTime>,
    /// When the last run ended; `None` while it is in progress, or if it crashed and this was not noticed yet.
    pub ended: Option<UnixTime>,
    /// How the last run ended.
    pub ending: Option<Ending>,
    /// How the last ten runs and attempts ended, oldest first, without their reasons. Of runs of an earlier version of
    /// this crate, there may be fewer.
    pub last_endings: Vec<Ending>,
    /// The hosts that have another definition of the job and stand by, as far as they were seen in the last minutes.
    pub standby: Vec<StandsBy>,
    /// What the next run waits for, as the schedulers have said that were about to start it; empty if it does not wait, or not for
    /// five seconds yet. A scheduler that was killed while it waited is shown for two minutes more.
    pub waits: Vec<WaitsFor>,
    /// The hosts that have this job, and on which no worker is free for it, if it is [overdue](Self::overdue_since). `None` stands for
    /// a host without a name.
    pub no_worker_on: Vec<Option<String>>,
    /// Whether no scheduler that [runs](crate::Jobs::hosts) has this job: it was removed from all of them, or none runs. False if one of
    /// them does not say which jobs it has, as it does for up to a thousand, and while the job runs.
    pub orphaned: bool,
    /// The jobs that it [follows](crate::Job::after), in order.
    pub after: Vec<String>,
    /// The labels that a host needs to run the job, in order; empty if every host runs it.
    pub on: Vec<String>,
    /// Whether no scheduler that runs has all of these labels. The job is [orphaned](Self::orphaned) then, although it need not have
    /// been removed, and a run without an [end](Self::ended) is one whose scheduler has died.
    pub unlabelled: bool,
}

impl JobStatus {
    /// How long something has to be due before a job is called [overdue](Self::overdue_since). Where all is well, a scheduler starts it
    /// within a second or so.
    pub const OVERDUE: Duration = Duration::from_secs(5);
}

/// A wait for a lock or a limit that a job shares with others.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitsFor {
    /// The name of the lock or the limit.
    pub lock: String,
    /// The label of a holder, as of [`seen`](Self::seen).
    pub held_by: Option<String>,
    /// The host that waits; `None` if it has no name.
    pub host: Option<String>,
    /// When it began to wait.
    pub since: UnixTime,
    /// When it last said so, which it repeats every minute.
    pub seen: UnixTime,
}

/// A host that stands by for a job because another definition is in effect.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandsBy {
    /// The host; `None` if it has no name.
    pub host: Option<String>,
    /// When it began to stand by.
    pub since: UnixTime,
    /// When it last said so, which it repeats every five minutes.
    pub seen: UnixTime,
}

/// `all`: when the jobs of the group last succeeded; `unlabelled`: whether no scheduler has the labels that it needs.
pub(crate) fn status(
    name: String,
    state: &State,
    control: &Control,
    all: &Successes,
    now: UnixTime,
    unlabelled: bool,
) -> JobStatus {
    let after = state.after();
    let success = |job: &String| all.get(job).map(|at| (job.clone(), *at));
    let asked = JobControl { successes: after.iter().filter_map(success).collect(), ..control.of(&name) };
    let run = state.run.as_ref();
    let retry_at = run.and_then(|run| run.retry_at).filter(|_| asked.pause.is_none());
    let next_slot = next_slot(state, &asked, now);
    let is_overdue = |at: &UnixTime| !runs(state, unlabelled) && *at + JobStatus::OVERDUE <= now;
    let overdue_since = due_since(state, &asked).filter(is_overdue);
    let requested_slots = control.requested_slots(&name, state.one_shot());
    let pause = asked.pause.as_ref();
    let reason = pause.map(|pause| pause.reason.clone());
    JobStatus {
        name,
        trigger: state.trigger.clone(),
        generation: state.generation,
        paused: pause.is_some(),
        paused_by: pause.map(|pause| pause.by.clone()),
        pause_reason: reason.filter(|reason| !reason.is_empty()),
        paused_since: pause.and_then(|pause| pause.since),
        paused_until: pause.and_then(|pause| pause.until),
        asked_by: (!asked.by.is_empty()).then_some(asked.by),
        requests: asked.requests.saturating_sub(state.handled),
        requested_slots,
        last_slot: state.last,
        next_slot,
        overdue_since,
        first_started: state.anchor,
        retry_at,
        attempt: run.map(|run| run.attempt),
        host: run.map(|run| run.host.clone()).filter(|host| !host.is_empty()),
        succeeded: state.succeeded,
        token: run.map(|run| run.token),
        started: run.map(|run| run.started),
        ended: run.and_then(|run| run.ended),
        ending: run.and_then(|run| run.ending()),
        last_endings: state.last_endings(),
        standby: Vec::new(),
        waits: Vec::new(),
        no_worker_on: Vec::new(),
        orphaned: false,
        after,
        on: state.on(),
        unlabelled,
    }
}

/// The hosts on which it waits for a worker.
pub(crate) fn no_worker_on(status: &JobStatus, marks: &[Mark]) -> Vec<Option<String>> {
    let named = |mark: &Mark| (!mark.host.is_empty()).then(|| mark.host.clone());
    match status.overdue_since {
        Some(_) => crowded(marks, &status.name).map(named).collect(),
        None => Vec::new(),
    }
}

/// Whether no scheduler has a job.
pub(crate) fn orphaned(name: &str, state: &State, owned: &OfAll, unlabelled: bool) -> bool {
    let started = state.run.as_ref().map(|run| run.started);
    let touched = match unlabelled {
        // Labels do not change: whoever does not have them has not got the job since.
        true => UnixTime::EPOCH,
        false => started.map_or(state.defined_at, |started| started.max(state.defined_at)),
    };
    !runs(state, unlabelled) && owned.lack(name, touched)
}

/// Whether it runs, as far as the notes tell. Who has started it had the labels, and whoever could notice its death would have them.
fn runs(state: &State, unlabelled: bool) -> bool {
    state.unfinished().is_some() && !unlabelled
}

/// Whether a job needs labels, and no scheduler has them.
pub(crate) fn unlabelled(state: &State, marks: &[Mark]) -> bool {
    let on = state.on();
    !on.is_empty() && !marks.iter().any(|mark| mark.has_labels(&on))
}

fn next_slot(state: &State, asked: &JobControl, now: UnixTime) -> Option<UnixTime> {
    if asked.pause.is_some() {
        return None;
    }
    let settled = settled_until(state, asked);
    // Slots that pass during a run are usually dropped.
    slot_after(state, if state.unfinished().is_some() { settled.max(now) } else { settled })
}

/// A host that has been restarted since, and whose definition is in effect now, has not taken back what it had said.
pub(crate) fn stand_by(hosts: standby::Hosts, state: &State) -> Vec<StandsBy> {
    let named = |host: String| (!host.is_empty()).then_some(host);
    let hosts = hosts.into_iter().filter(|(host, seen)| *host != state.by || seen.at > state.defined_at);
    hosts.map(|(host, seen)| StandsBy { host: named(host), since: seen.since, seen: seen.at }).collect()
}

/// One that has started a run since has not taken back what it had said.
pub(crate) fn waits_for(waits: waits::Waits, state: &State) -> Vec<WaitsFor> {
    let started = state.run.as_ref().map(|run| run.started);
    let lasting = waits.into_values().filter(|wait| started.is_none_or(|started| wait.at >= started));
    let told = |wait: waits::Wait| WaitsFor {
        lock: wait.lock,
        held_by: wait.held_by,
        host: (!wait.host.is_empty()).then_some(wait.host),
        since: wait.since,
        seen: wait.at,
    };
    lasting.map(told).collect()
}
