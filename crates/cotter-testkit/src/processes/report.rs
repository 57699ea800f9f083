//! The result of a run.

use crate::history::{Ended, History, Hold, Kind, Limits, Violation, check, contended, slices, violation};
use crate::resource::State;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Counts, percentiles and violations of a run.
#[derive(Debug)]
pub struct Report {
    /// The history.
    pub history: History,
    /// The violations.
    pub violations: Vec<Violation>,
    /// Waits that were in somebody's way.
    pub contended: usize,
    /// Processes that were killed.
    pub kills: usize,
    /// Processes that were stopped.
    pub stops: usize,
    /// Faults of all kinds that were to be.
    pub planned: usize,
    /// Faults that were.
    pub confirmed: usize,
    /// Processes that did not end in order.
    pub unfinished: usize,
    /// Writes that the resource without a check has lost.
    pub lost_unchecked: u64,
    /// From the kill of a holder to the next one, where somebody listened.
    pub after_kill: Percentiles,
    /// From the release by one process to the next holder in another, where that one waited.
    pub hand_over: Percentiles,
}

/// Some durations, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Percentiles(Vec<u64>);

impl Percentiles {
    fn of(mut nanos: Vec<u64>) -> Self {
        nanos.sort_unstable();
        Self(nanos)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest value that this percentage does not exceed.
    pub fn at(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1) - 1;
        Duration::from_nanos(self.0.get(rank).copied().unwrap_or(0))
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, p99, worst] = [50, 99, 100].map(|p| self.at(p));
        write!(f, "median {median:.1?}, p99 {p99:.1?}, worst {worst:.1?} of {}", self.count())
    }
}

impl Report {
    pub(super) fn of(
        history: History,
        states: &[[State; 2]],
        void: impl FnOnce(&History) -> Vec<Violation>,
        limits: &Limits,
    ) -> Self {
        let mut violations = check(&history, limits);
        violations.extend(lost_writes(states));
        // A run that has shown something wrong did prove something, and what is wrong is often why little happened.
        if violations.is_empty() {
            violations = void(&history);
        }
        Self {
            violations,
            contended: contended(&history),
            kills: 0,
            stops: 0,
            planned: 0,
            confirmed: 0,
            unfinished: 0,
            lost_unchecked: states.iter().map(|[_, unchecked]| unchecked.lost()).sum(),
            after_kill: Percentiles::of(after_kill(&history)),
            hand_over: Percentiles::of(hand_over(&history)),
            history,
        }
    }

    /// How many slices of a name each process had since all of them have wanted something: until then, those that were started
    /// first are alone.
    pub fn shares(&self, name: &str) -> BTreeMap<u32, usize> {
        let (mut shares, mut first) = (BTreeMap::new(), BTreeMap::new());
        for wait in &self.history.waits {
            let first = first.entry(wait.process).or_insert(u64::MAX);
            *first = wait.wanted.min(*first);
        }
        let all_want = first.into_values().max().unwrap_or(0);
        for slice in slices(&self.history, name).into_iter().filter(|slice| slice.from >= all_want) {
            *shares.entry(slice.process).or_insert(0) += 1;
        }
        shares
    }

    /// Fails the test that made the run when anything was wrong.
    ///
    /// # Panics
    /// With all violations.
    #[track_caller]
    pub fn demand_clean(&self) {
        self.demand_clean_but_for(|_| false);
    }

    /// The same where some waits may have ended with an error.
    ///
    /// # Panics
    /// With all violations.
    #[track_caller]
    pub fn demand_clean_but_for(&self, expected: impl Fn(&str) -> bool) {
        let all: Vec<String> = self.violations.iter().take(20).map(ToString::to_string).collect();
        let more = self.violations.len().saturating_sub(20);
        assert!(all.is_empty(), "{}\n… and {more} more\n{self}", all.join("\n"));
        let errors: Vec<&String> = self.history.errors.iter().filter(|e| !expected(e)).collect();
        assert!(errors.is_empty(), "{errors:?}\n{self}");
        assert_eq!(self.unfinished, 0, "processes that did not end in order\n{self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} acquisitions, {} contended waits, {} kills ({} of holders), {} stops, {} of {} faults confirmed",
            self.history.holds.len(),
            self.contended,
            self.kills,
            self.history.holds.iter().filter(|h| h.by == Ended::Killed).count(),
            self.stops,
            self.confirmed,
            self.planned,
        )?;
        writeln!(f, "after a kill: {}", self.after_kill)?;
        writeln!(f, "hand-over between processes: {}", self.hand_over)?;
        write!(f, "lost by the resource that does not check: {}", self.lost_unchecked)
    }
}

fn lost_writes(states: &[[State; 2]]) -> Vec<Violation> {
    let lost: u64 = states.iter().map(|[checked, _]| checked.lost()).sum();
    let text = || format!("the resource that checks tokens has lost {lost} writes");
    (lost > 0).then(|| violation(Kind::LostWrite, text())).into_iter().collect()
}

/// Only where a process listened all the time until the next one held, and none was stopped that may have held.
pub(super) fn after_kill(history: &History) -> Vec<u64> {
    let killed = history.holds.iter().filter(|h| h.by == Ended::Killed);
    killed.filter_map(|h| Some(next_after(history, h)?.got - h.end)).collect()
}

fn next_after<'a>(history: &'a History, killed: &Hold) -> Option<&'a Hold> {
    let upto = history.holds.partition_point(|h| h.got < killed.end);
    let next = history.holds[upto..].iter().find(|h| h.name == killed.name)?;
    let others = history.processes.iter().filter(|(number, _)| **number != killed.process);
    let stopped = others.map(|(_, life)| life).any(|life| life.stopped_within(killed.end, next.got));
    (next.asked < killed.end && !stopped).then_some(next)
}

fn hand_over(history: &History) -> Vec<u64> {
    let mut took = Vec::new();
    for name in history.names() {
        let mut holds: Vec<&Hold> = history.holds_of(name).filter(|h| h.is_real()).collect();
        holds.sort_by_key(|h| h.token);
        for pair in holds.windows(2) {
            let [before, after] = pair else { continue };
            let orderly = before.by == Ended::Released && before.process != after.process;
            let stopped = history.processes[&after.process].stopped_within(before.end, after.got);
            if orderly && after.asked < before.end && !stopped {
                took.push(after.got.saturating_sub(before.end));
            }
        }
    }
    took
}
