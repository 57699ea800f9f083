//! A job in the file.

use super::section::{Mistakes, Section};
use super::value::On;
use super::{env, trigger, value};
use crate::command::{Grace, Launch};
use cotter_scheduler::{
    Busy, Concurrency, Job, Label, Misfire, OnCrash, OnStop, Outcome, Run, Trigger, Zone,
};
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Keys of a job that are also allowed in `[defaults]`.
pub(super) const SHARED: &[&str] = &[
    "timezone",
    "starts",
    "ends",
    "exclude",
    "ttl",
    "initial_delay",
    "env",
    "cwd",
    "max_run",
    "misfire",
    "late_within",
    "misfire_window",
    "max_backlog",
    "on_crash",
    "on_stop",
    "grace",
    "retries",
    "retry_delay",
    "max_retry_delay",
    "jitter",
    "enabled",
    "busy",
    "concurrency",
    "lock",
    "limit",
    "priority",
    "on",
    "at_least",
    "generation",
    "on_success",
    "on_failure",
    "keep_output",
];
/// The command keys, of which exactly one is required.
const COMMANDS: &[&str] = &["command", "shell"];

/// The default of the scheduler.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// The default ttl.
const TTL: Duration = Duration::from_secs(30);
/// The longest lease.
const MAX_TTL: Duration = Duration::from_secs(366 * 24 * 3600);

/// A parsed job.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    pub(crate) name: String,
    pub(crate) trigger: Trigger,
    /// Its expressions in the Quartz dialect as they are written, each with its key.
    pub(super) expressions: Vec<(&'static str, String)>,
    /// Its time zone.
    pub(crate) zone: Zone,
    pub(crate) enabled: bool,
    /// The grace period of the command.
    pub(crate) grace: Grace,
    /// The position in the file.
    pub(super) at: usize,
    pub(super) words: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cwd: Option<PathBuf>,
    on_success: Option<Vec<String>>,
    on_failure: Option<Vec<String>>,
    /// Whether the store keeps what runs print that fail.
    pub(in crate::schedule) keep_output: bool,
    pub(super) settings: Settings,
}

/// The settings for the scheduler; `None` means its default.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    ttl: Duration,
    initial_delay: Option<Duration>,
    max_run: Option<Duration>,
    pub(super) misfire: Option<Misfire>,
    pub(super) late_within: Option<Duration>,
    pub(super) misfire_window: Option<Duration>,
    max_backlog: Option<u32>,
    on_crash: Option<OnCrash>,
    on_stop: Option<OnStop>,
    grace: Option<Duration>,
    retries: Option<u32>,
    retry_delay: Option<Duration>,
    max_retry_delay: Option<Duration>,
    pub(super) jitter: Option<Duration>,
    busy: Option<Busy>,
    at_least: Option<Duration>,
    generation: Option<u64>,
    concurrency: Option<Concurrency>,
    lock: Option<String>,
    limit: Option<(String, u32)>,
    priority: Option<i32>,
    pub(super) after: Vec<String>,
    on: On,
}

impl Spec {
    /// The names of the lock and the limit that it may share with others.
    pub(in crate::schedule) fn locks(&self) -> impl Iterator<Item = &str> {
        let limit = self.settings.limit.as_ref().map(|(name, _)| name);
        self.settings.lock.iter().chain(limit).map(String::as_str)
    }

    /// The labels that a host needs to run it.
    pub(crate) fn on(&self) -> &BTreeSet<Label> {
        &self.settings.on.labels
    }

    /// Whether it runs on each host.
    pub(crate) fn is_for_each(&self) -> bool {
        self.settings.on.each
    }

    /// Makes it the job of one host alone, which has this label by its name.
    pub(super) fn settle(&mut self, host: &str, label: &Label) {
        self.name = format!("{}@{host}", self.name);
        self.settings.on.labels.insert(label.clone());
    }

    /// The ttl of the lock.
    pub(in crate::schedule) fn ttl(&self) -> Duration {
        self.settings.ttl
    }

    /// Parses a job. After a mistake, something else stands for what is missing, so that the rest can be checked.
    pub(super) fn read(name: &str, section: &Section<'_>, mistakes: &mut Mistakes) -> Self {
        section.check_keys(&[trigger::TRIGGERS, COMMANDS, SHARED].concat(), mistakes);
        let zone = section.get("timezone", mistakes, value::zone).unwrap_or_else(Zone::utc);
        let trigger = trigger::read(section, &zone, mistakes);
        let expressions = trigger.iter().flat_map(|_| trigger::expressions(section, mistakes)).collect();
        let words = words(section, mistakes);
        let mut settings = Settings::read(section, mistakes);
        settings.reject_invalid(section, mistakes);
        let grace = Grace::of(settings.ttl, None).or_else(|_| {
            let why = "`ttl`: the minimum is 300ms, to leave time to stop the command";
            section.wrong(section.at_key("ttl"), why, mistakes);
            Grace::of(TTL, None)
        });
        let grace = grace.expect("the default ttl is long enough");
        if settings.ttl > MAX_TTL {
            section.wrong(section.at_key("ttl"), "`ttl`: the maximum is a year", mistakes);
        }
        let env = env::read(section, mistakes);
        let cwd = section.get("cwd", mistakes, value::directory);
        let on_success = section.get("on_success", mistakes, value::words_or_script);
        let on_failure = section.get("on_failure", mistakes, value::words_or_script);
        let enabled = section.get("enabled", mistakes, value::boolean).unwrap_or(true);
        let keep_output = section.get("keep_output", mistakes, value::boolean).unwrap_or(true);
        let (trigger, words) = (trigger.unwrap_or_else(Trigger::on_demand), words.unwrap_or_default());
        let (name, at) = (name.to_owned(), section.at());
        Self {
            name,
            trigger,
            expressions,
            zone,
            enabled,
            grace,
            at,
            words,
            env,
            cwd,
            on_success,
            on_failure,
            keep_output,
            settings,
        }
    }

    /// The command, with additional environment variables.
    pub(crate) fn launch(&self, more: Vec<(String, String)>) -> Launch {
        self.launch_words(&self.words, more)
    }

    /// The command that follows a run that has succeeded or failed, if there is one.
    pub(in crate::schedule) fn follow_up(
        &self,
        succeeded: bool,
        more: Vec<(String, String)>,
    ) -> Option<Launch> {
        let words = if succeeded { &self.on_success } else { &self.on_failure };
        words.as_ref().map(|words| self.launch_words(words, more))
    }

    fn launch_words(&self, words: &[String], more: Vec<(String, String)>) -> Launch {
        let words = words.iter().map(OsString::from).collect();
        let env = self.env.iter().cloned().chain(more).collect();
        Launch {
            argv: words,
            env,
            token: None,
            output: None,
            without: &[],
            cwd: self.cwd.clone(),
            has_input: false,
            has_terminal: false,
        }
    }

    /// How long a run may take to stop, including the time for KILL to take effect.
    pub(crate) fn stop_within(&self) -> Duration {
        let more = (self.settings.ttl / 6).min(Duration::from_secs(1));
        self.grace.margin().max(self.grace.whole() + more)
    }

    /// The job for the scheduler.
    pub(crate) fn job<W, F>(&self, work: W) -> Job
    where
        W: Fn(Run) -> F + Send + Sync + 'static,
        F: Future + Send + 'static,
        F::Output: Outcome,
    {
        let mut definition = json!({ "words": self.words, "env": self.env, "cwd": self.cwd });
        if !self.keep_output {
            definition["keep_output"] = false.into();
        }
        let job = Job::new(&self.name, self.trigger.clone(), work)
            .definition(definition.to_string())
            .enabled(self.enabled)
            .stop_within(self.stop_within());
        self.settings.apply(job)
    }
}

impl Settings {
    fn read(section: &Section<'_>, mistakes: &mut Mistakes) -> Self {
        let misfires = [("skip", Misfire::Skip), ("once", Misfire::Once), ("all", Misfire::All)];
        let crashes = [("skip", OnCrash::Skip), ("rerun", OnCrash::Rerun)];
        let stops = [("skip", OnStop::Skip), ("rerun", OnStop::Rerun)];
        let concurrency = [("forbid", Concurrency::Forbid), ("replace", Concurrency::Replace)];
        Self {
            ttl: section.get("ttl", mistakes, value::positive).unwrap_or(TTL),
            initial_delay: section.get("initial_delay", mistakes, value::duration),
            max_run: section.get("max_run", mistakes, value::positive),
            misfire: section.get("misfire", mistakes, value::word(&misfires)),
            late_within: section.get("late_within", mistakes, value::positive),
            misfire_window: section.get("misfire_window", mistakes, value::positive),
            max_backlog: section.get("max_backlog", mistakes, value::some),
            on_crash: section.get("on_crash", mistakes, value::word(&crashes)),
            on_stop: section.get("on_stop", mistakes, value::word(&stops)),
            grace: section.get("grace", mistakes, value::duration),
            retries: section.get("retries", mistakes, value::small),
            retry_delay: section.get("retry_delay", mistakes, value::duration),
            max_retry_delay: section.get("max_retry_delay", mistakes, value::duration),
            jitter: section.get("jitter", mistakes, value::duration),
            busy: section.get("busy", mistakes, value::word(&[("wait", Busy::Wait), ("skip", Busy::Skip)])),
            at_least: section.get("at_least", mistakes, value::duration),
            generation: section.get("generation", mistakes, value::number),
            concurrency: section.get("concurrency", mistakes, value::word(&concurrency)),
            lock: section.get("lock", mistakes, value::lock_name),
            limit: section.get("limit", mistakes, value::limit),
            priority: section.get("priority", mistakes, value::signed),
            after: section.get("after", mistakes, value::names).unwrap_or_default(),
            on: section.get("on", mistakes, value::on).unwrap_or_default(),
        }
    }

    /// Rejects what the scheduler would, with the line, and takes it out, so that it is not reported again.
    fn reject_invalid(&mut self, section: &Section<'_>, mistakes: &mut Mistakes) {
        let delay = self.retry_delay.unwrap_or(RETRY_DELAY);
        if self.max_retry_delay.is_some_and(|max| max < delay) {
            let why = "`max_retry_delay` is shorter than `retry_delay`, which defaults to 10s";
            section.wrong(section.at_key("max_retry_delay"), why, mistakes);
            self.max_retry_delay = None;
        }
    }

    fn apply(&self, job: Job) -> Job {
        let set = |job: Job, value: Option<Duration>, setter: fn(Job, Duration) -> Job| match value {
            Some(value) => setter(job, value),
            None => job,
        };
        let mut job = job.ttl(self.ttl);
        job = set(job, self.initial_delay, Job::initial_delay);
        job = set(job, self.max_run, Job::max_run);
        job = set(job, self.late_within, Job::late_within);
        job = set(job, self.misfire_window, Job::misfire_window);
        job = set(job, self.retry_delay, Job::retry_delay);
        job = set(job, self.max_retry_delay, Job::max_retry_delay);
        job = set(job, self.jitter, Job::jitter);
        job = set(job, self.grace, Job::grace);
        job = set(job, self.at_least, Job::at_least);
        job = job.misfire(self.misfire.unwrap_or_default()).on_crash(self.on_crash.unwrap_or_default());
        job = job.busy(self.busy.unwrap_or_default()).retries(self.retries.unwrap_or(0));
        job = self.max_backlog.into_iter().fold(job, Job::max_backlog);
        job = self.on_stop.into_iter().fold(job, Job::on_stop);
        job = self.concurrency.into_iter().fold(job, Job::concurrency);
        job = self.lock.iter().fold(job, Job::lock);
        job = self.limit.iter().fold(job, |job, (name, of)| job.limit(name, *of));
        job = self.priority.into_iter().fold(job, Job::priority);
        job = self.after.iter().fold(job, Job::after);
        job = self.on.labels.iter().cloned().fold(job, Job::on);
        self.generation.into_iter().fold(job, Job::generation)
    }
}

fn words(section: &Section<'_>, mistakes: &mut Mistakes) -> Option<Vec<String>> {
    match section.exactly_one(COMMANDS, mistakes)? {
        key @ "command" => section.get(key, mistakes, value::words),
        key => {
            let script = section.get(key, mistakes, value::text)?;
            Some(value::by_the_shell(script))
        }
    }
}
