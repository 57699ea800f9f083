//! What a process is asked to do.

use super::Shared;
use super::process::{Process, broken, was_killed};
use super::slot::Slot;
use crate::client::{Answer, ask};
use crate::history::What;
use cotter_console::{Exit, Failure};
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Before somebody asks again for what failed, and before a process that ended is started again.
const PAUSE: Duration = Duration::from_millis(200);
/// Before a process that was paused is asked for anything: what it does until then it does on its own.
const AFTER_A_PAUSE: Duration = Duration::from_millis(100);

/// How a turn of a process ended.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Done,
    Failed,
    /// The process says nothing more.
    Gone,
}

/// Starts a process again and again, until the run is over.
pub(super) async fn drive(shared: Rc<Shared>, slot: Rc<Slot>) -> Result<(), Failure> {
    let mut has_ever_answered = false;
    loop {
        let process = Process::start(&shared.program, slot.clone())?;
        shared.log.record(slot.number, What::Started);
        let driver = Driver { shared: &shared, slot: &slot, process: Some(process) };
        let (status, has_answered) = driver.live().await?;
        has_ever_answered |= has_answered;
        if *shared.over.borrow() {
            return Ok(());
        }
        if status.is_some_and(|status| !was_killed(Some(status))) && !has_ever_answered {
            // Its reason is on standard error. It would be the same again.
            let exit = status.map_or(Exit::Protocol, Exit::of_child);
            return Err(Failure::new(exit, "a process ended before it had acquired anything"));
        }
        sleep(PAUSE).await;
    }
}

/// When all have ended: each name can be had by somebody else.
pub(super) async fn probe(shared: &Rc<Shared>) -> Result<(), Failure> {
    let slot = Rc::new(Slot::new(shared.slots.len() as u32 + 1));
    let process = Process::start(&shared.program, slot.clone())?;
    shared.log.record(slot.number, What::Started);
    let mut driver = Driver { shared, slot: &slot, process: Some(process) };
    // A little longer than anybody may wait.
    let longest = shared.bounds.patience + Duration::from_secs(1);
    for name in &shared.names {
        // Whoever is gone, because the store is away, can be asked for nothing more.
        let Ok(turn) = timeout(longest, driver.turn(name)).await else { break };
        if turn? == Turn::Gone {
            break;
        }
    }
    driver.end().await;
    Ok(())
}

struct Driver<'a> {
    shared: &'a Shared,
    slot: &'a Rc<Slot>,
    /// Until it ends.
    process: Option<Process>,
}

impl Driver<'_> {
    /// Until the process or the run ends. How the process ended, and whether it had got anything.
    async fn live(mut self) -> Result<(Option<ExitStatus>, bool), Failure> {
        let mut has_answered = false;
        while !*self.shared.over.borrow() {
            let name = &self.shared.names[rand::random_range(0..self.shared.names.len())];
            match self.turn(name).await? {
                Turn::Done => has_answered = true,
                Turn::Failed => sleep(PAUSE).await,
                Turn::Gone => break,
            }
        }
        Ok((self.end().await, has_answered))
    }

    /// Waits for the end of a process that has nothing more to do, or nothing more to say.
    async fn end(mut self) -> Option<ExitStatus> {
        let status = match self.process.take() {
            Some(process) => process.ended().await,
            None => None,
        };
        self.has_ended(status);
        status
    }

    fn has_ended(&self, status: Option<ExitStatus>) {
        match self.slot.killed.take() {
            Some(at) if was_killed(status) => self.shared.log.record_at(at, self.slot.number, What::Killed),
            _ => self.say(What::Ended),
        }
    }

    /// Acquires, works, and releases.
    async fn turn(&mut self, name: &str) -> Result<Turn, Failure> {
        self.say(What::Asked { name: name.to_owned() });
        self.ask(&ask::acquire(name)).await;
        match self.answer().await? {
            Some(Answer::Acquired { .. }) => self.slot.holds.set(true),
            Some(Answer::Failed { .. }) => return Ok(Turn::Failed),
            Some(other) => return Err(self.unexpected(&other, "acquired")),
            None => return Ok(Turn::Gone),
        }
        let is_gone = self.work().await?;
        self.slot.holds.set(false);
        if is_gone {
            return Ok(Turn::Gone);
        }
        // Before it is asked: from now on it does not believe any more.
        self.say(What::Releasing);
        self.ask(ask::RELEASE).await;
        loop {
            match self.answer().await? {
                Some(Answer::Released) => return Ok(Turn::Done),
                Some(Answer::Failed { .. }) => return Ok(Turn::Failed),
                // On their way when it was asked.
                Some(Answer::Renewed { .. } | Answer::Lost { .. }) => {}
                Some(other) => return Err(self.unexpected(&other, "released")),
                None => return Ok(Turn::Gone),
            }
        }
    }

    /// Holds the lock for a while, and for longer if the process is paused. Whether the process is gone.
    async fn work(&mut self) -> Result<bool, Failure> {
        let work = rand::random_range(0.0..1.0);
        // Not counted again from each renewal: a lease that is renewed more often would never end.
        let mut end = Instant::now() + self.shared.work.mul_f64(work);
        loop {
            tokio::select! {
                biased;
                answer = self.answer() => match answer? {
                    Some(Answer::Renewed { .. }) => continue,
                    Some(Answer::Lost { .. }) => self.slot.holds.set(false),
                    Some(other) => return Err(self.unexpected(&other, "lost")),
                    None => return Ok(true),
                },
                () = sleep_until(end) => if !self.slot.is_paused.get() {
                    return Ok(false);
                },
            }
            end = Instant::now() + AFTER_A_PAUSE;
        }
    }

    async fn ask(&mut self, request: &str) {
        if let Some(process) = &mut self.process {
            process.ask(request).await;
        }
    }

    /// The next line of the process, recorded.
    async fn answer(&mut self) -> Result<Option<Answer>, Failure> {
        let Some(process) = &mut self.process else { return Ok(None) };
        let answer = process.answer().await?;
        if let Some(answer) = &answer {
            self.say(answer.clone().what());
        }
        Ok(answer)
    }

    fn say(&self, what: What) {
        self.shared.log.record(self.slot.number, what);
    }

    fn unexpected(&self, answer: &Answer, due: &str) -> Failure {
        broken(self.slot.number, &format!("`{}` instead of `{due}` or `failed`", answer.line()))
    }
}

/// A process that is not waited for any more is killed.
impl Drop for Driver<'_> {
    fn drop(&mut self) {
        if self.process.take().is_some() {
            self.has_ended(None);
        }
    }
}
