//! `cotter prune`: deletes what is left of names that nobody uses any more.

use crate::store::Chosen;
use clap::Args;
use cotter::{Client, PruneOrder, PruneOutcome, Pruned};
use cotter_console::duration::{parse, since, words};
use cotter_console::lock::stamp;
use cotter_console::{Console, Exit, Failure, clean};
use serde_json::json;
use std::io::Write;
use std::time::Duration;

/// Delete the files of names that are no longer used
///
/// Only file: keeps files for each name, so names that contain a date or a commit pile up. A name is deleted if it has not
/// been used for the given time, and nobody holds it or waits for it. Locks can be taken meanwhile, so this can be run from
/// cron. On other stores it fails with 64: there is nothing to prune.
///
/// Tokens keep rising, as long as the clock is not set back by more than the given time.
#[derive(Debug, Args)]
pub(crate) struct Prune {
    /// Delete only names that begin with this
    prefix: Option<String>,
    /// Delete only names that have not been used for this long
    #[arg(long, value_name = "DUR", value_parser = parse, default_value = "30d")]
    older_than: Duration,
    /// Also delete names with notes, and the notes themselves, if those are as old: latches, completed slots, and what a
    /// scheduler knows about its jobs
    #[arg(long)]
    notes: bool,
    /// Only print what would be deleted
    #[arg(long)]
    dry_run: bool,
}

/// Deletes the names, and prints them.
pub(crate) async fn run(args: &Prune, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder(), console).await?;
    let mut order = PruneOrder::unused_for(args.older_than);
    order.prefix = args.prefix.clone().unwrap_or_default();
    (order.notes_too, order.dry_run) = (args.notes, args.dry_run);
    let mut pruning = client.admin().prune(order);
    let mut kept = Kept::default();
    let mut found = false;
    while let Some(pruned) = pruning.next().await? {
        found |= pruned.outcome == PruneOutcome::Deleted;
        if console.json {
            writeln!(console.out(), "{}", line(&pruned, args))?;
        } else if pruned.outcome == PruneOutcome::Deleted {
            writeln!(console.out(), "{}: {}", clean(&pruned.name), deleted(&pruned, args))?;
        } else {
            kept.count(&pruned, console);
        }
    }
    kept.print(console);
    if !found && !console.json {
        let whose = clean(&client.info().instance);
        console.confirm(&format!("nothing to prune in {whose}"));
    }
    Ok(Exit::Done)
}

fn deleted(pruned: &Pruned, args: &Prune) -> String {
    let done = if args.dry_run { "would be deleted" } else { "deleted" };
    format!("{done}, last used {} ago", words(since(pruned.last_used)))
}

fn line(pruned: &Pruned, args: &Prune) -> serde_json::Value {
    let (result, why) = match &pruned.outcome {
        PruneOutcome::Deleted if args.dry_run => ("would_be_deleted", None),
        PruneOutcome::Deleted => ("deleted", None),
        PruneOutcome::HasNotes => ("has_notes", None),
        PruneOutcome::AheadOfClock => ("ahead_of_clock", None),
        PruneOutcome::Denied(why) => ("denied", Some(why)),
        _ => ("kept", None),
    };
    let mut object =
        json!({ "name": pruned.name.as_str(), "result": result, "last_used": stamp(pruned.last_used) });
    if let Some(why) = why {
        object["why"] = json!(why);
    }
    object
}

/// Names that are old enough, and were kept.
#[derive(Default)]
struct Kept {
    with_notes: u64,
    ahead: u64,
}

impl Kept {
    /// Names that this process may not delete are printed at once; the others, of which there may be many, are counted.
    fn count(&mut self, pruned: &Pruned, console: &Console) {
        match &pruned.outcome {
            PruneOutcome::HasNotes => self.with_notes += 1,
            PruneOutcome::AheadOfClock => self.ahead += 1,
            other => console.warning(&format!("{:?}: {other}", clean(&pruned.name))),
        }
    }

    fn print(&self, console: &Console) {
        if self.with_notes > 0 {
            let names = names(self.with_notes);
            console.confirm(&format!("{names} with notes kept; --notes deletes these too"));
        }
        if self.ahead > 0 {
            let names = names(self.ahead);
            console
                .warning(&format!("{names} kept, because the last token is ahead of the clock of this host"));
        }
    }
}

fn names(count: u64) -> String {
    if count == 1 { "1 name".to_owned() } else { format!("{count} names") }
}
