//! One run, from start to report.

use super::fleet::Fleet;
use super::injector::Injector;
use super::report::Report;
use super::trouble::{NoTrouble, Trouble};
use crate::history::{Happened, History, Limits, Recorder, read_all};
use crate::holder::{Habits, Orders};
use crate::resource::{Resource, State};
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
    /// The run is over after this many acquisitions …
    pub acquisitions: usize,
    /// … and this many kills …
    pub kills: usize,
    /// … and this many faults, kills among them, however fast the machine …
    pub faults: usize,
    /// … or after this time, and then it is void.
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
            kills: 0,
            faults: 0,
            patience: Duration::from_secs(60),
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
        let outcome = trouble.end()?;
        let unfinished = fleet.end(LAST_WORD)?;
        let happened = Happened {
            planned: (injector.kills + injector.stops).max(self.kills) + outcome.planned,
            confirmed: injector.confirmed + outcome.confirmed,
            acquisitions: self.acquisitions,
            faults: self.faults,
        };
        let mut history = History::of(read_all(&self.orders.log)?);
        history.ended = outcome.ended;
        let states: Vec<[State; 2]> = resources.iter().map(both).collect::<Result<_, _>>()?;
        let mut report = Report::of(history, &states, happened, &self.limits);
        report.violations.extend(outcome.violations);
        (report.kills, report.stops, report.unfinished) = (injector.kills, injector.stops, unfinished);
        (report.planned, report.confirmed) = (happened.planned, happened.confirmed);
        Ok(report)
    }

    fn drive(
        &self,
        fleet: &mut Fleet,
        resources: &[[Resource; 2]],
        trouble: &mut dyn Trouble,
    ) -> io::Result<Injector> {
        let mut rng = StdRng::seed_from_u64(self.orders.seed);
        let mut injector = Injector::new(&self.injections, &mut rng);
        let last = Instant::now() + self.patience;
        while Instant::now() < last {
            // Everybody writes to the one that does not check.
            let states: Vec<State> = resources.iter().map(|[_, u]| u.state()).collect::<Result<_, _>>()?;
            let holder = states[rng.random_range(0..states.len())].process;
            let writes: u64 = states.iter().map(|s| s.writes).sum();
            let faults = injector.confirmed + trouble.confirmed();
            if writes as usize >= self.acquisitions && injector.kills >= self.kills && faults >= self.faults {
                break;
            }
            injector.step(fleet, holder, &mut rng)?;
            trouble.step()?;
            std::thread::sleep(TICK);
        }
        Ok(injector)
    }
}

fn both([checked, unchecked]: &[Resource; 2]) -> io::Result<[State; 2]> {
    Ok([checked.state()?, unchecked.state()?])
}

/// How often the harness looks.
const TICK: Duration = Duration::from_micros(500);

/// The time for the processes to finish what they have begun.
const LAST_WORD: Duration = Duration::from_secs(20);
