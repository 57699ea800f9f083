//! The main loop: starts attempts when jobs are due, and handles their results, requests and commands.

use super::agenda::Agenda;
use super::attempt::{attempt, fallback, first_attempt};
use super::context::{Context, Halt, Stop};
use super::elsewhere;
use super::register;
use super::snapshot::{JobSnapshot, Observation};
use super::standing;
use crate::definition::Definition;
use crate::handle::Command;
use crate::notes::Control;
use crate::pausing;
use crate::{EventKind, Job, Trigger, UnixTime};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{Id, JoinError, JoinSet};

/// How long runs may take to stop beyond their own `stop_within`; those that are left never yield.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The delay before a failed attempt is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(1);

pub(super) struct Dispatcher {
    context: Arc<Context>,
    agenda: Agenda,
    attempts: JoinSet<Result<Observation, Halt>>,
    /// The job of each attempt.
    snapshots: HashMap<Id, Arc<JobSnapshot>>,
    control: Arc<Control>,
    /// When the next pause ends by itself.
    pause_end: Option<UnixTime>,
}

impl Dispatcher {
    pub(super) fn new(context: &Arc<Context>, jobs: Vec<Job>) -> Self {
        let control = context.control.borrow().clone();
        let mut this = Self {
            context: context.clone(),
            agenda: Agenda::default(),
            attempts: JoinSet::new(),
            snapshots: HashMap::new(),
            pause_end: control.next_end(),
            control,
        };
        for job in jobs {
            this.define(job);
        }
        if let Some(pause) = &this.control.group.pause {
            context.emit_group(pausing::begun(pause));
        }
        this
    }

    /// Runs until `stop` completes.
    pub(super) async fn run(
        &mut self,
        commands: &mut UnboundedReceiver<Command>,
        mut stop: Pin<&mut impl Future>,
    ) {
        let mut asked = self.context.control.subscribe();
        let mut off = self.context.clock_off.subscribe();
        let mut succeeded = self.context.succeeded.subscribe();
        loop {
            self.start_due();
            let clock = self.context.clock.clone();
            let next = self.agenda.earliest().filter(|_| !*off.borrow_and_update());
            tokio::select! {
                biased;
                _ = &mut stop => return,
                Some(done) = self.attempts.join_next_with_id() => self.attempt_done(done),
                Ok(()) = asked.changed() => self.apply_requests(),
                Some(command) = commands.recv() => self.handle_command(command),
                Ok(()) = succeeded.changed() => self.check_followers(),
                Ok(()) = off.changed() => {}
                () = clock.sleep_until_some(self.pause_end) => self.end_pauses(),
                () = clock.sleep_until_some(next) => {}
            }
        }
    }

    /// Starts no more runs, and waits for those that go on. Each ends when its own grace period is over.
    pub(super) async fn stop(&mut self, commands: &mut UnboundedReceiver<Command>) {
        self.context.stop.send_replace(Stop::Starts);
        let own = self.snapshots.values().filter_map(|snapshot| snapshot.job.policy.grace);
        let grace = own.fold(self.context.grace, Duration::max);
        let ended = async {
            while let Some(command) = commands.recv().await {
                if matches!(command, Command::EndGrace) {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            biased;
            () = ended => {}
            () = self.all_done(grace) => {}
        }
        self.context.stop.send_replace(Stop::Runs);
        let longest = self.snapshots.values().map(|snapshot| snapshot.job.policy.stop_within).max();
        self.all_done(longest.unwrap_or_default().saturating_add(STOP_TIMEOUT)).await;
        self.attempts.shutdown().await;
    }

    async fn all_done(&mut self, within: Duration) {
        let over = self.context.clock.sleep(within);
        let done = async { while self.attempts.join_next().await.is_some() {} };
        tokio::select! {
            biased;
            () = done => {}
            () = over => {}
        }
    }

    fn define(&mut self, job: Job) {
        let now = self.context.clock.now();
        let definition = Definition::of(&job, &self.context.settings.group, &self.context.settings.host, now);
        let name = job.name.clone();
        // A pause of the whole group is reported once.
        if let (None, Some(pause)) = (&self.control.group.pause, self.control.own(&name).pause) {
            self.context.emit(&name, pausing::begun(&pause));
        }
        self.agenda.put(JobSnapshot::new(job, definition));
        self.agenda.wake(&name, Some(now));
    }

    fn start_due(&mut self) {
        if self.context.is_clock_off() {
            return;
        }
        let now = self.context.clock.now();
        while let Some(name) = self.agenda.pop(now) {
            let Some(entry) = self.agenda.get(&name) else { continue };
            if entry.active {
                entry.again = true;
                continue;
            }
            entry.active = true;
            let is_on_demand = *entry.snapshot.job.trigger() == Trigger::on_demand();
            let fresh = std::mem::take(&mut entry.fresh) || is_on_demand || entry.stands_by;
            let (context, snapshot) = (self.context.clone(), entry.snapshot.clone());
            let looking = async move {
                if fresh {
                    first_attempt(&context, &snapshot).await
                } else {
                    attempt(&context, &snapshot).await
                }
            };
            let id = self.attempts.spawn(looking).id();
            self.snapshots.insert(id, self.agenda.get(&name).expect("just seen").snapshot.clone());
        }
    }

    fn attempt_done(&mut self, done: Result<(Id, Result<Observation, Halt>), JoinError>) {
        let (id, seen) = match done {
            Ok((id, seen)) => (id, seen),
            Err(e) => (
                e.id(),
                Err(Halt::Failed(crate::Error::job("", format!("the runner's own task ended: {e}")))),
            ),
        };
        let Some(snapshot) = self.snapshots.remove(&id) else { return };
        let now = self.context.clock.now();
        let next = match seen {
            Ok(seen) => self.observed(&snapshot, &seen),
            Err(Halt::Failed(error)) => {
                let lost = self.attempt_failed(&snapshot, &error);
                // After a loss the slot is late; a broken job stays broken for a while.
                if lost {
                    Some(now + RETRY_DELAY)
                } else {
                    fallback(&snapshot, None, now).max(Some(now + RETRY_DELAY))
                }
            }
            Err(Halt::ClockOff | Halt::Stopped) => Some(now),
        };
        let Some(entry) = self.agenda.end(snapshot.name()) else { return };
        let again = std::mem::take(&mut entry.again);
        let requested = self.control.of(snapshot.name()).requests > entry.handled && !entry.stands_by;
        let soon = requested.then(|| next.unwrap_or(now + RETRY_DELAY).min(now + RETRY_DELAY));
        self.agenda.wake(snapshot.name(), if again { Some(now) } else { soon.or(next) });
    }

    fn observed(&mut self, snapshot: &Arc<JobSnapshot>, seen: &Observation) -> Option<UnixTime> {
        let now = self.context.clock.now();
        let entry = self.agenda.get(snapshot.name())?;
        entry.handled = entry.handled.max(seen.handled);
        entry.broken = false;
        standing::observed(&self.context, entry, seen, now);
        seen.next
    }

    /// Checks the jobs that follow those that have just succeeded. Other replicas look every minute.
    fn check_followers(&mut self) {
        let mut succeeded = Vec::new();
        self.context.succeeded.send_if_modified(|jobs| {
            succeeded = std::mem::take(jobs);
            false
        });
        let now = self.context.clock.now();
        for follower in succeeded.iter().flat_map(|job| self.agenda.followers(job)).collect::<Vec<_>>() {
            self.check_soon(&follower, now);
        }
    }

    /// Reports a failure once; a lost lock was already reported as the end of the run. Returns true if the lock was lost.
    fn attempt_failed(&mut self, snapshot: &Arc<JobSnapshot>, error: &crate::Error) -> bool {
        let lost = error.is_loss();
        let Some(entry) = self.agenda.get(snapshot.name()) else { return lost };
        if !lost && !std::mem::replace(&mut entry.broken, true) {
            self.context.emit(snapshot.name(), EventKind::Broken { error: error.to_string() });
        }
        lost
    }

    /// Applies the requests of operators.
    fn apply_requests(&mut self) {
        let control = self.context.control.borrow().clone();
        let before = std::mem::replace(&mut self.control, control.clone());
        self.pause_end = control.next_end();
        let now = self.context.clock.now();
        let (group, was) = (&control.group, &before.group);
        if group.pause != was.pause {
            self.context.emit_group(match &group.pause {
                Some(pause) => pausing::begun(pause),
                None => pausing::over(was.pause.as_ref(), group.resumed_at, &group.by),
            });
            for name in self.agenda.names() {
                self.check_soon(&name, now);
            }
        }
        for job in control.changed(&before) {
            let Some(name) = self.check_soon(job, now) else { continue };
            let (asked, was) = (control.own(job), before.own(job));
            if asked.pause != was.pause {
                self.context.emit(
                    &name,
                    match &asked.pause {
                        Some(pause) => pausing::begun(pause),
                        None => pausing::over(was.pause.as_ref(), asked.resumed_at, &asked.by),
                    },
                );
            }
        }
    }

    /// What follows from that is done when the change is seen, as for the requests of operators.
    fn end_pauses(&self) {
        let now = self.context.clock.now();
        self.context.control.send_if_modified(|control| Arc::make_mut(control).expire(now));
    }

    /// Checks a job again because requests have changed.
    fn check_soon(&mut self, job: &str, now: UnixTime) -> Option<Arc<str>> {
        let entry = self.agenda.get(job)?;
        entry.again = entry.active;
        let name = entry.snapshot.name().clone();
        self.agenda.wake(&name, Some(now));
        Some(name)
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            // There is no shutdown.
            Command::EndGrace => {}
            Command::Next(answer) => drop(answer.send(self.agenda.list())),
            Command::Replace(jobs, done) => {
                let (jobs, others) = jobs.into_iter().partition(|job| self.context.settings.is_for(job));
                self.replace(jobs);
                self.leave(others);
                let _ = done.send(());
            }
            Command::Put(job, done) => {
                match self.context.settings.is_for(&job) {
                    true => self.put(vec![*job]),
                    false => {
                        // It may have been one for this host before.
                        self.remove(&job.name);
                        self.leave(vec![*job]);
                    }
                }
                let _ = done.send(());
            }
            Command::Remove(job, done) => drop(done.send(self.remove(&job))),
        }
    }

    fn remove(&mut self, job: &str) -> bool {
        let was_there = self.agenda.remove(job);
        self.context.presence.has(self.agenda.names().iter());
        was_there
    }

    /// Leaves jobs to hosts with other labels.
    fn leave(&self, jobs: Vec<Job>) {
        let context = self.context.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = context.stopping(Stop::Starts) => {}
                () = elsewhere::make_known(context.clone(), jobs) => {}
            }
        });
    }

    fn replace(&mut self, jobs: Vec<Job>) {
        for name in self.agenda.names() {
            if !jobs.iter().any(|job| job.name == name) {
                self.agenda.remove(&name);
            }
        }
        self.put(jobs);
    }

    fn put(&mut self, jobs: Vec<Job>) {
        let (context, names) = (self.context.clone(), jobs.clone());
        for job in jobs {
            self.set(job);
        }
        self.context.presence.has(self.agenda.names().iter());
        tokio::spawn(async move { register(&context, &names).await });
    }

    /// Sets a job; one with an unchanged definition is not affected.
    fn set(&mut self, job: Job) {
        match self.agenda.get(&job.name) {
            Some(entry) if entry.snapshot.is_same(&job) => {
                entry.snapshot = entry.snapshot.renewed(job);
            }
            _ => self.define(job),
        }
    }
}
