//! The jobs run, until a signal ends it.

use super::file::{self, File};
use super::systemd::{self, Watchdog};
use super::tell::Tell;
use super::work::Shop;
use crate::command::reap_as_init;
use crate::command::signals::Signals;
use crate::exit::Exit;
use crate::global::Global;
use crate::output::{Console, Failure};
use crate::store;
use cotter::Client;
use cotter_scheduler::{Handle, Job, Scheduler};
use rustix::process::Signal;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long commands may take to die once they were told twice.
const LAST: Duration = Duration::from_secs(7);

/// Runs them.
pub(super) async fn serve(file: File, global: &Global, console: &Console) -> Result<Exit, Failure> {
    // Before anything else, so that no signal comes at a moment when it would leave commands alone.
    let mut signals = Signals::of(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    reap_as_init()?;
    let chosen = store::choose(global, file.place.as_ref(), |key| std::env::var_os(key))?;
    let builder = Client::builder().label(format!("schedule {}", file.group));
    let client = tokio::select! {
        biased;
        signal = signals.stop() => return Ok(Exit::Interrupted(signal)),
        client = chosen.connect(builder, console) => client?,
    };
    let tell = Arc::new(Tell::start(console));
    let end = Service::start(file, &client, Shop::new(chosen, tell.clone())).run(&mut signals).await;
    tell.finish();
    end
}

/// A scheduler that runs.
struct Service {
    file: File,
    shop: Arc<Shop>,
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    runner: JoinHandle<cotter_scheduler::Result<()>>,
}

impl Service {
    fn start(file: File, client: &Client, shop: Arc<Shop>) -> Self {
        let tell = shop.tell.clone();
        let mut scheduler = Scheduler::new(client, &file.group)
            .observe(move |event| tell.event(event))
            .jobs(jobs(&file, &shop));
        scheduler = file.workers.into_iter().fold(scheduler, Scheduler::workers);
        scheduler = file.max_clock_offset.into_iter().fold(scheduler, Scheduler::max_clock_offset);
        scheduler = file.history.into_iter().fold(scheduler, Scheduler::history);
        let handle = scheduler.handle();
        let (stop, stopped) = oneshot::channel();
        // What is left when the grace is over has to be gone then too, as far as that goes.
        let longest = file.jobs.iter().map(file::Spec::stop_within).max().unwrap_or_default();
        let runner = tokio::spawn(scheduler.run_until(stopped, file.grace.saturating_sub(longest)));
        Self { file, shop, handle, stop: Some(stop), runner }
    }

    async fn run(mut self, signals: &mut Signals) -> Result<Exit, Failure> {
        let mut watchdog = Watchdog::start();
        let group = &self.file.group;
        self.shop.tell.remark(&match self.file.jobs.len() {
            1 => format!("1 job of group {group:?} waits for its slots"),
            n => format!("{n} jobs of group {group:?} wait for their slots"),
        });
        systemd::ready();
        let end = loop {
            tokio::select! {
                biased;
                end = &mut self.runner => break end,
                signal = signals.next() => match signal {
                    Signal::HUP => self.reload().await,
                    _ => self.stop(),
                },
                () = watchdog.due() => watchdog.alive(),
            }
        };
        self.shop.closed(LAST).await;
        match end {
            Ok(end) => end.map(|()| Exit::Done).map_err(Failure::from),
            Err(error) => {
                Err(Failure::new(Exit::Protocol, format!("the scheduler has broken down: {error}")))
            }
        }
    }

    /// The first time what runs may end, the second time it is killed.
    fn stop(&mut self) {
        match self.stop.take() {
            Some(stop) => {
                systemd::stopping();
                self.shop.tell.remark("told to stop: nothing new is started, what runs may end");
                // A runner that has ended already is seen by the loop.
                let _ = stop.send(());
            }
            None => {
                self.shop.tell.warning(None, "told twice to stop: what runs is killed");
                self.shop.stop_now();
            }
        }
    }

    /// Reads the file again. Nothing changes unless all of it can.
    async fn reload(&mut self) {
        if self.stop.is_none() {
            return;
        }
        systemd::reloading();
        match file::read(&self.file.path) {
            Ok(Ok(file)) => self.replace(file).await,
            Ok(Err(mistakes)) => {
                for mistake in &mistakes {
                    self.shop.tell.warning(None, &mistake.of(&self.file.path));
                }
                self.shop.tell.warning(None, "the file has mistakes: the jobs stay as they were");
            }
            Err(failure) => {
                self.shop.tell.warning(None, &format!("{}: the jobs stay as they were", failure.message));
            }
        }
        systemd::ready();
    }

    async fn replace(&mut self, file: File) {
        for key in self.file.needs_restart(&file) {
            self.shop.tell.warning(None, &format!("`{key}` has changed: that needs a restart"));
        }
        let jobs = jobs(&file, &self.shop);
        let count = jobs.len();
        match self.handle.replace(jobs).await {
            Ok(()) => self.shop.tell.remark(&format!("the file was read again, jobs in it: {count}")),
            Err(error) => self.shop.tell.warning(None, &format!("{error}: the jobs stay as they were")),
        }
        self.file.jobs = file.jobs;
    }
}

fn jobs(file: &File, shop: &Arc<Shop>) -> Vec<Job> {
    file.jobs.iter().map(|spec| shop.job(spec)).collect()
}
