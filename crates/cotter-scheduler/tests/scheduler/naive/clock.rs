//! Second by second: does it fire now? Knows nothing of the library.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::{Offset, TimeZone};

use super::spec::{Day, MonthDay, Part, Spec, WeekDay};

const DAY: i64 = 86_400;

/// One expression in one zone, to be asked about the instants of one window.
pub(crate) struct Naive<'a> {
    spec: &'a Spec,
    /// Since when which offset holds, from well before the window on.
    offsets: Vec<(i64, i64)>,
    seconds: Vec<bool>,
    minutes: Vec<bool>,
    fixed: Vec<bool>,
    live: Vec<bool>,
    days: HashMap<i64, bool>,
}

fn any(parts: &[Part], value: u16, range: (u16, u16)) -> bool {
    parts.iter().any(|part| part.has(value, range))
}

impl<'a> Naive<'a> {
    pub(crate) fn new(spec: &'a Spec, zone: &TimeZone, start: i64, end: i64) -> Self {
        let table = |parts: &[Part], max: u16| (0..=max).map(|value| any(parts, value, (0, max))).collect();
        let (live, fixed): (Vec<Part>, Vec<Part>) = spec.hours.iter().partition(|part| part.is_interval());
        Naive {
            spec,
            offsets: offsets(zone, start - 4 * DAY, end),
            seconds: table(&spec.seconds, 59),
            minutes: table(&spec.minutes, 59),
            fixed: table(&fixed, 23),
            live: table(&live, 23),
            days: HashMap::new(),
        }
    }

    pub(crate) fn firings(&mut self, start: i64, end: i64) -> Vec<i64> {
        (start..=end).filter(|&at| self.fires(at)).collect()
    }

    pub(crate) fn fires(&mut self, at: i64) -> bool {
        let (offset, before) = (self.offset(at), self.offset(at - 1));
        let local = at + offset;
        if self.shows(local, false) || (self.shows(local, true) && !self.shown_before(at)) {
            return true;
        }
        let skipped = at + before..local;
        offset > before && skipped.into_iter().any(|local| self.shows(local, true))
    }

    /// Whether the local time is one of those asked for, by a clock time or by an interval.
    fn shows(&mut self, local: i64, fixed: bool) -> bool {
        let time = local.rem_euclid(DAY);
        let hours = if fixed { &self.fixed } else { &self.live };
        hours[(time / 3600) as usize]
            && self.minutes[(time / 60 % 60) as usize]
            && self.seconds[(time % 60) as usize]
            && self.has_day(local.div_euclid(DAY))
    }

    /// Whether the clock has shown the same time within the last days.
    fn shown_before(&self, at: i64) -> bool {
        let local = at + self.offset(at);
        let others: BTreeSet<i64> = self.offsets.iter().map(|&(_, offset)| offset).collect();
        others.into_iter().any(|offset| local - offset < at && self.offset(local - offset) == offset)
    }

    fn offset(&self, at: i64) -> i64 {
        self.offsets.iter().rev().find(|&&(since, _)| since <= at).map_or(0, |&(_, offset)| offset)
    }

    fn has_day(&mut self, day: i64) -> bool {
        let spec = self.spec;
        *self.days.entry(day).or_insert_with(|| day_matches(spec, date(day)))
    }
}

fn offsets(zone: &TimeZone, start: i64, end: i64) -> Vec<(i64, i64)> {
    let first = Timestamp::from_second(start).unwrap();
    let changes = zone
        .following(first)
        .map(|change| (change.timestamp().as_second(), change.offset().seconds().into()));
    let mut offsets = vec![(start, zone.to_offset(first).seconds().into())];
    offsets.extend(changes.take_while(|&(at, _)| at <= end));
    offsets
}

pub(crate) fn date(day: i64) -> Date {
    Offset::UTC.to_datetime(Timestamp::from_second(day * DAY).unwrap()).date()
}

pub(crate) fn day_matches(spec: &Spec, date: Date) -> bool {
    let year = u16::try_from(date.year()).unwrap();
    let in_range = (1970..=2099).contains(&year);
    in_range
        && any(&spec.years, year, (1970, 2099))
        && any(&spec.months, date.month() as u16, (1, 12))
        && match &spec.day {
            Day::Any => true,
            Day::OfMonth(days) => days.iter().any(|&day| is_month_day(day, date)),
            Day::OfWeek(days) => days.iter().any(|&day| is_week_day(day, date)),
        }
}

fn is_month_day(day: MonthDay, date: Date) -> bool {
    let length = date.days_in_month() as u16;
    let this = date.day() as u16;
    match day {
        MonthDay::Plain(part) => part.has(this, (1, 31)),
        MonthDay::Last(n) => this + n == length,
        MonthDay::LastWeekday(n) => n < length && is_nearest(length - n, date),
        MonthDay::Near(n) => n <= length && is_nearest(n, date),
    }
}

fn is_weekday(date: Date) -> bool {
    !matches!(date.weekday(), Weekday::Saturday | Weekday::Sunday)
}

/// Whether the date is the weekday of its month with the smallest distance to a day of the month.
fn is_nearest(day: u16, date: Date) -> bool {
    let wanted = day as i8;
    let weekdays = (1..=date.days_in_month()).filter(|&n| is_weekday(date.with().day(n).build().unwrap()));
    weekdays.min_by_key(|n| (n - wanted).abs()) == Some(date.day())
}

fn is_week_day(day: WeekDay, date: Date) -> bool {
    let number = date.weekday().to_sunday_one_offset() as u16;
    let this = date.day();
    match day {
        WeekDay::Plain(part) => part.has(number, (1, 7)),
        WeekDay::LastOf(day) => number == day && this + 7 > date.days_in_month(),
        WeekDay::Nth(day, k) => number == day && (this as u16 - 1) / 7 + 1 == k,
    }
}
