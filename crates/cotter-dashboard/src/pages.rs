//! The pages. What comes from the store is text: the templates escape it.

use crate::listing::{Examined, View};
use crate::table::{Lines, Sort, Wanted, held_for, remaining};
use askama::Template;
use cotter::Info;
use cotter_console::clean;
use cotter_console::duration::{since, words};
use cotter_console::lock::{mode, stamp, token};
use cotter_console::promise::{abilities, lifetime, promise};
use std::time::SystemTime;

/// What every page has.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) store: String,
    /// Which page it is, for the links to all of them.
    pub(crate) on: &'static str,
    /// Whether there are jobs to show.
    pub(crate) has_jobs: bool,
    /// The address of the part that goes on by itself, where there is one.
    pub(crate) live: String,
}

/// How the store is, above what it holds.
#[derive(Debug, Template)]
#[template(path = "state.html")]
pub(crate) struct State {
    trouble: String,
    age: String,
    cautions: Vec<String>,
}

impl State {
    fn of(view: &View) -> Self {
        Self::new(view.trouble.as_deref(), view.as_of, &view.cautions)
    }

    pub(crate) fn new(trouble: Option<&str>, as_of: Option<SystemTime>, cautions: &[String]) -> Self {
        let age = match as_of {
            Some(then) => format!("what is shown is {} old", words(since(then))),
            None => "nothing was heard of it yet".to_owned(),
        };
        let trouble = trouble.map(clean).unwrap_or_default();
        Self { trouble, age, cautions: cautions.iter().map(|text| clean(text)).collect() }
    }
}

/// All locks.
#[derive(Debug, Template)]
#[template(path = "locks.html")]
pub(crate) struct Locks {
    pub(crate) frame: Frame,
    pub(crate) wanted: Wanted,
    pub(crate) sorts: [Sort; 4],
    pub(crate) table: LockTable,
}

/// The part of it that changes.
#[derive(Debug, Template)]
#[template(path = "lock_table.html")]
pub(crate) struct LockTable {
    state: State,
    wanted: Wanted,
    lines: Lines,
}

impl LockTable {
    pub(crate) fn of(view: &View, wanted: &Wanted) -> Self {
        Self { state: State::of(view), wanted: wanted.clone(), lines: Lines::of(view, wanted) }
    }
}

/// One lock.
#[derive(Debug, Template)]
#[template(path = "one.html")]
pub(crate) struct Lock {
    pub(crate) frame: Frame,
    pub(crate) shown: String,
    pub(crate) said: String,
    pub(crate) details: LockDetails,
}

/// The part of it that changes.
#[derive(Debug, Template)]
#[template(path = "lock_details.html")]
pub(crate) struct LockDetails {
    /// The name as it is, for links.
    asked: String,
    state: State,
    is_known: bool,
    holders: Vec<HolderLine>,
    unlisted: u64,
    waiting: String,
    problem: String,
    changes: Vec<ChangeLine>,
}

#[derive(Debug)]
struct HolderLine {
    /// The token of one that can be evicted, by whoever looks.
    evict: Option<u64>,
    label: String,
    mode: String,
    token: String,
    process: String,
    since: String,
    held: String,
    left: String,
}

#[derive(Debug)]
struct ChangeLine {
    seen: String,
    text: String,
}

impl LockDetails {
    pub(crate) fn of(view: &View, name: &str, may_change: bool) -> Self {
        let record = view.locks.iter().find(|(known, _)| known.as_str() == name).map(|(_, record)| record);
        let age = view.age();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        let holder = |holder: &cotter::Holder| HolderLine {
            evict: (may_change && can_be_evicted(holder)).then_some(holder.token.get()),
            label: clean(&holder.label),
            mode: mode(holder.mode),
            token: token(holder).unwrap_or_else(|| "none".to_owned()),
            process: or_none(holder.pid.map(|pid| pid.to_string())),
            since: or_none(holder.since.map(stamp)),
            held: held_for(holder),
            left: remaining(holder.remaining, age),
        };
        let change = |change: &crate::changes::Change| {
            let what = if change.has_come { "holds it" } else { "does not hold it any more" };
            let token = change.token.as_deref().map(|token| format!(", token {token}")).unwrap_or_default();
            ChangeLine { seen: stamp(change.seen), text: format!("{} {what}{token}", clean(&change.label)) }
        };
        Self {
            asked: name.to_owned(),
            state: State::of(view),
            is_known: view.as_of.is_some(),
            holders: record.into_iter().flat_map(|record| &record.holders).map(holder).collect(),
            unlisted: record.map_or(0, |record| record.unlisted),
            waiting: record.map(|record| or_none(record.waiters.map(|n| n.to_string()))).unwrap_or_default(),
            problem: record.and_then(|record| record.problem.as_deref()).map(clean).unwrap_or_default(),
            changes: view.changes.of(name).map(change).collect(),
        }
    }
}

/// Whether there is a token to tell it from the holder that may follow. What lives as long as a process of this host ends with that
/// alone.
fn can_be_evicted(holder: &cotter::Holder) -> bool {
    holder.token.get() > 0 && holder.pid.is_none()
}

/// The store itself.
#[derive(Debug, Template)]
#[template(path = "store.html")]
pub(crate) struct Store {
    pub(crate) frame: Frame,
    promise: String,
    lifetime: &'static str,
    can: Vec<&'static str>,
    findings: Vec<FindingLine>,
    trouble: String,
    age: String,
}

#[derive(Debug)]
struct FindingLine {
    severity: String,
    subject: String,
    message: String,
}

impl Store {
    pub(crate) fn of(frame: Frame, info: &Info, examined: &Examined) -> Self {
        let (findings, trouble) = match &examined.findings {
            Ok(findings) => (&findings[..], String::new()),
            Err(why) => (&[][..], clean(why)),
        };
        let line = |finding: &cotter::Finding| FindingLine {
            severity: finding.severity.to_string(),
            subject: clean(&finding.subject),
            message: clean(&finding.message),
        };
        let can =
            abilities(info.capabilities).into_iter().filter(|ability| ability.2).map(|ability| ability.1);
        Self {
            frame,
            promise: promise(info, findings),
            lifetime: lifetime(info.capabilities),
            can: can.collect(),
            findings: findings.iter().map(line).collect(),
            trouble,
            age: words(since(examined.at)),
        }
    }
}
