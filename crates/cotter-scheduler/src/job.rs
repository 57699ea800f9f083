//! A job, as it is described.

use crate::run::{Action, Outcome, Run, action};
use crate::{Busy, Error, Misfire, OnCrash, Result, Trigger};
use cotter::Lease;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// What runs, when, and what becomes of it when things go wrong.
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

/// The settings of a job; their defaults are those of [`Job`]'s methods.
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
    pub(crate) retries: u32,
    pub(crate) retry_delay: Duration,
    pub(crate) jitter: Duration,
    pub(crate) at_least: Duration,
    pub(crate) busy: Busy,
    pub(crate) generation: u64,
    pub(crate) enabled: bool,
    pub(crate) lease: Option<Lease>,
}

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
            retries: 0,
            retry_delay: Duration::from_secs(10),
            jitter: Duration::ZERO,
            at_least: Duration::ZERO,
            busy: Busy::default(),
            generation: 1,
            enabled: true,
            lease: None,
        }
    }
}

impl Job {
    /// How often one slot is started in all when its process dies each time, with [`OnCrash::Rerun`]: a job that kills
    /// its host must not kill all hosts.
    pub const MOST_CRASHES: u32 = 3;

    /// A job of this name. `work` is called for each run and answers with nothing, or with a `Result` whose error is
    /// written down.
    ///
    /// The future is dropped where it stands when the lock is lost, [`max_run`](Self::max_run) is over or the runner
    /// stops; [`Run::cancelled`] tells it before, [`stop_within`](Self::stop_within) ahead. A future that never yields
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

    /// Its name within the group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When it runs.
    pub fn trigger(&self) -> &Trigger {
        &self.trigger
    }

    /// No slot earlier than this after the first start ever, by the store's clock. Default: none.
    #[must_use]
    pub fn initial_delay(mut self, d: Duration) -> Self {
        self.policy.initial_delay = d;
        self
    }

    /// The longest that one run may take; then it is stopped and counts as failed. Default: no limit.
    #[must_use]
    pub fn max_run(mut self, d: Duration) -> Self {
        self.policy.max_run = Some(d);
        self
    }

    /// How long a run that is told to stop may take before its future is dropped; zero (the default) drops it at once.
    /// When the lease is about to end the run is told this long before its end, at most a third of the lease; a loss that
    /// comes without a warning (evicted, deleted) drops it at once.
    #[must_use]
    pub fn stop_within(mut self, grace: Duration) -> Self {
        self.policy.stop_within = grace;
        self
    }

    /// What becomes of slots that were missed. Default: [`Misfire::Skip`].
    #[must_use]
    pub fn misfire(mut self, misfire: Misfire) -> Self {
        self.policy.misfire = misfire;
        self
    }

    /// A slot that cannot be started within this time counts as missed. Default: 60 s.
    #[must_use]
    pub fn late_within(mut self, d: Duration) -> Self {
        self.policy.late_within = d;
        self
    }

    /// Missed slots older than this are forgotten whatever the policy. Default: 24 h.
    #[must_use]
    pub fn misfire_window(mut self, d: Duration) -> Self {
        self.policy.misfire_window = d;
        self
    }

    /// How many overdue slots of a fixed rate may wait; beyond that the oldest are merged into one, with an event.
    /// Default: 100.
    #[must_use]
    pub fn max_backlog(mut self, slots: u32) -> Self {
        self.policy.max_backlog = slots;
        self
    }

    /// What becomes of a run whose process died. Default: [`OnCrash::Skip`].
    #[must_use]
    pub fn on_crash(mut self, on_crash: OnCrash) -> Self {
        self.policy.on_crash = on_crash;
        self
    }

    /// How often a run that failed, panicked or took too long is repeated. Default: 0.
    #[must_use]
    pub fn retries(mut self, times: u32) -> Self {
        self.policy.retries = times;
        self
    }

    /// How long to wait before each repetition, with the lock and without a worker. Default: 10 s.
    #[must_use]
    pub fn retry_delay(mut self, d: Duration) -> Self {
        self.policy.retry_delay = d;
        self
    }

    /// Slots start later by up to this much, always the same for a job of this name, so that many jobs of one time do not
    /// start at once. Default: none.
    #[must_use]
    pub fn jitter(mut self, most: Duration) -> Self {
        self.policy.jitter = most;
        self
    }

    /// The lock is kept at least so long after a start. Default: none.
    #[must_use]
    pub fn at_least(mut self, d: Duration) -> Self {
        self.policy.at_least = d;
        self
    }

    /// What becomes of a slot whose lock somebody else holds. Default: [`Busy::Wait`].
    #[must_use]
    pub fn busy(mut self, busy: Busy) -> Self {
        self.policy.busy = busy;
        self
    }

    /// Raise it when the definition changes: where replicas disagree about a job, the largest generation wins, then the
    /// replica that was started last. The others stand by for this job. Default: 1.
    #[must_use]
    pub fn generation(mut self, generation: u64) -> Self {
        self.policy.generation = generation;
        self
    }

    /// Whether it runs at all; slots while it does not are not missed. Default: yes.
    #[must_use]
    pub fn enabled(mut self, yes: bool) -> Self {
        self.policy.enabled = yes;
        self
    }

    /// The lease of its lock. Default: the client's.
    #[must_use]
    pub fn lease(mut self, lease: Lease) -> Self {
        self.policy.lease = Some(lease);
        self
    }

    /// A renewed lease of this length.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        self.lease(Lease::renewed(ttl))
    }

    /// What else makes this job what it is, such as the command line of a job file: replicas that differ in it have two
    /// definitions of the job.
    #[must_use]
    pub fn definition(mut self, what: impl AsRef<[u8]>) -> Self {
        self.extra = what.as_ref().to_vec();
        self
    }

    /// The same on every replica that means the same job.
    pub(crate) fn hash(&self) -> String {
        let mut sha = Sha256::new();
        sha.update(format!("{} {:?} ", self.trigger, self.policy.settled()));
        sha.update(&self.extra);
        let mut hex = String::with_capacity(16);
        for byte in &sha.finalize()[..8] {
            write!(hex, "{byte:02x}").expect("a string takes it");
        }
        hex
    }

    /// The trigger as the note has it: a job that is not enabled has another one.
    pub(crate) fn trigger_text(&self) -> String {
        let off = if self.policy.enabled { "" } else { "(off) " };
        format!("{off}{}", self.trigger)
    }

    /// By how much the slots of this job start later.
    pub(crate) fn shift(&self, group: &str) -> Duration {
        let digest = Sha256::digest(format!("{group}/{}", self.name));
        let bits = u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"));
        self.policy.jitter.mul_f64(bits as f64 / u64::MAX as f64)
    }

    /// Refuses what cannot work, before any I/O.
    pub(crate) fn check(&self, group: &str) -> Result<()> {
        let (name, policy) = (&self.name, &self.policy);
        if name.is_empty() {
            return Err(Error::job(name, "a job needs a name"));
        }
        cotter::Name::new(format!("{group}/{name}")).map_err(|e| Error::job(name, e))?;
        if policy.max_run.is_some_and(|d| d.is_zero()) {
            return Err(Error::job(name, "max_run is zero; leave it out for no limit"));
        }
        if policy.max_backlog == 0 {
            return Err(Error::job(name, "max_backlog is zero; at least one slot has to be let through"));
        }
        Ok(())
    }
}

impl Policy {
    /// What two replicas must agree on; the generation decides who is right and is no part of it.
    fn settled(&self) -> impl fmt::Debug + use<> {
        Self { generation: 0, ..self.clone() }
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
