//! Running the jobs until a signal.

use super::Schedule;
use super::commands::Commands;
use super::connect::{Connected, connect};
use super::event_log::EventLog;
use super::file::{File, Spec};
use super::follow_up::FollowUps;
use super::metrics::Metrics;
use super::reload::Reload;
use super::systemd::{self, Watchdog};
use crate::command::reap_as_init;
use crate::command::signals::Signals;
use crate::config;
use crate::global::Global;
use crate::store::{self, Chosen};
use cotter::{Builder, Client};
use cotter_console::{Console, Exit, Failure, clean};
use cotter_scheduler::{Handle, Job, Label, Scheduler};
use rustix::process::Signal;
use rustix::system::uname;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long commands may take to die after the second signal.
const KILL_TIMEOUT: Duration = Duration::from_secs(7);

/// Runs the jobs of a file.
pub(super) async fn serve(
    file: File,
    args: &Schedule,
    global: &Global,
    console: &Console,
) -> Result<Exit, Failure> {
    // Before anything else, so that no signal can end cotter and leave commands running.
    let mut signals = Signals::of(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    reap_as_init()?;
    let chosen = store::choose(global, file.place.as_ref(), config::environment)?.set_explicitly()?;
    let no_thread = |error| Failure::new(Exit::System, format!("cannot start a thread: {error}"));
    let log = Arc::new(EventLog::start(console).map_err(no_thread)?);
    let metrics = match args.metrics {
        Some(at) => {
            let (metrics, at) = Metrics::start(at, args.unhealthy_after, &file.group).await?;
            log.remark(&format!("metrics at http://{at}/metrics"));
            Some(metrics)
        }
        None => None,
    };
    let labels = args.label.iter().cloned().collect();
    let end = schedule(file, labels, chosen, metrics, &mut signals, &log, console).await;
    log.finish();
    end
}

async fn schedule(
    file: File,
    labels: BTreeSet<Label>,
    chosen: Chosen,
    metrics: Option<Arc<Metrics>>,
    signals: &mut Signals,
    log: &Arc<EventLog>,
    console: &Console,
) -> Result<Exit, Failure> {
    let (client, reload) =
        match connect(&chosen, builder(&file.group, metrics.as_ref()), signals, log, console).await? {
            Connected::Client(client, reload) => (client, reload),
            Connected::Stopped => return Ok(Exit::Done),
        };
    if let Some(metrics) = &metrics {
        metrics.connected(&client);
    }
    let mut service = Service::start(file, labels, &client, Commands::new(chosen, log.clone()), metrics);
    if reload {
        service.reload();
    }
    service.run(signals).await
}

fn builder(group: &str, metrics: Option<&Arc<Metrics>>) -> impl Fn() -> Builder {
    let (label, metrics) = (label(group), metrics.map(Arc::downgrade));
    move || {
        let builder = Client::builder().label(&label);
        metrics.iter().cloned().fold(builder, |builder, metrics| {
            builder.observe(move |event| {
                if let Some(metrics) = metrics.upgrade() {
                    metrics.of_lock(event);
                }
            })
        })
    }
}

/// The name of this host.
pub(super) fn host() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// The label of the holder. The name of a group may be longer than a label.
fn label(group: &str) -> String {
    let text = format!("schedule {group}");
    text.char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= Builder::MAX_LABEL)
        .map(|(_, c)| c)
        .collect()
}

/// A running scheduler.
pub(super) struct Service {
    pub(super) file: File,
    /// Those of this host.
    pub(super) labels: BTreeSet<Label>,
    /// The store, without its password.
    store: String,
    pub(super) commands: Arc<Commands>,
    pub(super) follow_ups: Arc<FollowUps>,
    pub(super) metrics: Option<Arc<Metrics>>,
    pub(super) handle: Handle,
    pub(super) reload: Reload,
    pub(super) stop: Option<oneshot::Sender<()>>,
    runner: JoinHandle<cotter_scheduler::Result<()>>,
}

impl Service {
    fn start(
        mut file: File,
        labels: BTreeSet<Label>,
        client: &Client,
        commands: Arc<Commands>,
        metrics: Option<Arc<Metrics>>,
    ) -> Self {
        file.settle(&host(), &labels);
        let log = commands.log.clone();
        let follow_ups = FollowUps::new(&commands.store, &log);
        let followed = follow_ups.clone();
        follow_ups.set(&file.jobs);
        let measured = metrics.clone();
        let mut scheduler = Scheduler::new(client, &file.group)
            .host(host())
            .observe(move |event| {
                if let Some(metrics) = &measured {
                    metrics.event(event);
                }
                followed.event(event, log.event(event));
            })
            .jobs(jobs(&file, &commands, metrics.as_deref()));
        scheduler = file.workers.into_iter().fold(scheduler, Scheduler::workers);
        scheduler = file.max_clock_offset.into_iter().fold(scheduler, Scheduler::max_clock_offset);
        scheduler = file.history.into_iter().fold(scheduler, Scheduler::history);
        scheduler = labels.iter().cloned().fold(scheduler, Scheduler::label);
        let handle = scheduler.handle();
        metrics.iter().for_each(|metrics| metrics.scheduled_by(&handle));
        let (stop, stopped) = oneshot::channel();
        let runner = tokio::spawn(scheduler.run_until(stopped, file.grace));
        let store = client.info().instance.clone();
        let (reload, stop) = (Reload::default(), Some(stop));
        Self { file, labels, store, commands, follow_ups, metrics, handle, reload, stop, runner }
    }

    async fn run(mut self, signals: &mut Signals) -> Result<Exit, Failure> {
        let mut watchdog = Watchdog::start();
        self.say_what_is_scheduled();
        super::doubts(&self.file).iter().for_each(|doubt| self.commands.log.warning(None, doubt));
        systemd::ready();
        let end = loop {
            tokio::select! {
                biased;
                end = &mut self.runner => break end,
                signal = signals.next() => match signal {
                    Signal::HUP => self.reload(),
                    _ => self.stop(),
                },
                ended = self.reload.ended() => self.reloaded(ended),
                () = watchdog.due() => watchdog.alive(),
            }
        };
        self.commands.closed(KILL_TIMEOUT).await;
        self.follow_ups.finish().await;
        match end {
            Ok(end) => end.map(|()| Exit::Done).map_err(Failure::from),
            Err(error) => Err(Failure::new(Exit::Protocol, format!("the scheduler failed: {error}"))),
        }
    }

    /// The first line: which jobs, in which store, and what comes next.
    fn say_what_is_scheduled(&self) {
        let (group, store, jobs) = (&self.file.group, &self.store, &self.file.jobs);
        let noun = if jobs.len() == 1 { "job" } else { "jobs" };
        let now = self.handle.now();
        let slots = jobs.iter().filter(|job| job.enabled);
        let next = slots.filter_map(|job| Some((job.trigger.next_after(now)?, job.name.as_str()))).min();
        let then = match next {
            Some((at, job)) => format!("the next slot is that of {:?}, at {at}", clean(job)),
            None => "no slot is known before the first run".to_owned(),
        };
        let (count, store_name, left) = (jobs.len(), clean(store), &self.file.left);
        let text = format!("scheduling {count} {noun} of group {group:?} at {store_name}; {then}{left}");
        let next = next.map(|(at, job)| json!({ "job": job, "at": at.to_string() }));
        let fields = [
            ("group", json!(group)),
            ("store", json!(store)),
            ("jobs", json!(jobs.len())),
            ("next", json!(next)),
        ];
        self.commands.log.remark_with(&text, &fields);
    }

    /// Stops: the first time running commands may end, the second time they are killed.
    fn stop(&mut self) {
        match self.stop.take() {
            Some(stop) => {
                systemd::stopping();
                self.commands.log.remark("stopping: no more runs are started; waiting for running commands");
                // The loop notices if the runner has already ended.
                let _ = stop.send(());
            }
            None => {
                self.commands.log.warning(None, "second signal: killing running commands");
                self.commands.kill_all();
                self.follow_ups.stop_all();
                self.handle.end_grace();
            }
        }
    }
}

/// The jobs for the scheduler, which makes known those for others.
pub(super) fn jobs(file: &File, commands: &Arc<Commands>, metrics: Option<&Metrics>) -> Vec<Job> {
    set_names(file, commands, metrics);
    file.jobs.iter().chain(&file.others).map(|spec| commands.job(spec)).collect()
}

/// Names the jobs for lines of the log and for metrics.
pub(super) fn set_names(file: &File, commands: &Commands, metrics: Option<&Metrics>) {
    let names = || file.jobs.iter().map(|spec| spec.name.as_str());
    commands.log.names(names());
    if let Some(metrics) = metrics {
        let locks = file.jobs.iter().flat_map(Spec::locks);
        metrics.names(names(), locks);
    }
}
