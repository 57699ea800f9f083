//! One run: a command under the lock of its job.

use super::file::Spec;
use super::systemd;
use super::tell::Tell;
use crate::command::{Child, End, Launch, Step, Watch, make_whole, stop};
use crate::exit::Exit;
use crate::run::held::{self, Held};
use crate::store::Chosen;
use cotter_scheduler::{Job, Run};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// What all runs share.
pub(super) struct Shop {
    pub(super) store: Chosen,
    pub(super) tell: Arc<Tell>,
    /// Stop at once.
    now: watch::Sender<bool>,
    /// Each run has a clone of this, from which it is seen that all are over.
    open: watch::Sender<()>,
}

/// Why a command is stopped from here.
enum Halt {
    Cancelled,
    Now,
}

impl Shop {
    pub(super) fn new(store: Chosen, tell: Arc<Tell>) -> Arc<Self> {
        Arc::new(Self { store, tell, now: watch::Sender::new(false), open: watch::Sender::new(()) })
    }

    /// The job of the scheduler that runs this command.
    pub(super) fn job(self: &Arc<Self>, spec: &Spec) -> Job {
        let (shop, shared) = (self.clone(), Arc::new(spec.clone()));
        spec.job(move |run| in_a_task(shop.clone(), shared.clone(), run))
    }

    /// All commands are killed, now and from now on.
    pub(super) fn stop_now(&self) {
        self.now.send_replace(true);
    }

    /// Back when nothing runs any more, or when that takes too long.
    pub(super) async fn closed(&self, patience: Duration) {
        let _ = timeout(patience, self.open.closed()).await;
    }

    async fn told_to_stop_now(&self) {
        // The sender lives as long as this.
        let _ = self.now.subscribe().wait_for(|now| *now).await;
    }

    /// `Err` says how the command failed.
    async fn carry_out(&self, spec: &Spec, run: &Run) -> Result<(), String> {
        let (guard, grace) = (run.guard(), spec.grace);
        let launch = Launch { without: systemd::VARIABLES, ..spec.launch(self.environment(run)?) };
        make_whole(guard, spec.ttl()).await.map_err(|error| error.to_string())?;
        let mut watch = Watch::new(guard, grace, None);
        let mut child = Child::spawn(&launch, &watch).await.map_err(|failure| failure.message)?;
        let end = loop {
            tokio::select! {
                biased;
                step = watch.next(&mut child) => match step.map_err(|failure| failure.message)? {
                    Step::End(end) => break Ok(end),
                    Step::Stopped(_) => {}
                },
                () = self.told_to_stop_now() => break Err(Halt::Now),
                _ = run.cancelled() => break Err(Halt::Cancelled),
            }
        };
        let result = match end {
            Ok(end) => {
                let warn = |text: &str| self.tell.warning(Some(&spec.name), text);
                self.conclude(&spec.name, &stop(&mut child, guard, end, grace, warn).await)
            }
            Err(Halt::Now) => {
                child.stop(Duration::ZERO).await;
                Err("killed: cotter was told twice to stop".to_owned())
            }
            Err(Halt::Cancelled) => {
                child.stop(grace.in_time(guard)).await;
                Err("stopped with the scheduler".to_owned())
            }
        };
        child.bury();
        result
    }

    fn environment(&self, run: &Run) -> Result<Vec<(String, String)>, String> {
        let above = Held::above(|key| std::env::var_os(key)).map_err(|failure| failure.message)?;
        let (client, name) = (run.client(), run.guard().name());
        above.refuse(client, name).map_err(|failure| failure.message)?;
        let held = above.with(client, name);
        let mut env = self.store.environment();
        env.push((held::KEY.to_owned(), held.text()));
        env.push(("COTTER_SLOT".to_owned(), run.slot().to_string()));
        env.push(("COTTER_ATTEMPT".to_owned(), run.attempt().to_string()));
        Ok(env)
    }

    fn conclude(&self, job: &str, end: &End) -> Result<(), String> {
        let status = match end {
            End::Exited { status, .. } | End::NoShim(Some(status)) => *status,
            End::Lost(lost) => return Err(lost.to_string()),
            End::Expiring(expiring) => return Err(format!("{expiring}; the command was stopped")),
            End::Overdue => return Err("cotter was paused for too long, the command was stopped".to_owned()),
            End::NoShim(None) | End::MaxHold(_) => return Err("killed".to_owned()),
        };
        let code = Exit::of_child(status).code();
        self.tell.code(job, code);
        match code {
            0 => Ok(()),
            code if status.code().is_none() => Err(format!("killed by signal {}", code - 128)),
            code => Err(format!("exit code {code}")),
        }
    }
}

/// The run has a task of its own, which ends when nothing of the command is left: when the scheduler does not wait for
/// that any longer, the lock is held all the same.
async fn in_a_task(shop: Arc<Shop>, spec: Arc<Spec>, run: Run) -> Result<(), String> {
    let task = tokio::spawn(async move {
        let _open = shop.open.subscribe();
        shop.carry_out(&spec, &run).await
    });
    task.await.unwrap_or_else(|error| Err(error.to_string()))
}
