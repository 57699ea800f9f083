//! One run: a command under the lock of its job.

use super::event_log::{EventLog, Origin};
use super::file::Spec;
use super::output::Reading;
use super::systemd;
use crate::command::{Child, Launch, OVERDUE, Outcome, Step, Streams, Watch, restore_lease, stop};
use crate::jobs::arguments;
use crate::run::held::{self, Held};
use crate::store::Chosen;
use cotter_console::Exit;
use cotter_scheduler::{Job, Run};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;

/// State shared by all runs.
pub(super) struct Commands {
    pub(super) store: Chosen,
    pub(super) log: Arc<EventLog>,
    /// Whether all commands have to be killed.
    kill: watch::Sender<bool>,
    /// Each run subscribes to this, so that the end of all runs can be awaited.
    open: watch::Sender<()>,
}

/// The reason why the scheduler stops a command.
enum Halt {
    Cancelled,
    Kill,
}

impl Commands {
    pub(super) fn new(store: Chosen, log: Arc<EventLog>) -> Arc<Self> {
        Arc::new(Self { store, log, kill: watch::Sender::new(false), open: watch::Sender::new(()) })
    }

    /// The job of the scheduler that runs this command.
    pub(super) fn job(self: &Arc<Self>, spec: &Spec) -> Job {
        let (commands, shared) = (self.clone(), Arc::new(spec.clone()));
        spec.job(move |run| in_a_task(commands.clone(), shared.clone(), run))
    }

    /// Kills all commands, and those that are started later.
    pub(super) fn kill_all(&self) {
        self.kill.send_replace(true);
    }

    /// Waits until no command is running, with a timeout.
    pub(super) async fn closed(&self, limit: Duration) {
        let _ = timeout(limit, self.open.closed()).await;
    }

    async fn killed(&self) {
        // The sender is not dropped before `self`.
        let _ = self.kill.subscribe().wait_for(|kill| *kill).await;
    }

    /// Runs the command, and passes on what it prints. The error is the reason of a failure.
    async fn run(&self, spec: &Spec, run: &Run) -> Result<(), String> {
        let origin = Arc::new(Origin { job: spec.name.clone(), slot: run.slot(), key: None });
        let reading = Reading::start(&origin, &self.log);
        let (reading, streams) = reading.map_err(|error| format!("cannot create a pipe: {error}"))?;
        let result = self.run_with(spec, run, streams).await;
        let output = reading.finish().await;
        self.log.note(&spec.name, |facts| facts.output.clone_from(&output));
        if spec.keep_output {
            run.set_output(output);
        }
        result
    }

    async fn run_with(&self, spec: &Spec, run: &Run, output: Streams) -> Result<(), String> {
        let (guard, grace) = (run.guard(), spec.grace);
        let arguments = argument_variables(run)?;
        self.log.begin(&spec.name, arguments.clone());
        let base = spec.launch(self.environment(run, arguments)?);
        let launch =
            Launch { without: systemd::VARIABLES, token: Some(run.token()), output: Some(output), ..base };
        restore_lease(guard, spec.ttl()).await.map_err(|error| error.to_string())?;
        let grace = grace.fitting(guard);
        let mut watch = Watch::new(guard, grace, None);
        let mut child = Child::spawn(&launch, &watch).await.map_err(|failure| failure.message)?;
        // The output ends when no other process has these descriptors.
        drop(launch);
        let end = loop {
            tokio::select! {
                biased;
                step = watch.next(&mut child) => match step.map_err(|failure| failure.message)? {
                    Step::Ended(end) => break Ok(end),
                    Step::Stopped(_) => {}
                },
                () = self.killed() => break Err(Halt::Kill),
                _ = run.cancelled() => break Err(Halt::Cancelled),
            }
        };
        let result = match end {
            Ok(end) => {
                let warn = |text: &str| self.log.warning(Some(&spec.name), text);
                self.conclude(&spec.name, run, &stop(&mut child, guard, end, grace, warn).await)
            }
            Err(Halt::Kill) => {
                child.stop(Duration::ZERO).await;
                Err("killed by a second signal to cotter".to_owned())
            }
            Err(Halt::Cancelled) => {
                child.stop(grace.in_time(guard)).await;
                // The scheduler records the reason.
                Err("stopped".to_owned())
            }
        };
        child.kill_and_wait();
        result
    }

    fn environment(
        &self,
        run: &Run,
        arguments: Vec<(String, String)>,
    ) -> Result<Vec<(String, String)>, String> {
        let above = Held::above(|key| std::env::var_os(key)).map_err(|failure| failure.message)?;
        let (client, name) = (run.client(), run.guard().name());
        above.refuse(client, name).map_err(|failure| failure.message)?;
        let held = above.with(client, name);
        let mut env = self.store.environment();
        env.push((held::KEY.to_owned(), held.text()));
        env.push(("COTTER_SLOT".to_owned(), run.slot().to_string()));
        env.push(("COTTER_ATTEMPT".to_owned(), run.attempt().to_string()));
        env.extend(run.one_shot().map(|id| ("COTTER_ONE_SHOT".to_owned(), id.to_owned())));
        env.extend(arguments);
        Ok(env)
    }

    fn conclude(&self, job: &str, run: &Run, end: &Outcome) -> Result<(), String> {
        let status = match end {
            Outcome::Exited { status, .. } | Outcome::NoShim(Some(status)) => *status,
            Outcome::Lost(lost) => return Err(lost.to_string()),
            Outcome::Expiring(expiring) => return Err(format!("{expiring}; the command was stopped")),
            Outcome::Overdue => {
                return Err(format!("{OVERDUE}; the command was stopped"));
            }
            Outcome::NoShim(None) | Outcome::MaxHold(_) => return Err("killed".to_owned()),
        };
        let code = Exit::of_child(status).code();
        self.log.note(job, |facts| facts.code = Some(code));
        run.set_exit_code(code.into());
        match code {
            0 => Ok(()),
            code if status.code().is_none() => Err(format!("killed by signal {}", code - 128)),
            code => Err(format!("exit code {code}")),
        }
    }
}

fn argument_variables(run: &Run) -> Result<Vec<(String, String)>, String> {
    run.arguments().iter().map(|(name, value)| arguments::variable(name, value)).collect()
}

/// Runs the command in a separate task, which ends when no process of the command is left: if the scheduler stops waiting for
/// it, the lock is still held.
async fn in_a_task(commands: Arc<Commands>, spec: Arc<Spec>, run: Run) -> Result<(), String> {
    let task = tokio::spawn(async move {
        let _open = commands.open.subscribe();
        commands.run(&spec, &run).await
    });
    task.await.unwrap_or_else(|error| Err(error.to_string()))
}
