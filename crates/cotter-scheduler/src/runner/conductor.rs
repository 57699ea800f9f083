//! The loop: what happens when, and in which order.

use super::agenda::Agenda;
use super::attempt::{attempt, enrol, fallback};
use super::context::{Context, Halt, Stop};
use super::enlist;
use super::post::{Post, Seen};
use crate::definition::Definition;
use crate::handle::Command;
use crate::notes::Control;
use crate::{EventKind, Job, UnixTime};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{Id, JoinError, JoinSet};

/// How long runs that were told to stop may take beyond their own `stop_within`; what is left then never yields.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// What could not be done is tried again so soon.
const SOON: Duration = Duration::from_secs(1);

pub(super) struct Conductor {
    context: Arc<Context>,
    agenda: Agenda,
    attempts: JoinSet<Result<Seen, Halt>>,
    /// Which attempt is whose.
    posts: HashMap<Id, Arc<Post>>,
    control: Arc<Control>,
}

impl Conductor {
    pub(super) fn new(context: &Arc<Context>, jobs: Vec<Job>) -> Self {
        let control = context.control.borrow().clone();
        let (attempts, posts) = (JoinSet::new(), HashMap::new());
        let mut this = Self { context: context.clone(), agenda: Agenda::default(), attempts, posts, control };
        for job in jobs {
            this.define(job);
        }
        this
    }

    /// Until `stop` completes.
    pub(super) async fn conduct(
        &mut self,
        mut commands: UnboundedReceiver<Command>,
        mut stop: Pin<&mut impl Future>,
    ) {
        let mut asked = self.context.control.subscribe();
        let mut off = self.context.off.subscribe();
        loop {
            self.start_due();
            let clock = self.context.clock.clone();
            let next = self.agenda.earliest().filter(|_| !*off.borrow_and_update());
            tokio::select! {
                biased;
                _ = &mut stop => return,
                Some(done) = self.attempts.join_next_with_id() => self.finished(done),
                Ok(()) = asked.changed() => self.heard(),
                Some(command) = commands.recv() => self.obey(command),
                Ok(()) = off.changed() => {}
                () = async { clock.sleep_until(next.expect("checked")).await }, if next.is_some() => {}
            }
        }
    }

    /// Starts nothing more, and ends what is left after the grace.
    pub(super) async fn stop(&mut self, grace: Duration) {
        self.context.stop.send_replace(Stop::Starts);
        self.all_done(grace).await;
        self.context.stop.send_replace(Stop::Runs);
        let longest = self.posts.values().map(|post| post.job.policy.stop_within).max();
        self.all_done(longest.unwrap_or_default() + LAST_WAIT).await;
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
        let definition = Definition::of(&job, &self.context.settings.group, now);
        let name = job.name.clone();
        self.agenda.put(Post::new(job, definition));
        self.agenda.wake(&name, Some(now));
    }

    fn start_due(&mut self) {
        if self.context.is_off() {
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
            let fresh = std::mem::take(&mut entry.fresh);
            let (context, post) = (self.context.clone(), entry.post.clone());
            let looking = async move {
                if fresh { enrol(&context, &post).await } else { attempt(&context, &post).await }
            };
            let id = self.attempts.spawn(looking).id();
            self.posts.insert(id, self.agenda.get(&name).expect("just seen").post.clone());
        }
    }

    fn finished(&mut self, done: Result<(Id, Result<Seen, Halt>), JoinError>) {
        let (id, seen) = match done {
            Ok((id, seen)) => (id, seen),
            Err(e) => (
                e.id(),
                Err(Halt::Failed(crate::Error::job("", format!("the runner's own task ended: {e}")))),
            ),
        };
        let Some(post) = self.posts.remove(&id) else { return };
        let now = self.context.clock.now();
        let next = match seen {
            Ok(seen) => self.seen(&post, &seen),
            Err(Halt::Failed(error)) => {
                let lost = self.failed(&post, &error);
                // What is overdue after a loss is late; what is broken stays so for a while.
                if lost { Some(now + SOON) } else { fallback(&post, None, now).max(Some(now + SOON)) }
            }
            Err(Halt::ClockOff | Halt::Stopped) => Some(now),
        };
        let Some(entry) = self.agenda.get(post.name()) else { return };
        entry.active = false;
        let again = std::mem::take(&mut entry.again);
        let requested = self.control.of(post.name()).requests > entry.handled && !entry.stands_by;
        let soon = requested.then(|| next.unwrap_or(now + SOON).min(now + SOON));
        self.agenda.wake(post.name(), if again { Some(now) } else { soon.or(next) });
    }

    fn seen(&mut self, post: &Arc<Post>, seen: &Seen) -> Option<UnixTime> {
        let entry = self.agenda.get(post.name())?;
        entry.handled = entry.handled.max(seen.handled);
        entry.broken = false;
        if std::mem::replace(&mut entry.stands_by, seen.stands_by) != seen.stands_by {
            let why = "another definition of the job holds: a larger generation, or a newer start".to_owned();
            let kind = if seen.stands_by { EventKind::StandsBy { why } } else { EventKind::Again };
            self.context.tell(post.name(), kind);
        }
        seen.next
    }

    /// Told once; a loss of the lock is told by how the run ended. True for such a loss.
    fn failed(&mut self, post: &Arc<Post>, error: &crate::Error) -> bool {
        let lost = error.is_loss();
        let Some(entry) = self.agenda.get(post.name()) else { return lost };
        if !lost && !std::mem::replace(&mut entry.broken, true) {
            self.context.tell(post.name(), EventKind::Broken { error: error.to_string() });
        }
        lost
    }

    /// Operators have asked for something.
    fn heard(&mut self) {
        let control = self.context.control.borrow().clone();
        let before = std::mem::replace(&mut self.control, control.clone());
        let now = self.context.clock.now();
        for job in control.changed(&before) {
            let Some(entry) = self.agenda.get(job) else { continue };
            let (asked, name) = (control.of(job), entry.post.name().clone());
            entry.again = entry.active;
            self.agenda.wake(job, Some(now));
            if asked.paused != before.of(job).paused {
                self.context.tell(&name, EventKind::Paused { yes: asked.paused, by: asked.by });
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Next(answer) => drop(answer.send(self.agenda.list())),
            Command::Replace(jobs, done) => {
                self.replace(jobs);
                let _ = done.send(());
            }
        }
    }

    fn replace(&mut self, jobs: Vec<Job>) {
        for name in self.agenda.names() {
            if !jobs.iter().any(|job| job.name == name) {
                self.agenda.remove(&name);
            }
        }
        let (context, names) = (self.context.clone(), jobs.clone());
        for job in jobs {
            match self.agenda.get(&job.name) {
                Some(entry) if entry.post.is_same(&job) => {
                    let definition = entry.post.definition.clone();
                    entry.post = Post::new(job, definition);
                }
                _ => self.define(job),
            }
        }
        tokio::spawn(async move { enlist(&context, &names).await });
    }
}
