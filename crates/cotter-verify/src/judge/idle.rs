//! Who waited while nobody held the name, and what was left behind.

use super::{Kind, Violation};
use crate::clock::nanos;
use crate::history::{Believed, Wait, millis};

pub(super) fn check(run: &Believed) -> Vec<Violation> {
    let mut found: Vec<_> = run.names().into_iter().flat_map(|name| of_name(run, name)).collect();
    found.extend(run.left.iter().map(|(at, name, text)| Violation {
        kind: Kind::LeftBehind,
        name: name.clone(),
        processes: Vec::new(),
        from: *at,
        to: *at,
        text: text.clone(),
    }));
    found
}

/// The waits that went on for longer than the patience of the run while nobody held the name, or a permit of it was free. What the
/// operator does meanwhile, such as a failover, does not count; nor does a waiter that was paused itself, or a pause of another
/// waiter, which may have been given the lock and be unable to say so.
fn of_name(run: &Believed, name: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (from, to) in free_times(run, name) {
        let waits = run.waits.iter().filter(|wait| wait.name == name && wait.from < to && from < wait.to);
        let waits: Vec<&Wait> = waits.collect();
        for wait in &waits {
            let (from, to) = (from.max(wait.from), to.min(wait.to));
            let excused: u64 = waits.iter().map(|other| run.paused(other.process, from, to)).sum();
            let waited =
                to.saturating_sub(from).saturating_sub(excused).saturating_sub(during(run, from, to));
            if waited > nanos(run.bounds.patience) {
                found.push(idle(run, wait, from, to));
            }
        }
    }
    found
}

fn idle(run: &Believed, wait: &Wait, from: u64, to: u64) -> Violation {
    let alone = !run.lives.iter().any(|life| life.0 != wait.process && life.1 < to && from < life.2);
    let got = if wait.got { "and got it only then" } else { "and did not get it" };
    let others = match run.bounds.permits {
        _ if alone => "all others had ended",
        1 => "nobody held it",
        _ => "a permit was free",
    };
    Violation {
        kind: if alone && !run.lives.is_empty() { Kind::LeftBehind } else { Kind::IdleWaiter },
        name: wait.name.clone(),
        processes: vec![wait.process],
        from,
        to,
        text: format!(
            "process {} waited for {:.0} ms while {others}, {got}",
            wait.process,
            millis(to - from)
        ),
    }
}

/// How long the operator was at work between two times.
fn during(run: &Believed, from: u64, to: u64) -> u64 {
    run.during.iter().map(|(begin, end, ..)| to.min(*end).saturating_sub(from.max(*begin))).sum()
}

/// The times in which fewer believed to hold a name than it has permits.
fn free_times(run: &Believed, name: &str) -> Vec<(u64, u64)> {
    let holds = run.holds.iter().filter(|hold| hold.name == name && hold.is_real());
    let mut steps: Vec<_> = holds.flat_map(|hold| [(hold.got, 1), (hold.end.min(run.end), -1)]).collect();
    steps.sort_unstable();
    let is_free = |held: i64| usize::try_from(held).is_ok_and(|held| held < run.bounds.permits);
    let (mut free, mut held, mut since) = (Vec::new(), 0, run.begin);
    for (at, step) in steps {
        let was_free = is_free(held);
        held += step;
        match (was_free, is_free(held)) {
            (true, false) => free.push((since, at)),
            (false, true) => since = at,
            _ => {}
        }
    }
    if is_free(held) {
        free.push((since, run.end));
    }
    free.retain(|(from, to)| from < to);
    free
}
