//! When a process could run.

use super::{Event, What};

/// The injector's actions on a process, and whether the process ended in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Life {
    /// When it was killed.
    pub killed: Option<u64>,
    /// When it was stopped and continued.
    pub stops: Vec<(u64, u64)>,
    /// When it ended in order.
    pub finished: Option<u64>,
}

impl Life {
    pub(super) fn take(&mut self, event: &Event) {
        match event.what {
            What::Killed => {
                self.killed = Some(event.at);
                // Who is dead keeps nobody waiting for it to go on.
                self.go_on(event.at);
            }
            What::Stopped => self.stops.push((event.at, u64::MAX)),
            What::Continued => self.go_on(event.at),
            What::Finished => self.finished = Some(event.at),
            _ => {}
        }
    }

    fn go_on(&mut self, at: u64) {
        if let Some(last) = self.stops.last_mut().filter(|last| last.1 == u64::MAX) {
            last.1 = at;
        }
    }

    /// Whether it was stopped at any time in between.
    pub fn stopped_within(&self, from: u64, to: u64) -> bool {
        self.stops.iter().any(|&(stop, go)| stop < to && from < go)
    }

    /// For how long it could run in between.
    pub fn ran_within(&self, from: u64, to: u64) -> u64 {
        let stopped = |&(stop, go): &(u64, u64)| go.min(to).saturating_sub(stop.max(from));
        to.saturating_sub(from).saturating_sub(self.stops.iter().map(stopped).sum())
    }

    /// When it has run for so long since `at`.
    pub fn after_running(&self, at: u64, time: u64) -> u64 {
        let mut end = at.saturating_add(time);
        for &(stop, go) in &self.stops {
            if stop < end && at < go {
                end = end.saturating_add(go - stop.max(at));
            }
        }
        end
    }
}
