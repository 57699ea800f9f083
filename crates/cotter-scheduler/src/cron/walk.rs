//! The next and the previous local time that matches, on a calendar without time zones.
//!
//! Local times are seconds since 1970-01-01T00:00:00 on the local clock.

use super::civil::{self, DAY, Date};
use super::compile::Compiled;

pub(crate) const FIRST_YEAR: i64 = 1970;
pub(crate) const LAST_YEAR: i64 = 2099;
/// 1970-01-01T00:00:00 and 2099-12-31T23:59:59.
pub(crate) const FIRST: i64 = 0;
pub(crate) const LAST: i64 = 4_102_444_799;

#[cfg(test)]
thread_local! {
    /// The number of months that were searched, for tests that bound the work.
    pub(crate) static MONTHS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

impl Compiled {
    /// The first match in `from..end` whose hour is in `hours`.
    pub(crate) fn first_local(&self, hours: u32, from: i64, end: i64) -> Option<i64> {
        let from = from.max(FIRST);
        if hours == 0 || from >= end.min(LAST + 1) {
            return None;
        }
        let (day, time) = (from.div_euclid(DAY), from.rem_euclid(DAY) as u32);
        let date = civil::date_of(day);
        let days = self.days_in(date.year, date.month);
        let today = days >> date.day & 1 == 1;
        let found = match self.clock.at_or_after(hours, time).filter(|_| today) {
            Some(time) => day * DAY + i64::from(time),
            None => {
                let later = days & !(u32::MAX >> (31 - date.day));
                let first_day = self.first_day(date, later)?;
                first_day * DAY + i64::from(self.clock.first(hours)?)
            }
        };
        (found < end).then_some(found)
    }

    /// The last match in `floor..=to` whose hour is in `hours`.
    pub(crate) fn last_local(&self, hours: u32, to: i64, floor: i64) -> Option<i64> {
        let to = to.min(LAST);
        if hours == 0 || to < floor.max(FIRST) {
            return None;
        }
        let (day, time) = (to.div_euclid(DAY), to.rem_euclid(DAY) as u32);
        let date = civil::date_of(day);
        let days = self.days_in(date.year, date.month);
        let today = days >> date.day & 1 == 1;
        let found = match self.clock.at_or_before(hours, time).filter(|_| today) {
            Some(time) => day * DAY + i64::from(time),
            None => {
                let earlier = days & ((1 << date.day) - 1);
                let last_day = self.last_day(date, earlier)?;
                last_day * DAY + i64::from(self.clock.last(hours)?)
            }
        };
        (found >= floor).then_some(found)
    }

    /// The first of `days` (of the date's month), or of a later month.
    fn first_day(&self, date: Date, mut days: u32) -> Option<i64> {
        let (mut year, mut month) = (date.year, date.month);
        while days == 0 {
            (year, month) = self.month_after(year, month)?;
            days = self.days_in(year, month);
        }
        Some(civil::days_from(Date { year, month, day: days.trailing_zeros() }))
    }

    /// The last of `days` (of the date's month), or of an earlier month.
    fn last_day(&self, date: Date, mut days: u32) -> Option<i64> {
        let (mut year, mut month) = (date.year, date.month);
        while days == 0 {
            (year, month) = self.month_before(year, month)?;
            days = self.days_in(year, month);
        }
        Some(civil::days_from(Date { year, month, day: 31 - days.leading_zeros() }))
    }

    pub(super) fn days_in(&self, year: i64, month: u32) -> u32 {
        #[cfg(test)]
        MONTHS.set(MONTHS.get() + 1);
        if self.has_year(year) && self.months >> month & 1 == 1 { self.days.in_month(year, month) } else { 0 }
    }

    fn month_after(&self, year: i64, month: u32) -> Option<(i64, u32)> {
        let later = self.months & (u32::MAX << (month + 1));
        if later != 0 && self.has_year(year) {
            return Some((year, later.trailing_zeros()));
        }
        let year = (year + 1..=LAST_YEAR).find(|&year| self.has_year(year))?;
        Some((year, self.months.trailing_zeros()))
    }

    fn month_before(&self, year: i64, month: u32) -> Option<(i64, u32)> {
        let earlier = self.months & ((1 << month) - 1);
        if earlier != 0 && self.has_year(year) {
            return Some((year, 31 - earlier.leading_zeros()));
        }
        let year = (FIRST_YEAR..year).rev().find(|&year| self.has_year(year))?;
        Some((year, 31 - self.months.leading_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::MONTHS;
    use crate::{Cron, UnixTime, Zone};

    /// The range has 1,560 months, searched once for fixed and once for live hours, with room for a clock change near the start,
    /// which restarts the search.
    const MAX_MONTHS: u32 = 3 * 1_560;

    #[test]
    fn an_answer_looks_at_each_month_a_few_times_at_most() {
        let never = [
            "0 0 0 30 2 ?",
            "0 0 * 30 2 ?",
            "* * * 30 2 ?",
            "0 0 *,1 30 2 ?",
            "0 0 0 L-30 2 ?",
            "* * * ? 2 7#5 2001/4",
        ];
        for zone in ["UTC", "America/New_York", "Africa/Casablanca", "Australia/Lord_Howe"] {
            let zone = Zone::named(zone).unwrap();
            for expression in never {
                let cron: Cron = expression.parse().unwrap();
                bounded(expression, || cron.next(UnixTime::from_seconds(i64::MIN), &zone));
                bounded(expression, || cron.previous(UnixTime::from_seconds(i64::MAX), &zone));
            }
        }
    }

    fn bounded(expression: &str, answer: impl Fn() -> Option<UnixTime>) {
        let timed = || {
            let start = Instant::now();
            MONTHS.set(0);
            assert_eq!(answer(), None, "{expression}");
            start.elapsed()
        };
        let taken = (0..3).map(|_| timed()).min();
        assert!(MONTHS.get() <= MAX_MONTHS, "{expression}: {} months", MONTHS.get());
        assert!(taken < Some(Duration::from_millis(10)), "{expression}: {taken:?}");
    }
}
