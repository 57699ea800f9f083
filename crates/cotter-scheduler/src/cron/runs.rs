//! Seconds in a row at which an expression fires: how far such a run reaches.

use super::civil::{self, DAY};
use super::compile::Compiled;
use super::spans::Spans;
use super::walk::{FIRST, LAST};

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const ALL_SIXTY: u64 = (1 << 60) - 1;
const ALL_HOURS: u32 = (1 << 24) - 1;

impl Compiled {
    /// The first instant after this one, at which the expression fires, up to which it fires every second; or the next change of
    /// the clock.
    pub(crate) fn fires_until(&self, instant: i64, spans: &Spans) -> i64 {
        let at = spans.at(instant);
        let (span, reached) = (spans.get(at), spans.reached_before(at));
        let local = instant + span.offset;
        // What the clock shows for the second time is for live hours only.
        let (hours, bound) = match local < reached {
            true => (self.live, reached.min(span.local_end())),
            false => (self.fixed | self.live, span.local_end()),
        };
        self.run_end(hours, local).min(bound) - span.offset
    }

    /// The earliest instant from which the expression fires every second until this one, at which it fires; or the last change of
    /// the clock.
    pub(crate) fn fires_since(&self, instant: i64, spans: &Spans) -> i64 {
        let at = spans.at(instant);
        let (span, reached) = (spans.get(at), spans.reached_before(at));
        let local = instant + span.offset;
        let (hours, bound) = match local < reached {
            true => (self.live, span.local_start()),
            false => (self.fixed | self.live, span.local_start().max(reached)),
        };
        // The instant itself may be due for a time that the clock has skipped.
        self.run_begin(hours, local).max(bound).min(local) - span.offset
    }

    /// The first local time from this one on that does not match.
    fn run_end(&self, hours: u32, local: i64) -> i64 {
        if self.clock.seconds != ALL_SIXTY {
            return (local..=LAST).find(|at| !self.has_second(*at)).unwrap_or(LAST + 1);
        }
        if self.clock.minutes != ALL_SIXTY {
            let minutes = (0..).map(|n| (local.div_euclid(MINUTE) + n) * MINUTE);
            return minutes
                .take_while(|at| *at <= LAST)
                .find(|at| !self.has_minute(*at))
                .unwrap_or(LAST + 1)
                .max(local);
        }
        if hours & ALL_HOURS != ALL_HOURS {
            let from = local.div_euclid(HOUR);
            return (from..)
                .map(|n| n * HOUR)
                .find(|at| !has_hour(hours, *at))
                .unwrap_or(LAST + 1)
                .max(local);
        }
        let days = (local.div_euclid(DAY)..).map(|n| n * DAY);
        days.take_while(|at| *at <= LAST).find(|at| !self.has_day(*at)).unwrap_or(LAST + 1).max(local)
    }

    /// The first of the local times in a row that match, up to this one.
    fn run_begin(&self, hours: u32, local: i64) -> i64 {
        if self.clock.seconds != ALL_SIXTY {
            return (FIRST..=local).rev().find(|at| !self.has_second(*at)).map_or(FIRST, |at| at + 1);
        }
        let last_before = |unit: i64, matches: &dyn Fn(i64) -> bool| {
            let starts = (FIRST..=local.div_euclid(unit)).rev().map(|n| n * unit);
            starts.into_iter().find(|at| !matches(*at)).map_or(FIRST, |at| at + unit)
        };
        if self.clock.minutes != ALL_SIXTY {
            return last_before(MINUTE, &|at| self.has_minute(at));
        }
        if hours & ALL_HOURS != ALL_HOURS {
            return last_before(HOUR, &|at| has_hour(hours, at));
        }
        last_before(DAY, &|at| self.has_day(at))
    }

    fn has_second(&self, local: i64) -> bool {
        self.clock.seconds >> local.rem_euclid(MINUTE) & 1 == 1
    }

    fn has_minute(&self, local: i64) -> bool {
        self.clock.minutes >> (local.rem_euclid(HOUR) / MINUTE) & 1 == 1
    }

    fn has_day(&self, local: i64) -> bool {
        let date = civil::date_of(local.div_euclid(DAY));
        self.days_in(date.year, date.month) >> date.day & 1 == 1
    }
}

fn has_hour(hours: u32, local: i64) -> bool {
    hours >> (local.rem_euclid(DAY) / HOUR) & 1 == 1
}
