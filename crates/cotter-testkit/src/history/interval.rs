//! Holds and waits, made of events.

use super::{Event, Life, Use, What};
use std::collections::{BTreeMap, HashMap};

/// A run: who believed to hold what from when to when, and who waited.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// In order of their beginning.
    pub holds: Vec<Hold>,
    /// In order of their beginning.
    pub waits: Vec<Wait>,
    /// By number.
    pub processes: BTreeMap<u32, Life>,
    /// When the last thing happened.
    pub end: u64,
    /// Waits that an error ended, in words.
    pub errors: Vec<String>,
    /// When sessions in the store were ended by the harness: from when, and until when that had been done.
    pub ended: Vec<(u64, u64)>,
}

/// Somebody believed to hold a name, from `got` to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// What.
    pub name: String,
    /// Who.
    pub process: u32,
    /// Which attempt of the process.
    pub attempt: u64,
    /// How.
    pub mode: Use,
    /// The fencing token.
    pub token: u64,
    /// Before the lock was asked for.
    pub asked: u64,
    /// When the guard was returned.
    pub got: u64,
    /// The last deadline that is known.
    pub deadline: Option<u64>,
    /// When the belief ended: [`u64::MAX`] if it did not.
    pub end: u64,
    /// How it ended.
    pub by: Ended,
    /// When the loss was told, if it was.
    pub told: Option<u64>,
    /// When it was given back, if it was.
    pub given_back: Option<u64>,
}

/// How a hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was given back.
    Released,
    /// The loss was told.
    Lost,
    /// Its deadline passed.
    Deadline,
    /// The process was killed.
    Killed,
    /// It did not.
    Never,
}

/// Somebody wanted a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What.
    pub name: String,
    /// Who.
    pub process: u32,
    /// Which attempt of the process.
    pub attempt: u64,
    /// How.
    pub mode: Use,
    /// Whether it stood in line.
    pub patient: bool,
    /// From when.
    pub wanted: u64,
    /// Until when: [`u64::MAX`] if it never ended.
    pub end: u64,
    /// How it ended.
    pub by: WaitEnded,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnded {
    /// With a guard.
    Got,
    /// Without.
    Left,
    /// The process was killed.
    Killed,
    /// It did not.
    Never,
}

impl History {
    /// Puts the events of all processes together, in whatever order they come.
    pub fn of(mut events: Vec<Event>) -> Self {
        events.sort_by_key(|e| e.at);
        let mut history = Self { end: events.last().map_or(0, |e| e.at), ..Self::default() };
        let mut open = Open::default();
        for event in &events {
            history.processes.entry(event.process).or_default().take(event);
            open.take(event, &mut history);
        }
        history.end_with_processes();
        history.holds.sort_by_key(|h| h.got);
        history
    }

    fn end_with_processes(&mut self) {
        for hold in &mut self.holds {
            let killed = self.processes[&hold.process].killed.map(|at| (at, Ended::Killed));
            let deadline = hold.deadline.map(|at| (at, Ended::Deadline));
            for (at, by) in [killed, deadline].into_iter().flatten() {
                if at < hold.end {
                    (hold.end, hold.by) = (at, by);
                }
            }
        }
        for wait in self.waits.iter_mut().filter(|w| w.by == WaitEnded::Never) {
            if let Some(at) = self.processes[&wait.process].killed {
                (wait.end, wait.by) = (at, WaitEnded::Killed);
            }
        }
    }

    /// The names that were used.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.waits.iter().map(|w| w.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The holds of a name, in order of their beginning.
    pub fn holds_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Hold> {
        self.holds.iter().filter(move |h| h.name == name)
    }
}

/// Attempts by process and number, and where they stand in the history.
#[derive(Debug, Default)]
struct Open {
    waits: HashMap<(u32, u64), usize>,
    holds: HashMap<(u32, u64), usize>,
}

impl Open {
    fn take(&mut self, event: &Event, history: &mut History) {
        let (at, process) = (event.at, event.process);
        match &event.what {
            What::Wanted { attempt, name, mode, patient } => {
                self.waits.insert((process, *attempt), history.waits.len());
                history.waits.push(Wait {
                    name: name.clone(),
                    process,
                    attempt: *attempt,
                    mode: *mode,
                    patient: *patient,
                    wanted: at,
                    end: u64::MAX,
                    by: WaitEnded::Never,
                });
            }
            What::Acquired { attempt, token, deadline } => {
                let Some(wait) = self.end_wait(process, *attempt, at, WaitEnded::Got, history) else {
                    return;
                };
                let hold = Hold::new(&wait, at, *token, *deadline);
                self.holds.insert((process, *attempt), history.holds.len());
                history.holds.push(hold);
            }
            What::Releasing { attempt, deadline } => {
                self.end_hold(process, *attempt, history, |h| {
                    h.given_back.get_or_insert(at);
                    h.ends(at, Ended::Released, *deadline);
                });
            }
            What::Lost { attempt, deadline, .. } => {
                self.end_hold(process, *attempt, history, |h| {
                    h.told.get_or_insert(at);
                    h.ends(at, Ended::Lost, *deadline);
                });
            }
            What::Left { attempt, why } => {
                if why.starts_with(ERROR) {
                    history.errors.push(why.clone());
                }
                self.end_wait(process, *attempt, at, WaitEnded::Left, history);
            }
            What::Released { .. } | What::Finished | What::Killed | What::Stopped | What::Continued => {}
        }
    }

    fn end_wait(
        &self,
        process: u32,
        attempt: u64,
        at: u64,
        by: WaitEnded,
        history: &mut History,
    ) -> Option<Wait> {
        let wait = &mut history.waits[*self.waits.get(&(process, attempt))?];
        (wait.end, wait.by) = (at, by);
        Some(wait.clone())
    }

    fn end_hold(&self, process: u32, attempt: u64, history: &mut History, end: impl FnOnce(&mut Hold)) {
        if let Some(&at) = self.holds.get(&(process, attempt)) {
            end(&mut history.holds[at]);
        }
    }
}

impl Hold {
    fn new(wait: &Wait, got: u64, token: u64, deadline: Option<u64>) -> Self {
        Self {
            name: wait.name.clone(),
            process: wait.process,
            attempt: wait.attempt,
            mode: wait.mode,
            token,
            asked: wait.wanted,
            got,
            deadline,
            end: u64::MAX,
            by: Ended::Never,
            told: None,
            given_back: None,
        }
    }

    /// The first end counts; a later deadline is one that a renewal has moved.
    fn ends(&mut self, at: u64, by: Ended, deadline: Option<u64>) {
        self.deadline = self.deadline.max(deadline);
        if at < self.end {
            (self.end, self.by) = (at, by);
        }
    }

    /// Whether it was believed in for any time at all.
    pub fn is_real(&self) -> bool {
        self.got < self.end
    }
}

/// How the reason of a wait begins that an error ended.
const ERROR: &str = "error: ";
