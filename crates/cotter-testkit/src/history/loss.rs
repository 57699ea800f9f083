//! Losses that were told late.

use super::{Ended, History, Hold, Kind, Limits, Violation, allowed, millis, nanos, violation};
use std::time::Duration;

pub(super) fn check(history: &History, limits: &Limits) -> Vec<Violation> {
    history.holds.iter().filter_map(|h| late(history, h, limits.loss_margin)).collect()
}

/// A holder whose deadline has passed must be told within the margin; time in which its process was stopped does not count.
///
/// All holders of a run listen for the loss, so one that gives back long after its deadline was told nothing.
fn late(history: &History, hold: &Hold, margin: Duration) -> Option<Violation> {
    let deadline = hold.deadline?;
    let life = &history.processes[&hold.process];
    let due = life.after_running(deadline, nanos(margin));
    let in_time = matches!(hold.by, Ended::Released | Ended::Lost | Ended::Killed);
    if in_time || due >= history.end || life.killed.is_some_and(|at| at <= due) {
        return None;
    }
    match hold.told.or(hold.given_back) {
        Some(told) if told <= due => None,
        Some(told) if told <= life.after_running(deadline, allowed(margin, deadline, told)) => None,
        Some(told) => {
            let [after, ran] = [told - deadline, life.ran_within(deadline, told)].map(millis);
            Some(report(
                hold,
                &format!("told {after:.1} ms after its deadline; its process ran for {ran:.1} ms of that"),
            ))
        }
        None => Some(report(hold, "never told")),
    }
}

fn report(hold: &Hold, when: &str) -> Violation {
    let text =
        format!("{:?}: process {} (token {}) lost it and was {when}", hold.name, hold.process, hold.token);
    violation(Kind::LateLoss, text)
}
