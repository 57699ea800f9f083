//! Losses that were told late.

use super::{Ended, History, Hold, Kind, Limits, Violation, millis, nanos, violation};

pub(super) fn check(history: &History, limits: &Limits) -> Vec<Violation> {
    history.holds.iter().filter_map(|h| late(history, h, nanos(limits.loss_margin))).collect()
}

/// A holder whose deadline has passed must be told; if its process was stopped then, as soon as it runs again.
///
/// All holders of a run listen for the loss, so one that gives back long after its deadline was told nothing.
fn late(history: &History, hold: &Hold, margin: u64) -> Option<Violation> {
    let deadline = hold.deadline?;
    let life = &history.processes[&hold.process];
    let due = life.runs_from(deadline).saturating_add(margin);
    let in_time = matches!(hold.by, Ended::Released | Ended::Lost | Ended::Killed);
    if in_time || due >= history.end || life.killed.is_some_and(|at| at <= due) {
        return None;
    }
    match hold.told.or(hold.given_back) {
        Some(told) if told <= due => None,
        Some(told) => Some(report(hold, &format!("told {:.1} ms after", millis(told - deadline)))),
        None => Some(report(hold, "never told after")),
    }
}

fn report(hold: &Hold, when: &str) -> Violation {
    let text = format!(
        "{:?}: process {} (token {}) lost it and was {when} its deadline",
        hold.name, hold.process, hold.token
    );
    violation(Kind::LateLoss, text)
}
