//! The task of one run, and the reasons to stop it.

use super::context::{Context, Stop};
use super::gates::Gates;
use crate::job::Policy;
use crate::run::Working;
use crate::{Ending, Why};
use cotter::Guard;
use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tracing::{Instrument, Span};

/// The task of a run; dropping it aborts the task.
pub(super) struct Task(JoinHandle<Result<(), String>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Task {
    pub(super) fn start(working: Working, span: Span) -> Self {
        Self(tokio::spawn(working.instrument(span)))
    }

    async fn ending(&mut self) -> Option<Ending> {
        match (&mut self.0).await {
            Ok(Ok(())) => Some(Ending::Ok),
            Ok(Err(why)) => Some(Ending::Failed(why)),
            Err(e) if e.is_panic() => Some(Ending::Panicked(message(e))),
            Err(_) => None,
        }
    }
}

/// What a run must not lose.
pub(super) struct Limits<'a> {
    pub(super) guard: &'a Arc<Guard>,
    pub(super) gates: &'a Gates,
}

impl Limits<'_> {
    fn is_valid(&self) -> bool {
        self.guard.is_valid() && self.gates.is_valid()
    }

    async fn lost(&self) {
        tokio::select! {
            _ = self.guard.lost() => {}
            () = self.gates.lost() => {}
        }
    }
}

/// Waits for the end of a run, and stops it if necessary; `replaced` completes when the next slot takes its place, and `asked` when an
/// operator wants it to end, with who that is.
pub(super) async fn execute(
    context: &Context,
    policy: &Policy,
    limits: &Limits<'_>,
    mut task: Task,
    cancel: &watch::Sender<Option<Why>>,
    replaced: impl Future<Output = ()>,
    asked: impl Future<Output = String>,
) -> Ending {
    let margin = margin(limits.guard, policy.stop_within);
    let warning = limits.guard.expiring(margin);
    let too_long = async {
        match policy.max_run {
            Some(longest) => context.clock.sleep(longest).await,
            None => std::future::pending().await,
        }
    };
    let mut by = String::new();
    let why = tokio::select! {
        biased;
        // First, so that a command that was killed in a shutdown has not failed.
        () = grace_over(context, policy) => Why::Shutdown,
        ending = task.ending() => return ending.unwrap_or(Ending::Stopped),
        () = limits.lost() => Why::Loss,
        _ = warning, if !margin.is_zero() => Why::Loss,
        () = too_long => Why::MaxRun,
        () = replaced => Why::Replaced,
        who = asked => {
            by = who;
            Why::Asked
        }
    };
    let _ = cancel.send(Some(why));
    let own = stop_task(context, policy, limits, &mut task).await;
    match (why, own) {
        (Why::MaxRun, _) => Ending::TimedOut,
        // It was done in time. Any other end is a consequence of the request to stop.
        (Why::Shutdown | Why::Loss | Why::Replaced | Why::Asked, Some(Ending::Ok)) if limits.is_valid() => {
            Ending::Ok
        }
        (Why::Shutdown, _) => Ending::Stopped,
        (Why::Loss, _) => Ending::Lost,
        (Why::Replaced, _) => Ending::Replaced,
        (Why::Asked, _) => Ending::StoppedBy(by),
    }
}

/// Completes when the scheduler stops, and a run has had its time.
async fn grace_over(context: &Context, policy: &Policy) {
    context.stopping(Stop::Starts).await;
    tokio::select! {
        () = context.clock.sleep(policy.grace.unwrap_or(context.grace)) => {}
        () = context.stopping(Stop::Runs) => {}
    }
}

/// How long before the end of the lease a run is notified: late enough that a renewal on time comes first.
fn margin(guard: &Guard, wanted: Duration) -> Duration {
    guard.remaining().map_or(Duration::ZERO, |left| wanted.min(left / 3))
}

/// Gives the task time to stop by itself, then aborts it. Returns its own ending, if it had one.
async fn stop_task(
    context: &Context,
    policy: &Policy,
    limits: &Limits<'_>,
    task: &mut Task,
) -> Option<Ending> {
    if limits.is_valid() && !policy.stop_within.is_zero() {
        tokio::select! {
            biased;
            own = task.ending() => return own,
            () = limits.lost() => {}
            () = context.clock.sleep(policy.stop_within) => {}
        }
    }
    task.0.abort();
    // A task that never yields continues; while the lock is held nobody else starts the job.
    tokio::select! {
        biased;
        own = task.ending() => own,
        () = limits.lost() => None,
    }
}

fn message(error: JoinError) -> String {
    let panic: Box<dyn Any + Send> = error.into_panic();
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}
