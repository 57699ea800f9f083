//! Inspection and control of the jobs of a group.

use crate::host::Host;
use crate::log::about_pause;
use crate::notes::hosts::owned::OfAll;
use crate::notes::{
    Arguments, Control, GroupControl, JobControl, Pause, State, StopRun, edit_group, edit_job, history,
    hosts, load_control, one_shots, roster, standby, waits,
};
use crate::pausing::Pausing;
use crate::status::{JobStatus, no_worker_on, orphaned, stand_by, status, unlabelled, waits_for};
use crate::{Error, ErrorKind, Result, UnixTime};
use cotter::Client;
use std::time::Duration;

/// The jobs of a group: their status and history, and requests to the processes that run them.
///
/// Needs no scheduler in this process. Requests are written to a note of the group; its schedulers see them within a second or
/// so.
///
/// Cancel safety: a request that is dropped may or may not have been made.
#[derive(Debug, Clone)]
pub struct Jobs {
    pub(crate) client: Client,
    pub(crate) group: String,
    pub(crate) by: String,
    /// Whether that was said, and is not the process.
    pub(crate) is_named: bool,
    reason: String,
    lasting: Option<Duration>,
}

/// The maximum length of the names of operators and their reasons, in characters.
const MAX_TEXT: usize = 200;

pub(crate) fn short(text: String) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

impl Jobs {
    /// The maximum length of the arguments of a request, names and values together, in bytes.
    pub const MAX_ARGUMENTS: usize = 1024;
    /// The maximum number of pending requests with arguments, for each job.
    pub const MAX_REQUESTS: usize = 16;

    /// Returns the jobs of this group.
    pub fn new(client: &Client, group: impl Into<String>) -> Self {
        let by = format!("process {}", std::process::id());
        let (client, group) = (client.clone(), group.into());
        Self { client, group, by, is_named: false, reason: String::new(), lasting: None }
    }

    /// Sets the operator that is shown with requests, which are then [logged](Self::log). Default: the id of this process, and no log:
    /// what a program asks for as part of its work, such as [one-shot runs](Self::add), is no act of an operator.
    #[must_use]
    pub fn by(mut self, who: impl Into<String>) -> Self {
        self.by = short(who.into());
        self.is_named = true;
        self
    }

    /// Sets the reason that is shown with a pause. Default: none.
    #[must_use]
    pub fn reason(mut self, why: impl Into<String>) -> Self {
        self.reason = short(why.into());
        self
    }

    /// Sets how long a pause lasts, by the store's clock; it then ends as if the job had been [resumed](Self::resume) at that moment.
    /// Default: until somebody resumes.
    #[must_use]
    pub fn lasting(mut self, time: Duration) -> Self {
        self.lasting = Some(time);
        self
    }

    /// Lists all jobs that were ever started and not [forgotten](Self::forget), ordered by name, and those that a scheduler leaves to
    /// others with their [labels](crate::Job::on). The notes are requested a thousand at a time.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Store`], [`ErrorKind::NoNotes`]; [`ErrorKind::ForeignNote`] for a note that cannot be read.
    pub async fn list(&self) -> Result<Vec<JobStatus>> {
        Ok(self.list_with_hosts().await?.0)
    }

    /// The names of the jobs that no scheduler of the group [has](JobStatus::orphaned); `None` if no scheduler runs, for then nobody
    /// tells which jobs were removed. For the same reason, jobs on a [label](crate::Job::on) are left out while no scheduler with it runs.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn orphaned(&self) -> Result<Option<Vec<String>>> {
        let (jobs, hosts) = self.list_with_hosts().await?;
        let names = jobs.into_iter().filter(|job| job.orphaned && !job.unlabelled).map(|job| job.name);
        Ok((hosts > 0).then(|| names.collect()))
    }

    /// The status of all jobs, and how many schedulers it was compared with.
    async fn list_with_hosts(&self) -> Result<(Vec<JobStatus>, usize)> {
        let mut control = self.control().await?;
        let now = store_time(&self.client).await?;
        control.expire(now);
        let jobs = self.states_of_all().await?;
        let mut standby = standby::read(&self.client, &self.group, now).await?;
        let mut waits = waits::read(&self.client, &self.group, now).await?;
        // Later than the names: a scheduler says what it has before it adds a name.
        let marks = hosts::read(&self.client, &self.group, now).await?;
        let owned = OfAll::of(&marks);
        let successes =
            jobs.iter().filter_map(|(name, state)| Some((name.clone(), state.succeeded?))).collect();
        let found = jobs.into_iter().map(|(name, state)| {
            let hosts = standby.remove(&name).unwrap_or_default();
            let waiting = waits.remove(&name).unwrap_or_default();
            let unlabelled = unlabelled(&state, &marks);
            let status = JobStatus {
                orphaned: orphaned(&name, &state, &owned, unlabelled),
                standby: stand_by(hosts, &state),
                waits: waits_for(waiting, &state),
                ..status(name, &state, &control, &successes, now, unlabelled)
            };
            JobStatus { no_worker_on: no_worker_on(&status, &marks), ..status }
        });
        Ok((found.collect(), marks.len()))
    }

    /// Lists the schedulers of the group that run, ordered by host. Each of them says so when it starts, every two minutes, and when
    /// it ends: one that was killed is listed for up to five minutes.
    ///
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// [`ErrorKind::Store`], [`ErrorKind::NoNotes`].
    pub async fn hosts(&self) -> Result<Vec<Host>> {
        let now = store_time(&self.client).await?;
        let marks = hosts::read(&self.client, &self.group, now).await?;
        Ok(marks.into_iter().map(Host::from).collect())
    }

    /// The store's clock, or that of this host if the store has none: what all times of jobs are compared with.
    ///
    /// # Errors
    /// [`ErrorKind::Store`].
    pub async fn now(&self) -> Result<UnixTime> {
        store_time(&self.client).await
    }

    /// Pauses a job: no more slots are started until it is resumed. A run in progress is not affected, and slots that pass
    /// during the pause do not count as missed. A [triggered](Self::trigger) job runs even if it is paused. It ends by itself if it is to
    /// [last](Self::lasting) some time. If the job is paused already, the pause that ends later counts.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownJob`], [`ErrorKind::Store`], [`ErrorKind::NoNotes`].
    pub async fn pause(&self, job: &str) -> Result<Pausing> {
        let pause = |control: &mut JobControl, now, _: &State| {
            let changed = control.pause(self.pause_of(now));
            Ok((changed, control.pause.clone()))
        };
        let ((changed, own), group) = self.ask(job, pause).await?;
        if changed {
            self.has_asked(Some(job), "pause", about_pause(own.as_ref())).await;
        }
        Ok(Pausing::new(changed, own, group))
    }

    /// Resumes a job: slots from now on are run, unless the group is paused as well.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub async fn resume(&self, job: &str) -> Result<Pausing> {
        let resume = |control: &mut JobControl, now, _: &State| Ok(control.resume(now));
        let (changed, group) = self.ask(job, resume).await?;
        if changed {
            self.has_asked(Some(job), "resume", String::new()).await;
        }
        Ok(Pausing::new(changed, None, group))
    }

    /// Pauses the whole group: no more slots of any job are started until it is resumed, including jobs that are added
    /// later. Jobs that are paused individually stay paused when the group is resumed. Otherwise as [`pause`](Self::pause).
    ///
    /// # Errors
    /// [`ErrorKind::Store`], [`ErrorKind::NoNotes`].
    pub async fn pause_all(&self) -> Result<Pausing> {
        let now = store_time(&self.client).await?;
        let pause = |all: &mut GroupControl| {
            all.expire(now);
            (all.pause(self.pause_of(now)), all.pause.clone())
        };
        let (changed, group) = edit_group(&self.client, &self.group, pause).await?;
        if changed {
            self.has_asked(None, "pause", about_pause(group.as_ref())).await;
        }
        Ok(Pausing::new(changed, None, group))
    }

    /// Resumes the whole group: slots from now on are run.
    ///
    /// # Errors
    /// As [`pause_all`](Self::pause_all).
    pub async fn resume_all(&self) -> Result<Pausing> {
        let now = store_time(&self.client).await?;
        let resume = |all: &mut GroupControl| {
            all.expire(now);
            all.resume(&self.by, now)
        };
        let changed = edit_group(&self.client, &self.group, resume).await?;
        if changed {
            self.has_asked(None, "resume", String::new()).await;
        }
        Ok(Pausing::new(changed, None, None))
    }

    /// Forgets a job that was removed: it is no longer listed, and its state, its history, the requests to it and its
    /// pending one-shot runs are gone. A scheduler that still has the job starts it anew.
    ///
    /// # Errors
    /// As [`pause`](Self::pause); [`ErrorKind::Job`] if the job is running.
    pub async fn forget(&self, job: &str) -> Result<()> {
        self.known(job).await?;
        let lock = self.lock_name(job);
        let guard = self.client.mutex(&lock).try_lock().await?;
        let guard = guard.ok_or_else(|| {
            Error::job(job, "it is running, or its lock is held by somebody else; try again later").passing()
        })?;
        let keys = history::all_keys();
        let places = keys.iter().map(|key| (lock.clone(), key.clone())).collect::<Vec<_>>();
        let notes = self.client.notes_at(places).await?;
        for (key, _) in keys.iter().zip(notes).filter(|(_, note)| note.is_some()) {
            guard.put_note_at(key, "").await?;
        }
        edit_job(&self.client, &self.group, job, |_| Ok((None, ()))).await?;
        one_shots::forget(&self.client, &self.group, job).await?;
        standby::forget(&self.client, &self.group, job).await?;
        waits::forget(&self.client, &self.group, job).await?;
        roster::remove(&self.client, &self.group, job).await?;
        guard.put_note("").await?;
        guard.finish().await?;
        self.has_asked(Some(job), "forget", String::new()).await;
        Ok(())
    }

    fn pause_of(&self, now: UnixTime) -> Pause {
        let until = self.lasting.map(|time| now + time);
        Pause { by: self.by.clone(), reason: self.reason.clone(), since: Some(now), until }
    }

    /// Changes the requests to a job, which is given with the store's time and its state. Returns what the change has found, and the
    /// pause of the group.
    pub(crate) async fn ask<T>(
        &self,
        job: &str,
        edit: impl Fn(&mut JobControl, UnixTime, &State) -> Result<T>,
    ) -> Result<(T, Option<Pause>)> {
        let state = self.known(job).await?;
        let now = store_time(&self.client).await?;
        let change = |mut asked: JobControl| {
            asked.expire(now);
            let is_over = |stop: &StopRun| state.run.as_ref().is_none_or(|run| run.token != stop.token);
            asked.stop.take_if(|stop| is_over(stop));
            let found = edit(&mut asked, now, &state)?;
            asked.by.clone_from(&self.by);
            Ok((Some(asked), found))
        };
        let (found, group) = edit_job(&self.client, &self.group, job, change).await?;
        Ok((found, group.filter(|pause| !pause.is_over(now))))
    }

    async fn control(&self) -> Result<Control> {
        load_control(&self.client, &self.group).await?.parse(&Control::default())
    }

    async fn state(&self, job: &str) -> Result<Option<State>> {
        // It would be a job of another group.
        if job.contains('/') {
            return Ok(None);
        }
        let note = self.client.note(self.lock_name(job)).await?;
        note.map_or(Ok(None), |n| State::parse(job, &n.bytes))
    }

    /// What is known of these jobs.
    pub(crate) async fn states(&self, jobs: &[String]) -> Result<Vec<Option<State>>> {
        let places = jobs.iter().map(|job| (self.lock_name(job), String::new())).collect::<Vec<_>>();
        let notes = self.client.notes_at(places).await?;
        // As above.
        let own = jobs.iter().zip(notes).map(|(job, note)| (job, note.filter(|_| !job.contains('/'))));
        own.map(|(job, note)| note.map_or(Ok(None), |note| State::parse(job, &note.bytes))).collect()
    }

    /// The jobs of the group that have been started, ordered by name, with what is known of them.
    pub(crate) async fn states_of_all(&self) -> Result<Vec<(String, State)>> {
        let names: Vec<_> = roster::read(&self.client, &self.group).await?.into_iter().collect();
        let states = self.states(&names).await?;
        Ok(names.into_iter().zip(states).filter_map(|(name, state)| Some((name, state?))).collect())
    }

    pub(crate) async fn known(&self, job: &str) -> Result<State> {
        match self.state(job).await? {
            Some(state) => Ok(state),
            None => Err(self.unknown(job).await),
        }
    }

    /// The error about a job that is not known. One that runs on each host is known by other names.
    pub(crate) async fn unknown(&self, job: &str) -> Error {
        let (group, on_host) = (&self.group, format!("{job}@"));
        let names = roster::read(&self.client, group).await.unwrap_or_default();
        let on_hosts: Vec<_> = names.into_iter().filter(|name| name.starts_with(&on_host)).collect();
        let why = match &on_hosts[..] {
            [] => format!(
                "group {group:?} has no job {job:?}; only jobs that have already been started are known"
            ),
            [first, others @ ..] => {
                let more =
                    if others.is_empty() { String::new() } else { format!(" or {} more", others.len()) };
                format!("group {group:?} has {job:?} for each host by itself: name {first:?}{more}")
            }
        };
        Error::new(ErrorKind::UnknownJob, why)
    }

    pub(crate) fn lock_name(&self, job: &str) -> String {
        format!("{}/{job}", self.group)
    }
}

/// Rejects arguments that no run could be given.
pub(crate) fn checked(job: &str, arguments: impl IntoIterator<Item = (String, String)>) -> Result<Arguments> {
    let mut all = Arguments::new();
    for (name, value) in arguments {
        if name.is_empty() {
            return Err(Error::job(job, "an argument has no name"));
        }
        if let Some((name, _)) = all.insert(name.clone(), value).map(|old| (name, old)) {
            return Err(Error::job(job, format!("the argument {name:?} occurs twice")));
        }
    }
    let bytes: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > Jobs::MAX_ARGUMENTS {
        let why = format!("arguments of {bytes} bytes are too long; the maximum is {}", Jobs::MAX_ARGUMENTS);
        return Err(Error::job(job, why));
    }
    Ok(all)
}

/// The store's clock, or this host's if it has none.
pub(crate) async fn store_time(client: &Client) -> Result<UnixTime> {
    let time = client.time().await?;
    Ok(time.unwrap_or_else(|| client.clock().wall()).into())
}
