//! What holds after every event, and at the end.

use super::world::{At, World};
use cotter_testkit::history::{Kind, demand};

impl World {
    pub(super) fn check(&self) {
        let rule = |holds: bool, kind, what: &str| demand(holds, kind, format!("seed {}: {what}", self.seed));
        let held = || self.tasks.iter().filter_map(|task| task.holds());
        let writers = held().filter(|grant| grant.mode.is_exclusive()).count();
        rule(writers <= 1, Kind::Overlap, "two hold one name");
        rule(
            writers == 0 || held().count() == 1,
            Kind::SharedWithExclusive,
            "one reads while another writes",
        );
        for task in &self.tasks {
            rule(task.is_woken_once(), Kind::Void, "a task was woken twice for one wait");
        }
        if self.state.awake().is_some() {
            rule(self.has_an_end(), Kind::IdleWaiter, "a task waits, and nobody asks for it");
            rule(
                self.is_watched(),
                Kind::SlowHandOver,
                "a task waits for one that sleeps, and nobody watches",
            );
        }
        let rests = self.is_at_rest() && self.state.is_unused();
        rule(
            !rests || self.is_retired || self.has_readers(),
            Kind::LeftBehind,
            "an unused line was not retired",
        );
    }

    /// What a waiter waits for comes to an end, after which the line goes on.
    fn has_an_end(&self) -> bool {
        self.asker.is_some() || self.is_trying() || self.state.is_held() || !self.releases.is_empty()
    }

    /// What it waits for may be with a task that sleeps: an attempt, a grant, or nothing but releases.
    fn is_watched(&self) -> bool {
        let is_given = |at: &At| matches!(at, At::Queued(waiter) if waiter.is_given() && waiter.request.mode.is_exclusive());
        let with_a_task = self.releases.iter().filter(|release| release.is_with_a_task).count();
        let only_releases = with_a_task > 0 && with_a_task == self.releases.len();
        let is_with_a_task = self.is_trying()
            || self.tasks.iter().any(|task| is_given(&task.at))
            || (self.asker.is_none() && !self.state.is_held() && only_releases);
        !is_with_a_task || self.watch.is_some()
    }

    /// A reader without an owner, which comes back to the line with its release only.
    fn has_readers(&self) -> bool {
        self.tasks.iter().any(|task| match &task.at {
            At::Holding(_) => true,
            At::Trying(attempt) => attempt.waiter.is_given(),
            At::Queued(waiter) => waiter.is_given(),
            At::Away | At::UntilQuiet => false,
        })
    }

    /// Nobody new comes. Those that sleep are passed over, and are served when they wake up; in the end nothing is left.
    pub(super) fn settle(&mut self) {
        self.store.is_taken = false;
        for sleepers_wake in [false, true] {
            for task in &mut self.tasks {
                task.sleeps &= !sleepers_wake;
            }
            for _ in 0..40 {
                self.everything_once();
                self.check();
            }
            for (at, task) in self.tasks.iter().enumerate() {
                let is_done = matches!(task.at, At::Away) || task.sleeps;
                let (seed, tasks, state) = (self.seed, &self.tasks, &self.state);
                let what =
                    format!("seed {seed}: task {at} still waits: {tasks:#?}, {state:#?}, {:?}", self.asker);
                demand(is_done, Kind::StuckWaiter, what);
            }
        }
        demand(self.is_retired, Kind::LeftBehind, format!("seed {}: the line is left behind", self.seed));
        demand(self.watch.is_none(), Kind::LeftBehind, format!("seed {}: the watch goes on", self.seed));
    }

    /// One step for everyone.
    fn everything_once(&mut self) {
        for task in 0..self.tasks.len() {
            // Of several readers that sleep on their grants, only the last one is recalled.
            self.tasks[task].sleeps &= !self.tasks[task].was_given_a_share();
            self.poll(task);
            self.attempt_is_answered(task);
            self.gives_back(task);
        }
        self.asks();
        self.release_is_answered();
        self.looks();
    }
}
