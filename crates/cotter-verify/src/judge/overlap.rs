//! Two that believed to hold one name at once, or more than it has permits.

use super::{Kind, Violation};
use crate::history::{Believed, Hold, millis};

pub(super) fn check(run: &Believed) -> Vec<Violation> {
    run.names().into_iter().flat_map(|name| of_name(run, name)).collect()
}

/// In the order of their beginning; only those that may still be believed are looked at again.
fn of_name(run: &Believed, name: &str) -> Vec<Violation> {
    let permits = run.bounds.permits;
    let (mut active, mut found) = (Vec::<&Hold>::new(), Vec::new());
    for hold in run.holds.iter().filter(|hold| hold.name == name && hold.is_real()) {
        active.retain(|other| other.end > hold.got);
        match permits {
            1 => found.extend(active.iter().map(|other| overlap(run, &[other], hold))),
            _ if active.len() >= permits => found.push(overlap(run, &active, hold)),
            _ => {}
        }
        active.push(hold);
    }
    found
}

/// The newer one had what was held by the older ones already.
fn overlap(run: &Believed, older: &[&Hold], newer: &Hold) -> Violation {
    let all = || older.iter().copied().chain([newer]);
    let from = newer.got;
    let to = all().map(|hold| hold.end).fold(run.end, u64::min);
    let paused = older.iter().map(|hold| (hold.process, run.paused(hold.process, hold.got, to)));
    let paused: Vec<_> = paused.filter(|(_, paused)| *paused > 0).collect();
    let after = paused.iter().map(|(process, paused)| {
        format!("; process {process} had been paused for {:.0} ms", millis(*paused))
    });
    let what = match run.bounds.permits {
        1 => "both believed to hold it".to_owned(),
        permits => format!("all believed to have one of its {permits} permits"),
    };
    let others: Vec<_> = older.iter().map(|hold| who(hold)).collect();
    Violation {
        kind: if paused.is_empty() { Kind::Overlap } else { Kind::OverlapAfterPause },
        name: newer.name.clone(),
        processes: all().map(|hold| hold.process).collect(),
        from,
        to,
        text: format!(
            "{} and {} {what}, for {:.1} ms{}",
            others.join(", "),
            who(newer),
            millis(to.saturating_sub(from)),
            after.collect::<String>(),
        ),
    }
}

/// A holder, with its token if it has one.
pub(super) fn who(hold: &Hold) -> String {
    let token = hold.token.map(|token| format!(" (token {token})")).unwrap_or_default();
    format!("process {}{token}", hold.process)
}
