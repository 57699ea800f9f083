//! `cotter bench`: what this store does here, beside its own raw calls.
//!
//! | file | concept |
//! |---|---|
//! | `scratch` | names that nobody else uses, and what becomes of them |
//! | `measure` | what is measured |
//! | `raw` | the same without cotter |
//! | `partner` | the other process |
//! | `figure` | one figure, and how it is shown |

mod figure;
mod measure;
mod partner;
mod raw;
mod scratch;

use crate::duration::parse_positive;
use crate::exit::Exit;
use crate::live::Live;
use crate::output::{Console, Failure};
use crate::stops::Stops;
use crate::store::Chosen;
use clap::Args;
use figure::Figure;
use partner::Partner;
use raw::Raw;
use scratch::Scratch;
use std::time::Duration;

/// Measure what this store does here
///
/// Locks and releases on the chosen store, alone and with many tasks, with names of their own and with one for all, and
/// from this process to another one; each beside what the same takes without cotter, where that can be said: flock on a
/// file, SET NX PX and compare-and-delete on Redis, a mutex of the program for memory:.
///
/// The names are random, so that no lock in use is touched. A file: store gets a folder for the time, which is removed;
/// on Redis the keys are gone a second after their last use. Other work on the machine or the store spoils the figures,
/// and this spoils that work's.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// How long each figure is measured
    #[arg(long, value_name = "DUR", default_value = "1s", allow_hyphen_values = true, value_parser = parse_positive)]
    time: Duration,
    /// How many tasks are many
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tasks: u32,
    /// Be the other process for this name.
    #[arg(long, hide = true)]
    partner: Option<String>,
}

/// Runs it.
pub(crate) async fn run(args: &Bench, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    if let Some(name) = &args.partner {
        return partner::play(name, store, console).await;
    }
    let mut stops = Stops::listen()?;
    let scratch = Scratch::new(store, console).await?;
    tokio::select! {
        biased;
        signal = stops.next() => Ok(Exit::Interrupted(signal)),
        done = all(args, store, &scratch, console) => done.map(|()| Exit::Done),
    }
}

async fn all(args: &Bench, store: &Chosen, scratch: &Scratch, console: &Console) -> Result<(), Failure> {
    let live = Live::new(!console.quiet && !console.json);
    let show = |figure: Figure| {
        live.clear();
        figure.show(console)
    };
    let raw = Raw::of(store, scratch).await?;
    figure::title(scratch.instance(), console)?;
    let mut counts = vec![1, args.tasks];
    counts.dedup();
    for tasks in counts {
        let figure = Figure::pairs(tasks);
        live.say(&format!("measuring: {}", figure.name));
        let ours = measure::pairs(scratch, tasks, args.time).await?;
        let theirs = raw.pairs(tasks, args.time).await?;
        show(figure.with(ours, theirs))?;
    }
    let figure = Figure::one_name(args.tasks);
    live.say(&format!("measuring: {}", figure.name));
    let ours = measure::one_name(scratch, args.tasks, args.time).await?;
    show(figure.with(ours, raw.one_name(args.tasks, args.time).await))?;
    if scratch.is_shared() {
        live.say("measuring: to another process");
        let mut partner = Partner::start(scratch).await?;
        let times = measure::handovers(scratch, &mut partner, args.time).await;
        partner.stop().await;
        show(Figure::handover(times?))?;
    }
    Ok(())
}
