//! `cotter show`: one lock; and locks as JSON.

use crate::store::Chosen;
use clap::Args;
use cotter::{Client, Filter, Holder, Mode, Name, Record};
use cotter_console::duration::{millis, since, words};
use cotter_console::lock::{Permits, kind, mode, permits, stamp, token};
use cotter_console::{Console, Exit, Failure, clean};
use serde::Serialize;
use std::io::Write;

/// Show one lock
///
/// Prints its holders, when they acquired it, their tokens, and the number of waiters. Exits with 0 even if the lock is
/// free; with --quiet nothing is printed, and the exit code is 0 if the lock is held and 1 if it is free.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The name of the lock
    pub(crate) name: String,
}

/// Prints one lock.
pub(crate) async fn run(args: &Show, store: &Chosen, console: &Console) -> Result<Exit, Failure> {
    let name = Name::new(&args.name)?;
    let client = store.connect(Client::builder(), console).await?;
    let mut listing = client.admin().list(Filter::exactly(&name).with_free());
    let found = listing.next().await?;
    listing.caution().into_iter().for_each(|caution| console.warning(caution));
    let record = found.unwrap_or_else(|| Record::free(name));
    if console.quiet {
        return Ok(if record.holders.is_empty() { Exit::Free } else { Exit::Done });
    }
    let mut out = console.out();
    if console.json {
        writeln!(out, "{}", json(&record))?;
    } else {
        out.write_all(text(&record).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn text(record: &Record) -> String {
    let mut lines = vec![("name", clean(&record.name))];
    if record.holders.is_empty() {
        lines.push(("held by", "nobody".into()));
        lines.extend(record.last_token.map(|t| ("last token", t.to_string())));
    }
    if let Some(Permits { taken, limit }) = permits(record) {
        lines.push(("permits", format!("{taken} of {limit} taken")));
    }
    for (i, holder) in record.holders.iter().enumerate() {
        if i > 0 {
            lines.push(("", String::new()));
        }
        lines.push(("held by", clean(&holder.label)));
        lines.push(("mode", mode(holder.mode)));
        lines.extend(token(holder).map(|token| ("token", token)));
        lines.extend(holder.pid.map(|pid| ("process", pid.to_string())));
        lines.extend(holder.since.map(|t| ("since", format!("{} ({} ago)", stamp(t), words(since(t))))));
        lines.extend(holder.remaining.map(|left| ("left", words(left))));
    }
    if record.unlisted > 0 {
        lines.push(("", format!("and {} more", record.unlisted)));
    }
    lines.extend(record.waiters.map(|n| ("waiting", n.to_string())));
    lines.into_iter().map(|(key, value)| format!("{}\n", format!("{key:<10}  {value}").trim_end())).collect()
}

/// A lock as a JSON object on one line. Tokens are strings, because not every JSON parser has 64-bit integers.
pub(crate) fn json(record: &Record) -> String {
    let lock = Lock {
        name: &record.name,
        held: !record.holders.is_empty(),
        permits: permits(record),
        holders: record.holders.iter().map(HolderJson::from).collect(),
        unlisted: Some(record.unlisted).filter(|n| *n > 0),
        waiters: record.waiters,
        last_token: record.last_token.map(|t| t.to_string()),
        problem: record.problem.as_deref(),
    };
    serde_json::to_string(&lock).expect("strings, numbers and lists always become JSON")
}

#[derive(Serialize)]
struct Lock<'a> {
    name: &'a str,
    held: bool,
    /// Absent for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<Permits>,
    holders: Vec<HolderJson<'a>>,
    /// The number of further holders; absent if all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted: Option<u64>,
    waiters: Option<u32>,
    last_token: Option<String>,
    /// Why the record is not complete; absent if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

#[derive(Serialize)]
struct HolderJson<'a> {
    label: &'a str,
    mode: &'static str,
    /// The number of permits that it holds; absent for a lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    permits: Option<u32>,
    /// Absent if the store has no tokens.
    token: Option<String>,
    pid: Option<u32>,
    since: Option<String>,
    remaining_ms: Option<u64>,
}

impl<'a> From<&'a Holder> for HolderJson<'a> {
    fn from(holder: &'a Holder) -> Self {
        let permits = match holder.mode {
            Mode::Permits { take, .. } => Some(take),
            _ => None,
        };
        Self {
            label: &holder.label,
            mode: kind(holder.mode),
            permits,
            token: token(holder),
            pid: holder.pid,
            since: holder.since.map(stamp),
            remaining_ms: holder.remaining.map(millis),
        }
    }
}
