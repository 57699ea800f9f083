//! What is said about a request to pause or resume: also that it has changed nothing, and who has paused what.

use cotter_console::clean;
use cotter_scheduler::{PausedBy, Pausing};

/// After a request to pause a job, or the group.
pub(super) fn paused(job: Option<&str>, done: &Pausing) -> String {
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
pub(super) fn resumed(job: Option<&str>, done: &Pausing) -> String {
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

/// When it ends by itself.
fn end(pause: Option<&PausedBy>) -> Option<String> {
    Some(format!("{:.0}", pause?.until?))
}

fn author(pause: &PausedBy) -> String {
    let why = pause.reason.as_deref().map(|why| format!(": {}", clean(why))).unwrap_or_default();
    let since = pause.since.map(|since| format!(" since {since:.0}")).unwrap_or_default();
    format!(", by {}{since}{why}", clean(&pause.by))
}
