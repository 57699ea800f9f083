//! `cotter bench`: measures the store, compared with its raw calls.
//!
//! | file | concept |
//! |---|---|
//! | `scratch` | unique names, and their clean-up |
//! | `measure` | the measurements |
//! | `race` | several tasks and one name |
//! | `raw`, `mysql`, `redis`, `sqlite` | the same without cotter |
//! | `partner` | the other processes |
//! | `rounds` | minimum, median and maximum of several rounds |
//! | `figure` | a figure and its output |
//! | `plot` | all figures as a picture |

mod figure;
mod measure;
#[cfg(feature = "mysql")]
mod mysql;
mod partner;
mod plot;
mod race;
mod raw;
#[cfg(feature = "redis")]
mod redis;
mod rounds;
mod scratch;
mod sqlite;

use crate::store::Store;
use clap::Args;
use cotter_console::duration::parse_positive;
use cotter_console::{Console, Exit, Failure, StatusLine, StopSignals, created};
use figure::Figure;
use partner::Partner;
use raw::Raw;
use rounds::ROUNDS;
use scratch::Scratch;
use std::path::PathBuf;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// Measure the store
///
/// Locks and releases on the chosen store: one task and many, on one thread and on two, with a name per task and with one
/// name for all, and between processes. Where there is a fair comparison, each figure is shown next to that of the same
/// work without cotter: flock on a file, SET NX PX and compare-and-delete on Redis, two statements on
/// a row on MySQL and MariaDB, two transactions on SQLite, an in-process mutex for memory:.
///
/// Each figure is the median of three rounds, with their minimum and maximum. With one name for all it also shows the
/// share of acquisitions that went to a different task than the one before, and the longest wait.
///
/// The names are random, so that no lock in use is touched. A file: store gets a temporary folder, which is removed; on
/// Redis the keys expire a second after their last use. Other work on the machine or the store distorts the figures, and
/// the measurement slows down other work.
#[derive(Debug, Args)]
pub struct Bench {
    /// The duration of each of the three rounds of a figure
    #[arg(long, value_name = "DUR", default_value = "500ms", allow_hyphen_values = true, value_parser = parse_positive)]
    time: Duration,
    /// The number of tasks in measurements with many tasks
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tasks: u32,
    /// Draw the figures into FILE, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Act as the other process for this name.
    #[arg(long, hide = true)]
    partner: Option<String>,
}

impl Bench {
    /// Runs the measurements.
    pub async fn run(&self, store: &dyn Store, console: &Console) -> Result<Exit, Failure> {
        if let Some(name) = &self.partner {
            return partner::play(name, store, console).await;
        }
        let plot = self.plot.as_deref().map(created).transpose()?;
        let mut stops = StopSignals::listen()?;
        let scratch = Scratch::new(store, console).await?;
        let figures = tokio::select! {
            biased;
            signal = stops.next() => return Ok(Exit::Interrupted(signal)),
            figures = all(self, store, &scratch, console) => figures?,
        };
        if let Some(mut file) = plot {
            plot::draw(scratch.instance(), &figures, &mut file)
                .map_err(|e| Failure::new(Exit::System, format!("--plot: cannot write: {e}")))?;
        }
        Ok(Exit::Done)
    }
}

async fn all(
    args: &Bench,
    store: &dyn Store,
    scratch: &Scratch,
    console: &Console,
) -> Result<Vec<Figure>, Failure> {
    let mut measurements = Measurements {
        args,
        store,
        scratch,
        console,
        live: StatusLine::new(!console.quiet && !console.json),
        figures: Vec::new(),
    };
    figure::title(scratch.instance(), console)?;
    let mut counts = vec![1, args.tasks];
    counts.dedup();
    for tasks in counts {
        measurements.pairs(tasks, 1, &Handle::current()).await?;
    }
    let threads = Threads(Some(Builder::new_multi_thread().worker_threads(2).enable_all().build()?));
    measurements.pairs(args.tasks, 2, &threads.handle()).await?;
    drop(threads);
    measurements.one_name().await?;
    if scratch.is_shared() {
        measurements.several_processes().await?;
        measurements.handover().await?;
    }
    Ok(measurements.figures)
}

/// A second runtime. It is shut down in the background, because an async task must not wait for that.
struct Threads(Option<Runtime>);

impl Threads {
    fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// The context of all measurements, and what they have come to.
struct Measurements<'a> {
    args: &'a Bench,
    store: &'a dyn Store,
    scratch: &'a Scratch,
    console: &'a Console,
    live: StatusLine,
    figures: Vec<Figure>,
}

impl Measurements<'_> {
    fn begin(&self, figure: Figure) -> Figure {
        self.live.say(&format!("measuring: {}", figure.name));
        figure
    }

    fn show(&mut self, figure: Figure) -> Result<(), Failure> {
        self.live.clear();
        figure.show(self.console)?;
        self.figures.push(figure);
        Ok(())
    }

    async fn pairs(&mut self, tasks: u32, threads: u32, on: &Handle) -> Result<(), Failure> {
        let figure = self.begin(Figure::pairs(tasks, threads));
        let raw = Raw::of(self.store, self.scratch, on).await?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(measure::pairs(self.scratch, tasks, self.args.time, on).await?);
            theirs.push(raw.pairs(tasks, self.args.time, on).await?);
        }
        self.show(figure.with(&ours, raw.what().map(|what| (what, &*theirs))))
    }

    async fn one_name(&mut self) -> Result<(), Failure> {
        let (tasks, on) = (self.args.tasks, Handle::current());
        let figure = self.begin(Figure::one_name(1, tasks));
        let raw = Raw::of(self.store, self.scratch, &on).await?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(race::here(self.scratch, tasks, self.args.time).await?);
            theirs.extend(raw.one_name(tasks, self.args.time, &on).await?);
        }
        let beside = raw.what().filter(|_| !theirs.is_empty());
        self.show(figure.with_race(&ours, beside.map(|what| (what, &*theirs))))
    }

    async fn several_processes(&mut self) -> Result<(), Failure> {
        let figure = self.begin(Figure::one_name(race::PROCESSES, race::TASKS));
        let mut partners = Vec::new();
        for _ in 0..race::PROCESSES {
            partners.push(Partner::start(self.scratch).await?);
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(race::elsewhere(&mut partners, self.args.time).await?);
        }
        for partner in partners {
            partner.stop().await;
        }
        self.show(figure.with_race(&rounds, None))
    }

    async fn handover(&mut self) -> Result<(), Failure> {
        let figure = self.begin(Figure::handover());
        let mut partner = Partner::start(self.scratch).await?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(measure::handovers(self.scratch, &mut partner, self.args.time).await?);
        }
        partner.stop().await;
        self.show(figure.with_times(&rounds))
    }
}
