//! One-shot runs: a job once more, at a time of its own.

use crate::jobs::{checked, store_time};
use crate::log::about_arguments;
use crate::notes::{Added, Arguments, OneShotKey, one_shots, tell_one_shots};
use crate::{Error, Jobs, Result, UnixTime};
use std::collections::BTreeMap;
use std::time::Duration;

/// A run of a job at its own time, in addition to the slots of its trigger: "in five minutes, for this order".
///
/// It is kept in the store, so it does not depend on the process that has [added](Jobs::add) it: any replica that has
/// the job runs it, once. Like a slot, it is started at most once while the store keeps its data; the policies of the
/// job for crashes and retries apply. It is never too late: if no replica is there at its time, it runs as soon as one
/// is. While the job is paused or disabled, it waits.
///
/// ```
/// use cotter_scheduler::{Job, Jobs, OneShot, Run, Scheduler, Trigger};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = cotter::Client::connect("memory:").await?;
/// let close = Job::new("close-order", Trigger::on_demand(), |run: Run| async move {
///     println!("closing order {}", run.arguments()["order"]);
/// });
/// let stop = async {
///     # tokio::time::sleep(Duration::from_millis(50)).await;
///     let jobs = Jobs::new(&client, "orders");
///     let later = OneShot::after(Duration::from_secs(300)).argument("order", "17");
///     let id = jobs.add("close-order", later).await.unwrap();
///     assert!(jobs.cancel(&id).await.unwrap(), "it has not started");
/// };
/// Scheduler::new(&client, "orders").job(close).run_until(stop, Duration::from_secs(30)).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct OneShot {
    time: Time,
    id: Option<String>,
    arguments: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy)]
enum Time {
    After(Duration),
    At(UnixTime),
}

/// A one-shot run that is waiting for its time, or running.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The id.
    pub id: String,
    /// The job.
    pub job: String,
    /// Its time, by the store's clock.
    pub at: UnixTime,
    /// Whether a replica has taken it; it can no longer be cancelled.
    pub taken: bool,
    /// The operator that added it.
    pub added_by: String,
    /// Its arguments.
    pub arguments: BTreeMap<String, String>,
}

impl OneShot {
    /// The maximum length of an id, in bytes.
    pub const MAX_ID: usize = 100;

    /// Creates a run after this delay, by the store's clock.
    pub fn after(delay: Duration) -> Self {
        Self { time: Time::After(delay), id: None, arguments: Vec::new() }
    }

    /// Creates a run at this instant of the store's clock; as soon as possible if it has passed.
    pub fn at(instant: UnixTime) -> Self {
        Self { time: Time::At(instant), id: None, arguments: Vec::new() }
    }

    /// Sets the id, unique within the group. If a run with the same id is pending, adding another one changes nothing:
    /// an addition whose outcome is unknown can be repeated. Default: a random id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Adds an argument, for [`Run::arguments`](crate::Run::arguments). At most [`Jobs::MAX_ARGUMENTS`] bytes in total.
    #[must_use]
    pub fn argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.arguments.push((name.into(), value.into()));
        self
    }

    /// Checks it, and gives it an id and a number.
    fn entry(self, job: &str, by: &str, now: UnixTime) -> Result<Added> {
        let arguments: Arguments = checked(job, self.arguments)?;
        let number = rand::random();
        let id = self.id.unwrap_or_else(|| format!("{number:016x}"));
        if id.is_empty() || id.len() > Self::MAX_ID || id.contains(char::is_control) {
            let why = format!(
                "the id {id:?} is not allowed: write 1 to {} bytes without control characters",
                Self::MAX_ID
            );
            return Err(Error::job(job, why));
        }
        let at = match self.time {
            Time::After(delay) => now + delay,
            Time::At(instant) => instant,
        };
        // As with `Trigger::once_at`.
        if at < UnixTime::EPOCH || at >= UnixTime::from_seconds(4_102_444_800) {
            return Err(Error::job(job, "the time of the one-shot run is out of range: 1970 to 2099"));
        }
        let (job, by) = (job.to_owned(), by.to_owned());
        let key = OneShotKey { id, number };
        Ok(Added { key, job, at, by, taken: None, arguments, requested_at: None })
    }
}

impl Jobs {
    /// Adds a one-shot run of a job, and returns its id. Runs of one job never overlap: those that are due at the same
    /// time run one after the other, and before slots. A group can have some ten thousand of them
    /// pending with 100 bytes of arguments each, or some two thousand with 1 KiB.
    ///
    /// Cancel safety: if the call is dropped, or fails, the run may or may not have been added. With an
    /// [id](OneShot::id), it can be repeated.
    ///
    /// # Errors
    /// As [`trigger_with`](Self::trigger_with); [`ErrorKind::Job`](crate::ErrorKind::Job) also for a bad id, and if too
    /// many are pending.
    pub async fn add(&self, job: &str, one_shot: OneShot) -> Result<String> {
        self.known(job).await?;
        let now = store_time(&self.client).await?;
        let added = one_shot.entry(job, &self.by, now)?;
        let (shard, there) = one_shots::add(&self.client, &self.group, &added).await?;
        tell_one_shots(&self.client, &self.group, [shard]).await?;
        if there == added.key {
            let about = format!("{} at {:.0} {}", there.id, added.at, about_arguments(&added.arguments));
            self.has_asked(Some(job), "add-once", about.trim_end().to_owned()).await;
        }
        Ok(added.key.id)
    }

    /// Cancels a one-shot run. Returns false if there is no run with this id that has not started; if it returns true,
    /// the run never starts.
    ///
    /// Cancel safety: if the call is dropped, or fails, the run may or may not have been cancelled.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](crate::ErrorKind::Store), [`ErrorKind::NoNotes`](crate::ErrorKind::NoNotes);
    /// [`ErrorKind::ForeignNote`](crate::ErrorKind::ForeignNote) for a note that cannot be read.
    pub async fn cancel(&self, id: &str) -> Result<bool> {
        let (shard, cancelled) = one_shots::cancel(&self.client, &self.group, id).await?;
        if let Some(job) = &cancelled {
            tell_one_shots(&self.client, &self.group, [shard]).await?;
            self.has_asked(Some(job), "cancel", id.to_owned()).await;
        }
        Ok(cancelled.is_some())
    }

    /// Returns all one-shot runs that have not ended, ordered by time.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel).
    pub async fn pending(&self) -> Result<Vec<Pending>> {
        let mut all = one_shots::load(&self.client, &self.group).await?;
        all.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
        Ok(all.into_iter().map(Pending::from).collect())
    }
}

impl From<Added> for Pending {
    fn from(added: Added) -> Self {
        Self {
            id: added.key.id,
            job: added.job,
            at: added.at,
            taken: added.taken.is_some(),
            added_by: added.by,
            arguments: added.arguments,
        }
    }
}
