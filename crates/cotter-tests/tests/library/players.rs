//! Clients that want one lock while servers change places, and the history of what they believed.

use cotter::Client;
use cotter_testkit::history::{History, Limits, Recorder, What, check};
use cotter_testkit::timing::{Stopwatch, eventually};
use cotter_testkit::{Actor, Played};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const NAME: &str = "one";
/// The times that holders work for.
const WORK: Duration = Duration::from_millis(50);
/// The time of one attempt, longer than a change of places.
const WAIT: Duration = Duration::from_secs(60);
/// The pause after an error: a store may be away for as long as it likes.
const PAUSE: Duration = Duration::from_millis(100);

/// Clients that take turns. The first one [holds](Self::hold) when it is told to.
pub(crate) struct Players {
    log: Recorder,
    holder: Actor,
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Players {
    pub(crate) fn start(clients: Vec<Client>) -> Self {
        let (log, stop) = (Recorder::in_memory(), Arc::<AtomicBool>::default());
        let mut actors: Vec<_> =
            (0..).zip(clients).map(|(number, client)| Actor::new(client, &log, number)).collect();
        let holder = actors.remove(0);
        let tasks = actors.into_iter().map(|actor| tokio::spawn(take_turns(actor, stop.clone()))).collect();
        Self { log, holder, stop, tasks }
    }

    /// One more, who wants the lock like the others.
    pub(crate) fn join(&mut self, client: Client) {
        let number = self.tasks.len() + 1;
        let actor = Actor::new(client, &self.log, number.try_into().expect("a few"));
        self.tasks.push(tokio::spawn(take_turns(actor, self.stop.clone())));
    }

    /// Has the first one hold until it is told of the loss, or `enough` is. The others wait meanwhile.
    pub(crate) async fn hold_until(&self, enough: oneshot::Receiver<()>) -> JoinHandle<()> {
        let held = self.holder.lock(NAME).await.expect("the store is there");
        tokio::spawn(async move {
            if held.work(enough).await.is_ok() {
                // As below.
                let _ = held.release().await;
            }
        })
    }

    /// Has the first one hold until it is told of the loss. The others wait meanwhile.
    pub(crate) async fn hold(&self) -> JoinHandle<()> {
        let held = self.holder.lock(NAME).await.expect("the store is there");
        tokio::spawn(async move {
            let lost = held.work(std::future::pending::<()>()).await;
            assert!(lost.is_err(), "it ends with the loss");
        })
    }

    fn acquisitions(&self) -> usize {
        self.log.events().iter().filter(|event| matches!(event.what, What::Acquired { .. })).count()
    }

    /// Until there were this many acquisitions more; the time until the first one of them.
    pub(crate) async fn go_on(&self, what: &str, more: usize) -> Duration {
        let (before, start) = (self.acquisitions(), Stopwatch::start());
        let mut first = None;
        for wanted in 1..=more {
            eventually(what, || self.acquisitions() >= before + wanted).await;
            first.get_or_insert_with(|| start.elapsed());
        }
        first.unwrap_or_default()
    }

    /// Ends them. Nobody has held together with somebody else, tokens rose, and losses were told in time; how long anybody waited
    /// does not matter here.
    pub(crate) async fn end(self) -> History {
        self.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.expect("it ends in order");
        }
        let history = History::of(self.log.events());
        let limits = Limits { place_slack: WAIT * 10, idle: WAIT * 10, ..Limits::default() };
        let found: Vec<_> = check(&history, &limits).iter().map(ToString::to_string).collect();
        assert!(
            found.is_empty(),
            "{} holds\n{}\n{:?}",
            history.holds.len(),
            found.join("\n"),
            history.errors
        );
        history
    }
}

async fn take_turns(actor: Actor, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::SeqCst) {
        match actor.try_lock_for(NAME, WAIT).await {
            Ok(Some(held)) => work(held).await,
            Ok(None) => {}
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn work(held: Played) {
    if held.work(tokio::time::sleep(WORK)).await.is_ok() {
        // A store that has just gone does not answer: that is for the history to judge.
        let _ = held.release().await;
    }
}
