//! `cotter migrate`: creates the tables of a store.

use crate::store::Chosen;
use clap::Args;
use cotter_console::{Console, Exit, Failure};
use serde_json::json;
use std::io::Write;

/// Create the tables that the store needs
///
/// Whatever already exists is left as it is, so this can be run before every deployment. No other command creates tables.
/// Stores without tables need nothing.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// Only print the statements, for a review, for another account to run, or for a migration of your own
    ///
    /// They can be repeated, and neither begin nor end a transaction.
    #[arg(long)]
    print: bool,
    /// Print the statements that drop the tables again, with all locks, notes and last tokens in them
    ///
    /// Nobody may use the store any more when they are run.
    #[arg(long, requires = "print")]
    drop: bool,
}

/// Creates the tables, or prints the statements.
pub(crate) async fn run(args: &Migrate, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let schema = store.schema()?;
    let shown = if args.drop { store.drop_statements()? } else { schema.clone() };
    let is_to_be_run = schema.is_some() && !args.print;
    if is_to_be_run {
        store.migrate(console).await?;
    }
    if console.json {
        let what = if args.drop { "drop" } else { "schema" };
        writeln!(console.out(), "{}", json!({ what: shown, "migrated": is_to_be_run }))?;
        return Ok(Exit::Done);
    }
    let url = store.public_url();
    match (schema, shown) {
        (_, Some(shown)) if args.print => writeln!(console.out(), "{}", shown.trim_end())?,
        (Some(_), None) => {
            console.remark(&format!("the table of {url} is not cotter's own, and is not dropped"))
        }
        (Some(_), _) => console.remark(&format!("the tables of {url} are in place")),
        (None, _) => console.remark(&format!("{url} needs no tables")),
    }
    Ok(Exit::Done)
}
