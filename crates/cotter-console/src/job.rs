//! What commands say about scheduled jobs.

use crate::clean;
use crate::duration::{relative, words};
use cotter_scheduler::{Ending, JobStatus, UnixTime, WaitsFor};

/// An instant for people.
pub fn from_now(at: UnixTime, now: UnixTime) -> String {
    match at < now {
        true => relative(true, now.since(at)),
        false => relative(false, at.since(now)),
    }
}

/// What it does, and whatever else is the case.
pub fn full_state(job: &JobStatus, now: UnixTime) -> String {
    let state = state(job, now);
    let orphaned = orphaned(job, &state);
    state + &overdue(job, now) + &requested(job) + &orphaned + &standby(job)
}

/// The slots that wait for their run, whatever else the job does.
fn requested(job: &JobStatus) -> String {
    match job.requested_slots {
        0 => String::new(),
        1 => "; 1 requested slot waits".to_owned(),
        many => format!("; {many} requested slots wait"),
    }
}

/// How long its last run took.
pub fn took(job: &JobStatus) -> Option<String> {
    job.started.zip(job.ended).map(|(from, to)| words(to.since(from)))
}

/// A character for each of the last runs, the newest last.
pub fn last_runs(job: &JobStatus) -> Option<String> {
    let one = |ending: &Ending| match ending {
        Ending::Replaced => 'r',
        failed if has_failed(failed) => 'x',
        _ => '.',
    };
    (!job.last_endings.is_empty()).then(|| job.last_endings.iter().map(one).collect())
}

/// How its last run ended, if it has.
pub fn outcome(job: &JobStatus) -> Option<String> {
    job.ending.as_ref().map(|ending| clean(&ending.to_string()))
}

fn state(job: &JobStatus, now: UnixTime) -> String {
    let runs = job.started.is_some() && job.ended.is_none() && !job.unlabelled;
    let by = |who: &Option<String>| who.as_deref().map(|by| format!(" by {}", clean(by))).unwrap_or_default();
    let why = job.pause_reason.as_deref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    match (job.paused, runs) {
        (true, true) => format!("{}, paused{}{}{why}", running(job, now), by(&job.paused_by), ends(job, now)),
        (true, false) => format!("paused{}{}{why}", by(&job.paused_by), ends(job, now)),
        (false, true) => running(job, now),
        (false, false) if !job.waits.is_empty() => waits(&job.waits, now),
        (false, false) if job.retry_at.is_some() => {
            format!("retrying, attempt {}", job.attempt.unwrap_or_default() + 1)
        }
        (false, false) if job.requests > 0 => format!("triggered{}", by(&job.asked_by)),
        (false, false) if job.orphaned => nobody_has(job),
        (false, false) => "waiting".to_owned(),
    }
}

/// Where a run is in progress, and for how long.
fn running(job: &JobStatus, now: UnixTime) -> String {
    let on = job.host.as_deref().filter(|host| !host.is_empty()).map(|host| format!(" on {}", clean(host)));
    let since = job.started.map(|since| format!(" for {}", words(now.since(since))));
    format!("running{}{}", on.unwrap_or_default(), since.unwrap_or_default())
}

/// When its pause ends by itself.
fn ends(job: &JobStatus, now: UnixTime) -> String {
    job.paused_until.map(|end| format!(", ends {}", from_now(end, now))).unwrap_or_default()
}

/// Said of a job that no scheduler has.
pub fn nobody_has(job: &JobStatus) -> String {
    match &job.on[..] {
        [label] if job.unlabelled => format!("no host has the label {label}"),
        labels if job.unlabelled => format!("no host has the labels {}", labels.join(" and ")),
        _ => "no host has this job".to_owned(),
    }
}

/// That nobody has it, beside another state.
fn orphaned(job: &JobStatus, state: &str) -> String {
    let nobody = nobody_has(job);
    if job.orphaned && state != nobody { format!("; {nobody}") } else { String::new() }
}

/// What a job waits for that others hold.
fn waits(waits: &[WaitsFor], now: UnixTime) -> String {
    let one = |wait: &WaitsFor| {
        let since = words(now.since(wait.since));
        format!("waits for {} for {since}{}", clean(&wait.lock), held(wait))
    };
    waits.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Who holds what it waits for.
pub fn held(wait: &WaitsFor) -> String {
    wait.held_by.as_deref().map(|by| format!(", held by {}", clean(by))).unwrap_or_default()
}

/// What no scheduler has started although it is due, and why is not said already.
fn overdue(job: &JobStatus, now: UnixTime) -> String {
    if !job.waits.is_empty() {
        return String::new();
    }
    let since = |at| format!(", overdue for {}{}", words(now.since(at)), no_worker(job));
    job.overdue_since.map(since).unwrap_or_default()
}

/// The hosts that have no worker for it.
pub fn no_worker(job: &JobStatus) -> String {
    match &job.no_worker_on[..] {
        [] => String::new(),
        hosts => format!("; no worker free on {}", names(hosts.iter().map(Option::as_deref))),
    }
}

/// The hosts that have another definition.
fn standby(job: &JobStatus) -> String {
    let hosts = names(job.standby.iter().map(|host| host.host.as_deref()));
    match job.standby.len() {
        0 => String::new(),
        1 => format!("; {hosts} stands by"),
        _ => format!("; {hosts} stand by"),
    }
}

/// The names of hosts, some of which may have none.
fn names<'a>(hosts: impl Iterator<Item = Option<&'a str>>) -> String {
    hosts.map(|host| host.map_or_else(|| "a host".to_owned(), clean)).collect::<Vec<_>>().join(", ")
}

/// How its last run has failed, if that is not repeated.
pub fn failure(job: &JobStatus) -> Option<&Ending> {
    job.ending.as_ref().filter(|ending| has_failed(ending) && job.retry_at.is_none())
}

/// A run that made way for the next one has neither succeeded nor failed.
pub fn has_failed(ending: &Ending) -> bool {
    !matches!(ending, Ending::Ok | Ending::Replaced)
}
