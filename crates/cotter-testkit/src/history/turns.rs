//! Order of arrival, and waiters that are idle or forgotten.

use super::{
    History, Hold, Kind, Limits, Use, Violation, Wait, WaitEnded, allowed, millis, nanos, violation,
};
use std::collections::HashMap;
use std::time::Duration;

/// Exclusive holds of one process, one after the other, with no other process in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Whose.
    pub process: u32,
    /// Its first beginning.
    pub from: u64,
    /// Its last end.
    pub to: u64,
    /// How many.
    pub holds: usize,
}

/// The slices of a name, in order of their tokens.
pub fn slices(history: &History, name: &str) -> Vec<Slice> {
    let mut holds: Vec<&Hold> =
        history.holds_of(name).filter(|h| h.mode == Use::Exclusive && h.is_real()).collect();
    holds.sort_by_key(|h| h.token);
    let mut slices: Vec<Slice> = Vec::new();
    for hold in holds {
        match slices.last_mut().filter(|s| s.process == hold.process) {
            Some(slice) => {
                slice.to = slice.to.max(hold.end);
                slice.holds += 1;
            }
            None => {
                slices.push(Slice { process: hold.process, from: hold.got, to: hold.end, holds: 1 });
            }
        }
    }
    slices
}

pub(super) fn check(history: &History, limits: &Limits) -> Vec<Violation> {
    let mut found = stuck(history);
    for name in history.names() {
        found.extend(lost_places(history, name, nanos(limits.place_slack)));
        found.extend(idle(history, name, limits.idle));
    }
    found
}

fn stuck(history: &History) -> Vec<Violation> {
    let forgotten = history.waits.iter().filter(|w| w.by == WaitEnded::Never);
    let tell = |w: &Wait| {
        let text = format!(
            "{:?}: process {} waited for {:.0} ms and was never answered",
            w.name,
            w.process,
            millis(history.end - w.wanted)
        );
        violation(Kind::StuckWaiter, text)
    };
    forgotten.map(tell).collect()
}

/// A process stands in line from the first wait that is open, or from the end of its last slice: after that it goes
/// behind those who wait. Whoever got in line later is served later, unless the waiter could not listen.
fn lost_places(history: &History, name: &str, slack: u64) -> Vec<Violation> {
    // Where others share it, tasks of one process wait for each other in an order that nobody records.
    if history.waits.iter().any(|w| w.name == name && w.mode != Use::Exclusive) {
        return Vec::new();
    }
    let mut line = Line::new(history, name);
    let mut found = Vec::new();
    for slice in slices(history, name) {
        let since = line.at(slice.from);
        let served = since.get(&slice.process).copied().unwrap_or(slice.from);
        for (&process, &place) in &since {
            let listened = !history.processes[&process].stopped_within(place, slice.from);
            if process != slice.process && listened && place.saturating_add(slack) < served {
                let text = format!(
                    "{name:?}: process {} came {:.1} ms after process {process}, which still waits, and was served",
                    slice.process,
                    millis(served - place),
                );
                found.push(violation(Kind::LostPlace, text));
            }
        }
        line.last.insert(slice.process, slice.to);
    }
    found
}

/// The waiters, as time goes on.
struct Line<'a> {
    coming: std::iter::Peekable<std::vec::IntoIter<&'a Wait>>,
    open: Vec<&'a Wait>,
    /// The end of the last slice, by process.
    last: HashMap<u32, u64>,
}

impl<'a> Line<'a> {
    fn new(history: &'a History, name: &'a str) -> Self {
        let mut waits: Vec<&Wait> =
            history.waits.iter().filter(|w| w.name == name && w.mode == Use::Exclusive).collect();
        waits.sort_by_key(|w| w.wanted);
        Self { coming: waits.into_iter().peekable(), open: Vec::new(), last: HashMap::new() }
    }

    /// Since when each process stands in line at that time; those who only tried count when they are served.
    fn at(&mut self, at: u64) -> HashMap<u32, u64> {
        while let Some(wait) = self.coming.next_if(|w| w.wanted <= at) {
            self.open.push(wait);
        }
        self.open.retain(|w| w.end >= at);
        let mut since = HashMap::new();
        for wait in self.open.iter().filter(|w| w.patient || w.end == at) {
            let place: &mut u64 = since.entry(wait.process).or_insert(u64::MAX);
            *place = (*place).min(wait.wanted);
        }
        for (process, place) in &mut since {
            *place = (*place).max(self.last.get(process).copied().unwrap_or(0));
        }
        since
    }
}

/// Times in which nobody held the name and somebody stood in line for longer than he should.
///
/// A process that is stopped may have been given the lock and not be able to say so: such times are left out.
fn idle(history: &History, name: &str, longest: Duration) -> Vec<Violation> {
    let mut found = Vec::new();
    for (from, to) in free_times(history, name).into_iter().filter(|(from, to)| to - from > nanos(longest)) {
        let waits: Vec<&Wait> =
            history.waits.iter().filter(|w| w.name == name && w.wanted < to && from < w.end).collect();
        let stopped = waits.iter().any(|w| history.processes[&w.process].stopped_within(from, to));
        let idle_for = |w: &Wait| w.end.min(to) - w.wanted.max(from);
        let Some(worst) = waits.iter().filter(|w| w.patient).max_by_key(|w| idle_for(w)) else { continue };
        let is_over = |limit| idle_for(worst) > limit;
        let meanwhile = || allowed(longest, worst.wanted.max(from), worst.end.min(to));
        if !stopped && is_over(nanos(longest)) && is_over(meanwhile()) {
            let text = format!(
                "{name:?}: it was free, and process {} waited for {:.1} ms meanwhile",
                worst.process,
                millis(idle_for(worst))
            );
            found.push(violation(Kind::IdleWaiter, text));
        }
    }
    found
}

fn free_times(history: &History, name: &str) -> Vec<(u64, u64)> {
    let mut free = Vec::new();
    let mut busy_until = 0;
    for hold in history.holds_of(name).filter(|h| h.is_real()) {
        if hold.got > busy_until {
            free.push((busy_until, hold.got));
        }
        busy_until = busy_until.max(hold.end);
    }
    if history.end > busy_until {
        free.push((busy_until, history.end));
    }
    free
}
