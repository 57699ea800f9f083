//! Inspection and control of the jobs of a group.

use crate::notes::{CONTROL, Control, Entry, HISTORY, History, JobControl, State, roster};
use crate::{Ending, Error, ErrorKind, Result, Trigger, UnixTime};
use cotter::Client;

/// The jobs of a group: their status and history, and requests to the processes that run them.
///
/// Needs no scheduler in this process. Requests are written to a note of the group; its runners see them within a second or
/// so.
///
/// Cancel safety: a request that is dropped may or may not have been made.
#[derive(Debug, Clone)]
pub struct Jobs {
    client: Client,
    group: String,
    by: String,
}

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
    /// The operator who paused it.
    pub paused_by: Option<String>,
    /// The operator of the last request to pause, resume or trigger it.
    pub asked_by: Option<String>,
    /// The number of pending requests to run it.
    pub requests: u64,
    /// The latest slot that is settled.
    pub last_slot: Option<UnixTime>,
    /// The next slot of a cron expression or [`once_at`](crate::Trigger::once_at), by the store's clock and without jitter;
    /// `None` for other triggers, and while the job is paused or disabled.
    pub next_slot: Option<UnixTime>,
    /// The fencing token of the last run.
    pub token: Option<u64>,
    /// When the last run started.
    pub started: Option<UnixTime>,
    /// When the last run ended; `None` while it is in progress, or if it crashed and this was not noticed yet.
    pub ended: Option<UnixTime>,
    /// How the last run ended.
    pub ending: Option<Ending>,
}

/// How often a request is retried when other requests are written at the same time.
const MAX_ATTEMPTS: usize = 100;

impl Jobs {
    /// The jobs of this group.
    pub fn new(client: &Client, group: impl Into<String>) -> Self {
        let by = format!("process {}", std::process::id());
        Self { client: client.clone(), group: group.into(), by }
    }

    /// The operator that is shown with requests. Default: the id of this process.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = who.into();
        self
    }

    /// All jobs that were ever started, by name.
    ///
    /// # Errors
    /// [`ErrorKind::Store`], [`ErrorKind::NoNotes`]; [`ErrorKind::ForeignNote`] for a note that cannot be read.
    pub async fn list(&self) -> Result<Vec<JobStatus>> {
        let control = self.control().await?.1;
        let now = store_time(&self.client).await?;
        let mut found = Vec::new();
        for name in roster::read(&self.client, &self.group).await? {
            if let Some(state) = self.state(&name).await? {
                found.push(status(name, &state, &control, now));
            }
        }
        Ok(found)
    }

    /// Pauses a job: no more slots are started until it is resumed. A run in progress is not affected, and slots that pass
    /// during the pause do not count as missed. A [triggered](Self::trigger) job runs even if it is paused.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownJob`], [`ErrorKind::Store`], [`ErrorKind::NoNotes`].
    pub async fn pause(&self, job: &str) -> Result<()> {
        self.ask(job, |control, _| control.pause(&self.by)).await
    }

    /// Resumes a job: slots from now on are run.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn resume(&self, job: &str) -> Result<()> {
        self.ask(job, JobControl::resume).await
    }

    /// Requests one run as soon as possible, even of a paused job, but not of a disabled one. Several requests during a run count
    /// as one.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn trigger(&self, job: &str) -> Result<()> {
        self.ask(job, |control, _| control.requests += 1).await
    }

    /// The last runs of a job, oldest first.
    ///
    /// # Errors
    /// As [`pause`](Self::pause); [`ErrorKind::ForeignNote`] for a note that cannot be read.
    pub async fn history(&self, job: &str) -> Result<Vec<Entry>> {
        self.known(job).await?;
        let note = self.client.note_at(self.lock_name(job), HISTORY).await?;
        History::new(note.map(|n| n.bytes).unwrap_or_default()).entries()
    }

    async fn ask(&self, job: &str, edit: impl Fn(&mut JobControl, UnixTime)) -> Result<()> {
        self.known(job).await?;
        let now = store_time(&self.client).await?;
        for _ in 0..MAX_ATTEMPTS {
            let (revision, mut control) = self.control().await?;
            let asked = control.edit(job);
            edit(asked, now);
            asked.by.clone_from(&self.by);
            if self.client.swap_note(&self.group, CONTROL, revision, control.bytes()).await?.is_some() {
                return Ok(());
            }
        }
        let why = format!("the requests for group {:?} are being changed by others; try again", self.group);
        Err(Error::new(ErrorKind::Store, why))
    }

    async fn control(&self) -> Result<(u64, Control)> {
        match self.client.note_at(&self.group, CONTROL).await? {
            Some(note) => Ok((note.revision, Control::parse(&note.bytes)?)),
            None => Ok((0, Control::default())),
        }
    }

    async fn state(&self, job: &str) -> Result<Option<State>> {
        // It would be a job of another group.
        if job.contains('/') {
            return Ok(None);
        }
        let note = self.client.note(self.lock_name(job)).await?;
        note.map(|n| State::parse(&n.bytes)).transpose()
    }

    async fn known(&self, job: &str) -> Result<State> {
        self.state(job).await?.ok_or_else(|| {
            let why = format!(
                "group {:?} has no job {job:?}; only jobs that were ever started are known",
                self.group
            );
            Error::new(ErrorKind::UnknownJob, why)
        })
    }

    fn lock_name(&self, job: &str) -> String {
        format!("{}/{job}", self.group)
    }
}

/// The store's clock, or this host's if it has none.
async fn store_time(client: &Client) -> Result<UnixTime> {
    let time = client.time().await?;
    Ok(time.unwrap_or_else(|| client.clock().wall()).into())
}

fn status(name: String, state: &State, control: &Control, now: UnixTime) -> JobStatus {
    let asked = control.of(&name);
    let trigger = Trigger::parse(&state.trigger).filter(|_| !asked.paused);
    let run = state.run.as_ref();
    JobStatus {
        name,
        trigger: state.trigger.clone(),
        generation: state.generation,
        paused: asked.paused,
        paused_by: asked.paused_by().map(str::to_owned),
        asked_by: (!asked.by.is_empty()).then_some(asked.by),
        requests: asked.requests.saturating_sub(state.handled),
        last_slot: state.last,
        next_slot: trigger
            .and_then(|trigger| trigger.next_after(state.last.map_or(now, |last| last.max(now)))),
        token: run.map(|run| run.token),
        started: run.map(|run| run.started),
        ended: run.and_then(|run| run.ended),
        ending: run.and_then(|run| run.ending()),
    }
}
