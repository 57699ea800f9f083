//! The definition of a job.

use crate::definition::{Settings, WORK, unusual};
use crate::run::{Action, Outcome, Run, action};
use crate::trigger::Kind;
use crate::{Busy, Concurrency, Error, Label, Misfire, OnCrash, OnStop, Result, Trigger, hash};
use cotter::Lease;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tracing::Span;

/// A job: its work, its trigger, and its policies for missed slots, failures and crashes.
///
/// ```
/// # use cotter_scheduler::{Job, Misfire, Run, Trigger};
/// # use std::time::Duration;
/// let job = Job::new("clear-orders", Trigger::cron("0/10 * * ? * *")?, |run: Run| async move {
///     run.check()?;
///     Ok::<(), cotter::Lost>(())
/// })
/// .misfire(Misfire::Once)
/// .max_run(Duration::from_secs(600));
/// # drop(job); Ok::<(), cotter_scheduler::Error>(())
/// ```
#[derive(Clone)]
pub struct Job {
    pub(crate) name: Arc<str>,
    pub(crate) trigger: Trigger,
    pub(crate) policy: Policy,
    pub(crate) action: Action,
    extra: Vec<u8>,
}

/// The settings of a job; the defaults are documented at [`Job`]'s methods.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub(crate) initial_delay: Duration,
    pub(crate) max_run: Option<Duration>,
    pub(crate) stop_within: Duration,
    pub(crate) misfire: Misfire,
    pub(crate) late_within: Duration,
    pub(crate) misfire_window: Duration,
    pub(crate) max_backlog: u32,
    pub(crate) on_crash: OnCrash,
    /// As after a crash, if it is not set.
    pub(crate) on_stop: Option<OnStop>,
    /// That of the scheduler, if it is not set.
    pub(crate) grace: Option<Duration>,
    pub(crate) retries: u32,
    pub(crate) retry_delay: Duration,
    pub(crate) max_retry_delay: Option<Duration>,
    pub(crate) jitter: Duration,
    pub(crate) at_least: Duration,
    pub(crate) busy: Busy,
    pub(crate) generation: u64,
    pub(crate) enabled: bool,
    pub(crate) lease: Option<Lease>,
    pub(crate) concurrency: Concurrency,
    pub(crate) lock: Option<Arc<str>>,
    pub(crate) limit: Option<(Arc<str>, u32)>,
    /// The jobs that it follows.
    pub(crate) after: BTreeSet<Arc<str>>,
    /// The labels that a scheduler needs to run it.
    pub(crate) on: BTreeSet<Label>,
    /// Only of this process, and not part of the definition.
    pub(crate) priority: i32,
}

/// What precedes the trigger of a disabled job in its note.
pub(crate) const DISABLED: &str = "(off) ";

impl Default for Policy {
    fn default() -> Self {
        Self {
            initial_delay: Duration::ZERO,
            max_run: None,
            stop_within: Duration::ZERO,
            misfire: Misfire::default(),
            late_within: Duration::from_secs(60),
            misfire_window: Duration::from_secs(24 * 3600),
            max_backlog: 100,
            on_crash: OnCrash::default(),
            on_stop: None,
            grace: None,
            retries: 0,
            retry_delay: Duration::from_secs(10),
            max_retry_delay: None,
            jitter: Duration::ZERO,
            at_least: Duration::ZERO,
            busy: Busy::default(),
            generation: 1,
            enabled: true,
            lease: None,
            concurrency: Concurrency::default(),
            lock: None,
            limit: None,
            after: BTreeSet::new(),
            on: BTreeSet::new(),
            priority: 0,
        }
    }
}

impl Policy {
    /// Whether a run that was stopped with its scheduler is run again.
    pub(crate) fn reruns_stopped(&self) -> bool {
        self.on_stop.unwrap_or(self.on_crash.into()) == OnStop::Rerun
    }

    /// The pause before a repetition, after this many earlier ones.
    pub(crate) fn retry_pause(&self, retried: u32) -> Duration {
        match self.max_retry_delay {
            None => self.retry_delay,
            Some(max) => self.retry_delay.saturating_mul(2_u32.saturating_pow(retried)).min(max),
        }
    }
}

impl Job {
    /// How many times a slot is started in total if its process dies every time, with [`OnCrash::Rerun`]: a job that
    /// kills its host must not kill all hosts.
    pub const MAX_CRASHES: u32 = 3;

    /// Creates a job. `work` is called for each run and returns nothing, or a `Result` whose error is recorded.
    ///
    /// The future is dropped at its current await point when the lock is lost, [`max_run`](Self::max_run) has passed or the
    /// scheduler stops; [`Run::cancelled`] completes [`stop_within`](Self::stop_within) earlier. A future that never yields
    /// cannot be stopped: its lock is kept until it does.
    pub fn new<W, F>(name: impl AsRef<str>, trigger: Trigger, work: W) -> Self
    where
        W: Fn(Run) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        F::Output: Outcome,
    {
        let name = name.as_ref().into();
        Self { name, trigger, policy: Policy::default(), action: action(work), extra: Vec::new() }
    }

    /// Creates a job whose work blocks its thread; it gets one of tokio's threads for that. Such work cannot be
    /// dropped: a run that has to stop but continues keeps its lock until it is over. Check [`Run::must_stop`] from
    /// time to time.
    pub fn blocking<W, O>(name: impl AsRef<str>, trigger: Trigger, work: W) -> Self
    where
        W: Fn(Run) -> O + Send + Sync + 'static,
        O: Outcome,
    {
        let work = Arc::new(work);
        Self::new(name, trigger, move |run| {
            let work = work.clone();
            async move {
                let span = Span::current();
                let work = move || span.in_scope(|| work(run).outcome());
                match tokio::task::spawn_blocking(work).await {
                    Ok(outcome) => outcome,
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(error) => Err(error.to_string()),
                }
            }
        })
    }

    /// Returns the name within the group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the trigger.
    pub fn trigger(&self) -> &Trigger {
        &self.trigger
    }

    /// Sets the delay of the first slot after the first start ever, by the store's clock. Default: none.
    #[must_use]
    pub fn initial_delay(mut self, d: Duration) -> Self {
        self.policy.initial_delay = d;
        self
    }

    /// Sets the maximum duration of a run; after that it is stopped and counts as failed. Default: no limit.
    #[must_use]
    pub fn max_run(mut self, d: Duration) -> Self {
        self.policy.max_run = Some(d);
        self
    }

    /// Sets how long a run may take to stop before its future is dropped; zero (the default) drops it at once. If the
    /// lease is about to end, the run is notified this long before, but at most a third of the lease; a loss without a
    /// warning (evicted, deleted) drops it at once.
    #[must_use]
    pub fn stop_within(mut self, grace: Duration) -> Self {
        self.policy.stop_within = grace;
        self
    }

    /// Sets the policy for missed slots. Default: [`Misfire::Skip`].
    #[must_use]
    pub fn misfire(mut self, misfire: Misfire) -> Self {
        self.policy.misfire = misfire;
        self
    }

    /// Sets how late a slot may be started; a later one counts as missed. Default: 60 s.
    #[must_use]
    pub fn late_within(mut self, d: Duration) -> Self {
        self.policy.late_within = d;
        self
    }

    /// Sets the age beyond which missed slots are not run any more, whatever the policy. Default: 24 h.
    #[must_use]
    pub fn misfire_window(mut self, d: Duration) -> Self {
        self.policy.misfire_window = d;
        self
    }

    /// Sets the maximum number of overdue slots of a fixed rate; beyond that, the oldest are merged into one, with an
    /// event. Default: 100.
    #[must_use]
    pub fn max_backlog(mut self, slots: u32) -> Self {
        self.policy.max_backlog = slots;
        self
    }

    /// Sets the policy for a run whose process died. Default: [`OnCrash::Skip`].
    #[must_use]
    pub fn on_crash(mut self, on_crash: OnCrash) -> Self {
        self.policy.on_crash = on_crash;
        self
    }

    /// Sets the policy for a run that is stopped with its scheduler, as in a deploy. Default: as for a crash.
    #[must_use]
    pub fn on_stop(mut self, on_stop: OnStop) -> Self {
        self.policy.on_stop = Some(on_stop);
        self
    }

    /// Sets how long a run may go on when its scheduler is stopped, before it has to stop. Default: what
    /// [`Scheduler::run_until`](crate::Scheduler::run_until) is given.
    #[must_use]
    pub fn grace(mut self, d: Duration) -> Self {
        self.policy.grace = Some(d);
        self
    }

    /// Sets how often a run that failed, panicked or timed out is retried. Default: 0.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.policy.retries = times;
        self
    }

    /// Sets the pause before each retry, during which the lock is held but no worker. Default: 10 s.
    #[must_use]
    pub fn retry_delay(mut self, d: Duration) -> Self {
        self.policy.retry_delay = d;
        self
    }

    /// Makes each pause before a retry twice as long as the one before it, up to this maximum. Default: all are as
    /// long as [`retry_delay`](Self::retry_delay).
    #[must_use]
    pub fn max_retry_delay(mut self, d: Duration) -> Self {
        self.policy.max_retry_delay = Some(d);
        self
    }

    /// Sets the maximum delay of starts. The delay is always the same for a job of this name; it spreads out jobs with
    /// the same slots. Default: none.
    #[must_use]
    pub fn jitter(mut self, max: Duration) -> Self {
        self.policy.jitter = max;
        self
    }

    /// Sets how long the lock is held after a start, at least. Default: none.
    #[must_use]
    pub fn at_least(mut self, d: Duration) -> Self {
        self.policy.at_least = d;
        self
    }

    /// Sets the policy for a slot whose lock has another holder. Default: [`Busy::Wait`].
    #[must_use]
    pub fn busy(mut self, busy: Busy) -> Self {
        self.policy.busy = busy;
        self
    }

    /// Sets the policy for a slot that comes while the job is running. Default: [`Concurrency::Forbid`].
    #[must_use]
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.policy.concurrency = concurrency;
        self
    }

    /// Sets a lock that each run needs besides that of the job: jobs with the same one, of any group, and all others
    /// that take it, never run at the same time. A run waits for it while holding the lock of its job but no worker,
    /// and is stopped when it is lost. Default: none.
    #[must_use]
    pub fn lock(mut self, name: impl AsRef<str>) -> Self {
        self.policy.lock = Some(name.as_ref().into());
        self
    }

    /// Sets a semaphore of which each run needs one permit besides the lock of the job: of all jobs with the same
    /// semaphore, at most `of` run at the same time, across all hosts. Jobs that disagree about `of` cannot run. A run
    /// waits for the permit as for [`lock`](Self::lock). Default: none.
    #[must_use]
    pub fn limit(mut self, name: impl AsRef<str>, of: u32) -> Self {
        self.policy.limit = Some((name.as_ref().into(), of));
        self
    }

    /// Makes the job follow this one of its group; if it is set several times, all of them. It runs once each of them has succeeded since
    /// its last such run, or since it was first started: once, however often they have succeeded meanwhile. That is kept in the store:
    /// it is never too late, and waits while the job is paused. The trigger has to be [`Trigger::on_demand`]. Default: none.
    #[must_use]
    pub fn after(mut self, job: impl AsRef<str>) -> Self {
        self.policy.after.insert(job.as_ref().into());
        self
    }

    /// Restricts the job to schedulers that have this [label](crate::Scheduler::label); if it is set several times, to those that
    /// have all of the labels. Each also has [that of its host](Label::of_host). The others leave the job alone, and do not count as having it. Default: every scheduler.
    #[must_use]
    pub fn on(mut self, label: Label) -> Self {
        self.policy.on.insert(label);
        self
    }

    /// Sets the priority for a free worker of this process: it goes to the job with the highest priority among those
    /// that wait, and among equals to the one that has waited longest. Jobs with a low priority may wait forever.
    /// Default: 0.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.policy.priority = priority;
        self
    }

    /// Sets the generation of the definition; raise it when the definition changes. If replicas disagree about a job,
    /// the largest generation is in effect, and among equals the replica that was started last. The others stand by for
    /// this job, for as long as a replica runs that definition: it lapses two minutes after a run was due that nobody has
    /// started, unless the job is paused or disabled. Default: 1.
    #[must_use]
    pub fn generation(mut self, generation: u64) -> Self {
        self.policy.generation = generation;
        self
    }

    /// Sets whether the job runs at all; slots that pass while it is disabled do not count as missed. Default: yes.
    #[must_use]
    pub fn enabled(mut self, yes: bool) -> Self {
        self.policy.enabled = yes;
        self
    }

    /// Sets the lease of the job's lock. Default: the client's.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.policy.lease = Some(lease);
        self
    }

    /// Sets a renewed lease of this length.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.lease(Lease::renewed(ttl))
    }

    /// Adds further data to the definition, such as the command line in a job file: replicas that differ in it have two
    /// definitions of the job.
    #[must_use]
    pub fn definition(mut self, what: impl AsRef<[u8]>) -> Self {
        self.extra = what.as_ref().to_vec();
        self
    }

    /// A hash of the definition, equal on all replicas with the same definition.
    pub(crate) fn hash(&self) -> String {
        hash::hash(&self.trigger, &self.policy, &self.extra)
    }

    /// The settings that are not the default ones, and a fingerprint of the work.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = unusual(&self.policy);
        if !self.extra.is_empty() {
            settings.insert(WORK.to_owned(), hash::hex(&Sha256::digest(&self.extra)[..4]));
        }
        settings
    }

    /// The trigger as written in the note; marked if the job is disabled.
    pub(crate) fn trigger_text(&self) -> String {
        let off = if self.policy.enabled { "" } else { DISABLED };
        format!("{off}{}", self.trigger)
    }

    /// The jitter of this job.
    pub(crate) fn shift(&self, group: &str) -> Duration {
        let digest = Sha256::digest(format!("{group}/{}", self.name));
        let bits = u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"));
        self.policy.jitter.mul_f64(bits as f64 / u64::MAX as f64)
    }

    /// Checks the job, as one of this group, without any I/O. A scheduler does so when it starts.
    ///
    /// # Errors
    /// [`ErrorKind::Job`](crate::ErrorKind::Job) for names that cannot be locked, and for settings that contradict each other: the
    /// first of [`mistakes`](Self::mistakes).
    pub fn check(&self, group: &str) -> Result<()> {
        self.mistakes(group).into_iter().next().map_or(Ok(()), Err)
    }

    /// Returns everything for which [`check`](Self::check) refuses the job, so that a file is mended at once. Empty if there is
    /// nothing.
    pub fn mistakes(&self, group: &str) -> Vec<Error> {
        let policy = &self.policy;
        let mut found: Vec<String> = self.mistake_in_name(group).into_iter().collect();
        // What the store requires beyond that is known at the first run only.
        let settings = [
            (
                policy.lease.is_some_and(|lease| lease.ttl().is_zero()),
                "the lease is zero; leave it out to use that of the client",
            ),
            (policy.max_run.is_some_and(|d| d.is_zero()), "max_run is zero; leave it out for no limit"),
            (policy.max_backlog == 0, "max_backlog is zero; set it to 1 or more"),
            (policy.on.len() > Label::MAX, "it needs more than 16 labels; give these hosts one in common"),
            (
                policy.max_retry_delay.is_some_and(|max| max < policy.retry_delay),
                "max_retry_delay is shorter than retry_delay",
            ),
        ];
        found.extend(settings.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why.to_owned()));
        found.extend(self.mistakes_in_gates(group));
        found.extend(self.mistake_in_after());
        found.into_iter().map(|why| Error::job(&self.name, why)).collect()
    }

    fn mistake_in_name(&self, group: &str) -> Option<String> {
        let name = &self.name;
        if name.is_empty() {
            return Some("a job needs a name".to_owned());
        }
        if name.contains('/') {
            let why = "the name contains '/', which separates it from the group in the name of the lock; use '-' or '.'";
            return Some(why.to_owned());
        }
        cotter::Name::new(format!("{group}/{name}")).err().map(|e| e.to_string())
    }

    fn mistake_in_after(&self) -> Option<String> {
        let after = &self.policy.after;
        if let Some(name) = after.iter().find(|name| name.is_empty() || name.contains('/')) {
            return Some(format!(
                "it is to run after {name:?}, which cannot be the name of a job of its group"
            ));
        }
        if after.contains(&self.name) {
            return Some("it cannot run after itself".to_owned());
        }
        let has_slots = !after.is_empty() && !matches!(self.trigger.0, Kind::Demand);
        has_slots.then(|| {
            "a job that runs after others cannot have slots of its own: make it on demand".to_owned()
        })
    }

    /// Names that could not be locked, or that other jobs lock in another order.
    fn mistakes_in_gates(&self, group: &str) -> Vec<String> {
        let policy = &self.policy;
        let limit = policy.limit.as_ref().map(|(limit, _)| limit);
        let mut found = Vec::new();
        for gate in policy.lock.iter().chain(limit) {
            found.extend(cotter::Name::new(gate).err().map(|e| e.to_string()));
            if gate.strip_prefix(group).is_some_and(|rest| rest.starts_with('/')) {
                found.push(format!(
                    "{gate:?} cannot be shared: names that begin with {group:?} and '/' are reserved for the jobs"
                ));
            }
        }
        if policy.lock.is_some() && policy.lock.as_ref() == limit {
            found.push("the lock and the limit have the same name; use different names".to_owned());
        }
        if policy.limit.as_ref().is_some_and(|(_, of)| *of == 0) {
            found.push("the limit is zero; set it to 1 or more".to_owned());
        }
        found
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("name", &self.name)
            .field("trigger", &self.trigger)
            .finish_non_exhaustive()
    }
}
