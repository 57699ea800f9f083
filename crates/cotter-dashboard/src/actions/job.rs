//! Pausing, resuming, running and stopping a job, as `cotter jobs` does.

use super::posted::Posted;
use super::{Confirm, Refusal, make, part};
use crate::server::{Shared, page, unnamed};
use axum::extract::{Query, State};
use axum::response::Response;
use cotter_console::duration::parse_positive;
use cotter_console::job::full_state;
use cotter_console::requests::{nobody_to_start, operator, paused, resumed, stopped, triggered};
use cotter_console::{chain, clean};
use cotter_scheduler::{JobStatus, Jobs, Stopping};
use serde::Deserialize;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

/// So long a page waits for the end of a run that it stops.
const STOPS_WITHIN: Duration = Duration::from_secs(2);

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    Pause,
    Resume,
    Run,
    Stop,
}

impl Action {
    /// Those that make sense for a job as it was last seen.
    pub(crate) fn of(job: &JobStatus) -> Vec<Self> {
        let runs = job.started.is_some() && job.ended.is_none();
        let pause = if job.paused { Self::Resume } else { Self::Pause };
        [pause, Self::Run].into_iter().chain(runs.then_some(Self::Stop)).collect()
    }

    /// As an address has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Run => "run",
            Self::Stop => "stop",
        }
    }

    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Pause => "Pause",
            Self::Resume => "Resume",
            Self::Run => "Run now",
            Self::Stop => "Stop the run",
        }
    }

    fn happens(self) -> &'static str {
        match self {
            Self::Pause => {
                "No more slots are started until it is resumed. A run in progress is not affected."
            }
            Self::Resume => "Slots are started again, from now on, unless the whole group is paused.",
            Self::Run => "A scheduler of the group runs it once, as soon as possible, even if it is paused.",
            Self::Stop => {
                "The run that is in progress is ended, on whichever host: its command gets TERM, and later KILL. It is not \
                 repeated; later slots are not affected."
            }
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Which {
    group: String,
    name: String,
    what: Action,
}

impl Which {
    fn query(&self) -> String {
        format!("group={}&name={}", part(&self.group), part(&self.name))
    }
}

pub(super) async fn confirm(State(shared): State<Arc<Shared>>, Query(which): Query<Which>) -> Response {
    let (Some(place), Some(actions)) = (shared.groups.place(&which.group).await, &shared.actions) else {
        return unnamed();
    };
    let groups = shared.groups.view().await;
    let job = groups[place].jobs.iter().find(|job| job.name == which.name);
    let state = job.map_or_else(|| "unknown".to_owned(), |job| full_state(job, groups[place].now));
    page(&Confirm {
        frame: shared.plain_frame(),
        title: format!("{}: {}?", clean(&which.name), which.what.words()),
        facts: vec![("Group", clean(&which.group)), ("State", state)],
        happens: which.what.happens(),
        action: format!("/job/change?{}&what={}", which.query(), which.what.word()),
        secret: actions.door.form().told().to_owned(),
        is_pause: which.what == Action::Pause,
        button: which.what.words(),
        back: format!("/job?{}", which.query()),
    })
}

pub(super) async fn change(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<Which>,
    posted: Posted,
) -> Response {
    let Some(place) = shared.groups.place(&which.group).await else { return unnamed() };
    // Whoever has the key of the dashboard is the one who has started it, as far as it knows.
    let author = format!("{} (cotter dashboard)", operator());
    let jobs = shared.groups.jobs(place).clone().by(author).reason(posted.reason.trim());
    let back = format!("/job?{}", which.query());
    let jobs = match posted.lasting.trim() {
        "" => jobs,
        time => match parse_positive(time) {
            Ok(time) => jobs.lasting(time),
            Err(why) => return Refusal::wrong(format!("{time}: {why}")).page(&shared, back),
        },
    };
    make(shared, back, async move { done(&jobs, &which.name, which.what).await }).await
}

/// Asks for it, and returns what `cotter jobs` says then.
async fn done(jobs: &Jobs, job: &str, what: Action) -> Result<String, Refusal> {
    match what {
        Action::Pause => jobs.pause(job).await.map(|done| paused(Some(job), &done)),
        Action::Resume => jobs.resume(job).await.map(|done| resumed(Some(job), &done)),
        Action::Run => match jobs.trigger(job).await {
            Ok(request) => {
                let none = nobody_to_start(jobs, job).await.map(|none| format!("; {none}"));
                Ok(format!("{job}: {}{}", triggered(slice::from_ref(&request)), none.unwrap_or_default()))
            }
            Err(error) => Err(error),
        },
        Action::Stop => match jobs.stop(job, STOPS_WITHIN).await {
            Ok(Stopping::NotRunning) => {
                return Err(Refusal::conflict(format!("{job}: no run is in progress")));
            }
            told => told.map(|told| format!("{job}: {}", stopped(&told, STOPS_WITHIN))),
        },
    }
    .map_err(refusal)
}

fn refusal(error: cotter_scheduler::Error) -> Refusal {
    match error.store() {
        None => Refusal::conflict(chain(&error)),
        Some(_) => Refusal::silence(chain(&error)),
    }
}
