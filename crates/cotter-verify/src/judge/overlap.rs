//! Two that believed to hold one name at once.

use super::{Kind, Violation};
use crate::history::{Believed, Hold, millis};

pub(super) fn check(run: &Believed) -> Vec<Violation> {
    run.names().into_iter().flat_map(|name| of_name(run, name)).collect()
}

/// In the order of their beginning; only those that may still be believed are looked at again.
fn of_name(run: &Believed, name: &str) -> Vec<Violation> {
    let (mut active, mut found) = (Vec::<&Hold>::new(), Vec::new());
    for hold in run.holds.iter().filter(|hold| hold.name == name && hold.is_real()) {
        active.retain(|other| other.end > hold.got);
        found.extend(active.iter().map(|other| overlap(run, other, hold)));
        active.push(hold);
    }
    found
}

fn overlap(run: &Believed, older: &Hold, newer: &Hold) -> Violation {
    let (from, to) = (newer.got, older.end.min(newer.end).min(run.end));
    let paused = run.paused(older.process, older.got, to);
    let after = match paused {
        0 => String::new(),
        paused => format!("; process {} had been paused for {:.0} ms", older.process, millis(paused)),
    };
    Violation {
        kind: if paused > 0 { Kind::OverlapAfterPause } else { Kind::Overlap },
        name: older.name.clone(),
        processes: vec![older.process, newer.process],
        from,
        to,
        text: format!(
            "{} and {} both believed to hold it, for {:.1} ms{after}",
            who(older),
            who(newer),
            millis(to.saturating_sub(from)),
        ),
    }
}

/// A holder, with its token if it has one.
pub(super) fn who(hold: &Hold) -> String {
    let token = hold.token.map(|token| format!(" (token {token})")).unwrap_or_default();
    format!("process {}{token}", hold.process)
}
