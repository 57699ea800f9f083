//! One run, from start to report.

use super::enough::{Judge, lacks};
use super::fleet::Fleet;
use super::injector::Injector;
use super::report::Report;
use super::trouble::{NoTrouble, Trouble};
use crate::history::{Happened, History, Kind, Limits, Recorder, Violation, read_all, violation};
use crate::holder::{Habits, Orders};
use crate::resource::{Resource, State};
use crate::timing::watch_the_machine;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fs::create_dir_all;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The faults that a run gives its processes.
#[derive(Debug, Clone, Default)]
pub struct Injections {
    /// The time between two kills, in microseconds.
    pub kill_every: Option<Range<u64>>,
    /// This part of the kills is for one that has just read a guarded resource; the others are for anybody.
    pub kill_holders: f64,
    /// The time between two stops, in microseconds.
    pub stop_every: Option<Range<u64>>,
    /// The length of a stop, in microseconds.
    pub stop_for_us: Range<u64>,
}

/// Processes that take locks of one store while things are done to them.
#[derive(Debug, Clone)]
pub struct Run {
    program: PathBuf,
    folder: PathBuf,
    /// The orders of each process, except for its number and its log.
    pub orders: Orders,
    /// How many live at once.
    pub processes: usize,
    /// The faults of the processes.
    pub injections: Injections,
    /// The run goes on, however fast the machine, until there were this many acquisitions since all processes have begun …
    pub acquisitions: usize,
    /// … and this many waits for somebody else …
    pub contended: usize,
    /// … and this many kills …
    pub kills: usize,
    /// … and this many times from the kill of a holder to the next one …
    pub after_kills: usize,
    /// … and this many faults, kills among them, of each planned kind at least one. That is no matter of luck: the kinds are drawn
    /// from a [deck](crate::Deck).
    pub faults: usize,
    /// The far end: a run that still lacks something after this time is void. Many times what it takes.
    pub patience: Duration,
    /// The tolerances of the checker.
    pub limits: Limits,
}

impl Run {
    /// A run of this program (`cotter-holder`) on this store, with its files in `folder`.
    pub fn new(program: impl AsRef<Path>, folder: &Path, url: impl Into<String>) -> Self {
        let orders = Orders {
            url: url.into(),
            process: 0,
            log: folder.join("history"),
            resources: folder.join("resources"),
            names: vec!["one".into()],
            usages: Vec::new(),
            tasks: 8,
            seed: 1,
            local_turns: true,
            ttl_ms: 30_000,
            habits: Habits::Steady,
            work_us: 0,
        };
        Self {
            program: program.as_ref().to_owned(),
            folder: folder.to_owned(),
            orders,
            processes: 4,
            injections: Injections::default(),
            acquisitions: 1000,
            contended: 0,
            kills: 0,
            after_kills: 0,
            faults: 0,
            patience: Duration::from_secs(300),
            limits: Limits::default(),
        }
    }

    /// Runs it, and checks its history.
    ///
    /// # Errors
    /// Processes cannot be started or signalled, files cannot be read.
    pub fn go(&self) -> io::Result<Report> {
        self.go_under(&mut NoTrouble)
    }

    /// The same while the store is in trouble.
    ///
    /// # Errors
    /// As [`go`](Self::go).
    pub fn go_under(&self, trouble: &mut dyn Trouble) -> io::Result<Report> {
        watch_the_machine();
        for folder in [&self.folder, &self.orders.log, &self.orders.resources] {
            create_dir_all(folder)?;
        }
        let log = Recorder::to_file(&self.orders.log.join("injector.jsonl"), 0)?;
        let resources: Vec<_> =
            self.orders.names.iter().map(|n| self.orders.resources_of(n)).collect::<Result<_, _>>()?;
        let mut fleet = Fleet::new(self.program.clone(), self.orders.clone(), log);
        for _ in 0..self.processes {
            fleet.start()?;
        }
        let injector = self.drive(&mut fleet, &resources, trouble)?;
        let missing = injector.lacks(self.kills).or_else(|| trouble.lacks());
        let outcome = trouble.end()?;
        let unfinished = fleet.end(LAST_WORD)?;
        let happened = self.happened(&injector, (outcome.planned, outcome.confirmed));
        let mut history = History::of(read_all(&self.orders.log)?);
        history.ended = outcome.ended;
        let states: Vec<[State; 2]> = resources.iter().map(both).collect::<Result<_, _>>()?;
        let void = |history: &History| -> Vec<Violation> {
            let missing = missing.map(|what| violation(Kind::Void, what));
            missing.into_iter().chain(lacks(history, happened, self.after_kills)).collect()
        };
        let mut report = Report::of(history, &states, void, &self.limits);
        report.violations.extend(outcome.violations);
        (report.kills, report.stops, report.unfinished) = (injector.kills, injector.stops, unfinished);
        (report.planned, report.confirmed) = (happened.planned, happened.confirmed);
        Ok(report)
    }

    /// Until it has all that it is made for.
    fn drive(
        &self,
        fleet: &mut Fleet,
        resources: &[[Resource; 2]],
        trouble: &mut dyn Trouble,
    ) -> io::Result<Injector> {
        let far_end = Instant::now() + self.patience;
        while !fleet.has_begun()? && Instant::now() < far_end {
            std::thread::sleep(TICK);
        }
        let mut rng = StdRng::seed_from_u64(self.orders.seed);
        let (mut injector, mut judge) =
            (Injector::new(&self.injections, &mut rng), Judge::new(&self.orders.log));
        let (writes_before, _) = written(resources, &mut rng)?;
        while Instant::now() < far_end {
            let (writes, holder) = written(resources, &mut rng)?;
            let happened = self.happened(&injector, trouble.so_far());
            let is_met = writes - writes_before >= self.acquisitions as u64
                && injector.lacks(self.kills).is_none()
                && trouble.lacks().is_none()
                && happened.lacks().is_empty();
            if is_met && judge.is_enough(happened, self.after_kills) {
                break;
            }
            injector.step(fleet, holder, &mut rng)?;
            trouble.step()?;
            judge.step()?;
            std::thread::sleep(TICK);
        }
        Ok(injector)
    }

    fn happened(&self, injector: &Injector, (planned, confirmed): (usize, usize)) -> Happened {
        Happened {
            planned: (injector.kills + injector.stops).max(self.kills) + planned,
            confirmed: injector.confirmed + confirmed,
            acquisitions: self.acquisitions,
            contended: self.contended,
            faults: self.faults,
        }
    }
}

/// How often was written, and who has read one of the resources last. Everybody writes to the one that does not check.
fn written(resources: &[[Resource; 2]], rng: &mut StdRng) -> io::Result<(u64, u64)> {
    let states: Vec<State> = resources.iter().map(|[_, u]| u.state()).collect::<Result<_, _>>()?;
    let holder = states[rng.random_range(0..states.len())].process;
    Ok((states.iter().map(|s| s.writes).sum(), holder))
}

fn both([checked, unchecked]: &[Resource; 2]) -> io::Result<[State; 2]> {
    Ok([checked.state()?, unchecked.state()?])
}

/// How often the harness looks.
const TICK: Duration = Duration::from_micros(500);

/// The time for the processes to finish what they have begun.
const LAST_WORD: Duration = Duration::from_secs(20);
