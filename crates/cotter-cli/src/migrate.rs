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
    /// Only print the statements, for a review or for another account to run
    #[arg(long)]
    print: bool,
}

/// Creates the tables, or prints the statements.
pub(crate) async fn run(args: &Migrate, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let schema = store.schema()?;
    if !args.print && schema.is_some() {
        store.migrate(console).await?;
    }
    if console.json {
        let text = json!({ "schema": schema, "migrated": schema.is_some() && !args.print });
        writeln!(console.out(), "{text}")?;
        return Ok(Exit::Done);
    }
    match schema {
        Some(schema) if args.print => writeln!(console.out(), "{}", schema.trim_end())?,
        Some(_) => console.remark(&format!("the tables of {} are in place", store.public_url())),
        None => console.remark(&format!("{} needs no tables", store.public_url())),
    }
    Ok(Exit::Done)
}
