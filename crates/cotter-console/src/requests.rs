//! What is said about requests to jobs: also that one has changed nothing, and who has paused what.

use crate::clean;
use crate::duration::words;
use crate::job::nobody_has;
use cotter_scheduler::{Ending, Entry, Host, Jobs, PausedBy, Pausing, Requested, Stopping};
use rustix::process::getuid;
use rustix::system::uname;
use std::time::Duration;

/// The name of the operator, for others to read.
pub fn operator() -> String {
    let name = std::env::var("LOGNAME").or_else(|_| std::env::var("USER"));
    let name = name.unwrap_or_else(|_| format!("user {}", getuid().as_raw()));
    clean(&format!("{name} on {}", uname().nodename().to_string_lossy()))
}

/// After a request to pause a job, or the group.
pub fn paused(job: Option<&str>, done: &Pausing) -> String {
    match (job, done) {
        (Some(job), Pausing { changed: true, pause, .. }) => match end(pause.as_ref()) {
            Some(end) => format!("{job}: paused; no slots are started before {end}"),
            None => format!("{job}: paused; no slots are started until it is resumed"),
        },
        (None, Pausing { changed: true, pause, .. }) => match end(pause.as_ref()) {
            Some(end) => format!("all jobs are paused; no slots are started before {end}"),
            None => "all jobs are paused; no slots are started until they are resumed".to_owned(),
        },
        (job, Pausing { pause, .. }) => {
            let by = pause.as_ref().map(author).unwrap_or_default();
            let until = end(pause.as_ref()).map(|end| format!(" until {end}")).unwrap_or_default();
            let job = job.unwrap_or("the group");
            format!("{job}: was paused already{until}{by}; nothing was changed")
        }
    }
}

/// After a request to resume a job, or the group.
pub fn resumed(job: Option<&str>, done: &Pausing) -> String {
    let Some(job) = job else {
        return match done.changed {
            true => "resumed, except for jobs that are paused individually".to_owned(),
            false => "the group was not paused; jobs that are paused individually stay paused".to_owned(),
        };
    };
    match (done.changed, &done.pause) {
        (true, None) => format!("{job}: resumed"),
        (false, None) => format!("{job}: was not paused; nothing was changed"),
        (changed, Some(pause)) => {
            let own = if changed { "its own pause has ended" } else { "it has no pause of its own" };
            let by = author(pause);
            format!("{job}: {own}, but the whole group is paused{by}; `resume --all` ends that")
        }
    }
}

/// When a pause ends by itself.
fn end(pause: Option<&PausedBy>) -> Option<String> {
    Some(format!("{:.0}", pause?.until?))
}

fn author(pause: &PausedBy) -> String {
    let why = pause.reason.as_deref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    let since = pause.since.map(|since| format!(" since {since:.0}")).unwrap_or_default();
    format!(", by {}{since}{why}", clean(&pause.by))
}

/// After a request to run a job.
pub fn triggered(requests: &[Requested]) -> String {
    let slot = |request: Option<&Requested>| request.and_then(Requested::slot);
    match (slot(requests.first()), slot(requests.last()), requests.len()) {
        (Some(slot), _, 1) => {
            format!("triggered for its slot {slot}; a scheduler of the group will run it once")
        }
        (Some(first), Some(last), count) => format!(
            "triggered for {count} slots, {first} to {last}; schedulers of the group will run one after the other"
        ),
        _ => "triggered; a scheduler of the group will run it once".to_owned(),
    }
}

/// After a request to stop a run, whose end was waited for.
pub fn stopped(told: &Stopping, waited: Duration) -> String {
    match told {
        Stopping::Ended(entry) => ending(entry.as_deref()),
        Stopping::Waiting { host, started } => {
            let host =
                host.as_ref().map_or_else(|| "its host".to_owned(), |host| format!("host {}", clean(host)));
            format!(
                "the run that began at {started:.0} has not ended within {}: {host} has not reacted, or the run takes longer \
                 to stop; the request stands",
                words(waited)
            )
        }
        _ => "no run is in progress".to_owned(),
    }
}

/// Whether the run was stopped, and has not ended in another way.
pub fn was_stopped(told: &Stopping) -> bool {
    matches!(told, Stopping::Ended(Some(entry)) if matches!(entry.ending, Ending::StoppedBy(_)))
}

/// How a run has ended.
fn ending(entry: Option<&Entry>) -> String {
    let Some(entry) = entry else {
        return "the run has ended, and is no longer in the history".to_owned();
    };
    let host = if entry.host.is_empty() { String::new() } else { format!(" on {}", clean(&entry.host)) };
    let took = words(entry.ended.since(entry.started));
    match &entry.ending {
        Ending::StoppedBy(_) => format!("stopped{host} after {took}"),
        other => {
            let how = clean(&other.to_string());
            format!("not stopped: the run has ended{host} after {took} in another way: {how}")
        }
    }
}

/// Said where no scheduler runs.
pub fn nobody() -> String {
    format!("no scheduler of this group runs, or none has said so for {}", words(Host::SILENCE))
}

/// Why a run of a job that is asked for is not started soon, if no scheduler is there to do it. A store that does not tell is not a
/// reason to fail: what was asked for is written.
pub async fn nobody_to_start(jobs: &Jobs, job: &str) -> Option<String> {
    let none = match jobs.hosts().await.ok()? {
        hosts if hosts.is_empty() => nobody(),
        _ => jobs.list().await.ok()?.iter().find(|one| one.name == job && one.orphaned).map(nobody_has)?,
    };
    Some(format!("{none}: it is done when one is started"))
}
