//! Saying that this scheduler runs, and which jobs it has, for as long as it does.

use super::context::Context;
use crate::UnixTime;
use crate::notes::hosts::owned::Owned;
use crate::notes::hosts::{self, Mark, REPEATED};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::{Mutex, watch};

/// How long a scheduler that ends waits for the store to take that in. What is not taken in runs out.
const FAREWELL: Duration = Duration::from_secs(1);
/// When it is said again if it could not be written.
const AGAIN: Duration = Duration::from_secs(5);

/// What a scheduler says of itself beside its settings.
#[derive(Debug, Default)]
pub(super) struct Presence {
    since: OnceLock<UnixTime>,
    jobs: watch::Sender<Option<Owned>>,
    /// What has been said of them and of the workers, if it need not be said again yet.
    said: Mutex<Option<Said>>,
}

/// The jobs, and since when runs have been waiting for a worker.
type Said = (Option<Owned>, Option<UnixTime>);

/// A shorter wait for a worker is nothing to speak of.
const UNTOLD: Duration = Duration::from_secs(5);

impl Presence {
    /// Sets the jobs that it has. This is said before anything else is done about them, so that no job is taken for one that
    /// nobody has.
    pub(super) fn has(&self, names: impl Iterator<Item = impl AsRef<str>>) {
        let jobs = Owned::of(names);
        self.jobs.send_if_modified(|before| std::mem::replace(before, jobs.clone()) != jobs);
    }
}

/// Says so again and again, and when its jobs have changed, or no worker is free. It is only shown: what cannot be written now is written again later.
pub(super) async fn run(context: Arc<Context>) {
    let (mut changes, mut crowded) = (context.presence.jobs.subscribe(), context.workers.crowded());
    loop {
        changes.mark_unchanged();
        let said = say(&context).await;
        let pause = if said.is_ok() { REPEATED } else { AGAIN };
        tokio::select! {
            () = context.clock.sleep(pause) => *context.presence.said.lock().await = None,
            Ok(()) = changes.changed() => {}
            () = crowd_changes(&context, &mut crowded, said.ok().flatten()), if said.is_ok() => {}
        }
    }
}

/// Completes when something else is to be told of the crowd than this. Cancel safe.
async fn crowd_changes(
    context: &Context,
    crowded: &mut watch::Receiver<Option<UnixTime>>,
    told: Option<UnixTime>,
) {
    loop {
        let since = *crowded.borrow_and_update();
        let now = context.clock.now();
        if since.filter(|since| *since + UNTOLD <= now) != told {
            return;
        }
        let soon = since.filter(|since| Some(*since) != told).map(|since| since + UNTOLD);
        tokio::select! {
            _ = crowded.changed() => {}
            () = context.clock.sleep_until_some(soon) => {}
        }
    }
}

/// Says it now, unless that has been done since something has changed. Returns since when there is a crowd, as it was said.
pub(super) async fn say(context: &Context) -> cotter::Result<Option<UnixTime>> {
    let mut said = context.presence.said.lock().await;
    let mark = mark(context);
    let says = (mark.jobs.clone(), mark.crowded);
    if said.as_ref() != Some(&says) {
        tell(context, Some(&mark)).await?;
        *said = Some(says);
    }
    Ok(mark.crowded)
}

/// Takes it back.
pub(super) async fn end(context: &Context) {
    tokio::select! {
        _ = tell(context, None) => {}
        () = context.clock.sleep(FAREWELL) => {}
    }
}

async fn tell(context: &Context, mark: Option<&Mark>) -> cotter::Result<()> {
    let settings = &context.settings;
    let now = context.clock.now();
    hosts::tell(&settings.client, &settings.group, &context.id, mark, now).await
}

fn mark(context: &Context) -> Mark {
    let at = context.clock.now();
    let crowded = *context.workers.crowded().borrow();
    Mark {
        host: context.settings.host.clone(),
        since: *context.presence.since.get_or_init(|| at),
        at,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workers: context.settings.workers,
        busy: context.workers.busy(),
        crowded: crowded.filter(|since| *since + UNTOLD <= at),
        off: u64::try_from(context.clock.off().as_millis()).unwrap_or(u64::MAX),
        labels: context.settings.labels.iter().map(ToString::to_string).collect(),
        jobs: context.presence.jobs.borrow().clone(),
    }
}
