//! `cotter verify check`: a history from elsewhere.

use crate::args::Judgement;
use crate::history::{self, Believed, Mistake};
use crate::report;
use clap::Args;
use cotter_console::{Console, Exit, Failure, clean, created};
use std::path::PathBuf;

/// Judge a history, of --history or from elsewhere
///
/// docs/verify.md has the format of its lines.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The file with the history
    file: PathBuf,
    #[command(flatten)]
    judgement: Judgement,
}

pub(crate) fn run(args: &Check, console: &Console) -> Result<Exit, Failure> {
    let file = clean(&args.file.to_string_lossy());
    let text = std::fs::read_to_string(&args.file)
        .map_err(|e| Failure::config(format!("{file} cannot be read: {e}")))?;
    let mistake = |mistake: Mistake| Failure::config(format!("{file}:{}: {}", mistake.line, mistake.text));
    let events = history::read(&text).map_err(mistake)?;
    let run = Believed::of(&events).map_err(mistake)?;
    let plot = args.judgement.plot.as_deref().map(created).transpose()?;
    let title = format!("the history {file}");
    Ok(report::exit(report::conclude(&title, &run, args.judgement.needed(2), plot, console)?))
}
