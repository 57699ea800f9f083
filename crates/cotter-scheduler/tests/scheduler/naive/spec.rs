//! Random expressions as structures, which are written as text for the library and asked directly here.

use proptest::prelude::*;
use proptest::sample::select;

/// An entry of a list of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Star,
    One(u16),
    Range(u16, u16),
    StarStep(u16),
    Step(u16, u16),
    RangeStep(u16, u16, u16),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum MonthDay {
    Plain(Part),
    Last(u16),
    LastWeekday(u16),
    Near(u16),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WeekDay {
    Plain(Part),
    LastOf(u16),
    Nth(u16, u16),
}

#[derive(Clone, Debug)]
pub(crate) enum Day {
    Any,
    OfMonth(Vec<MonthDay>),
    OfWeek(Vec<WeekDay>),
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) seconds: Vec<Part>,
    pub(crate) minutes: Vec<Part>,
    pub(crate) hours: Vec<Part>,
    pub(crate) day: Day,
    pub(crate) months: Vec<Part>,
    pub(crate) years: Vec<Part>,
}

impl Part {
    fn text(self) -> String {
        match self {
            Part::Star => "*".to_owned(),
            Part::One(a) => format!("{a}"),
            Part::Range(a, b) => format!("{a}-{b}"),
            Part::StarStep(n) => format!("*/{n}"),
            Part::Step(a, n) => format!("{a}/{n}"),
            Part::RangeStep(a, b, n) => format!("{a}-{b}/{n}"),
        }
    }

    /// Whether a value is met when walking from the start one by one, around the end if need be.
    pub(crate) fn has(self, value: u16, (min, max): (u16, u16)) -> bool {
        let (first, last, step) = match self {
            Part::Star => (min, max, 1),
            Part::One(a) => (a, a, 1),
            Part::Range(a, b) => (a, b, 1),
            Part::StarStep(n) => (min, max, n),
            Part::Step(a, n) => (a, max, n),
            Part::RangeStep(a, b, n) => (a, b, n),
        };
        let (mut at, mut taken) = (first, 0);
        loop {
            if at == value && taken % step == 0 {
                return true;
            }
            if at == last {
                return false;
            }
            at = if at == max { min } else { at + 1 };
            taken += 1;
        }
    }

    /// Whether an entry of the hours follows real time: no clock times, but an interval.
    pub(crate) fn is_interval(self) -> bool {
        let steps = matches!(self, Part::StarStep(_) | Part::Step(..) | Part::RangeStep(..));
        steps || (0..24).all(|hour| self.has(hour, (0, 23)))
    }
}

fn join<T: Copy>(parts: &[T], text: impl Fn(T) -> String) -> String {
    parts.iter().map(|&part| text(part)).collect::<Vec<_>>().join(",")
}

impl Spec {
    pub(crate) fn text(&self) -> String {
        let of_month = |day| match day {
            MonthDay::Plain(part) => part.text(),
            MonthDay::Last(0) => "L".to_owned(),
            MonthDay::Last(n) => format!("L-{n}"),
            MonthDay::LastWeekday(0) => "LW".to_owned(),
            MonthDay::LastWeekday(n) => format!("L-{n}W"),
            MonthDay::Near(n) => format!("{n}W"),
        };
        let of_week = |day| match day {
            WeekDay::Plain(part) => part.text(),
            WeekDay::LastOf(day) => format!("{day}L"),
            WeekDay::Nth(day, k) => format!("{day}#{k}"),
        };
        let (month_days, week_days) = match &self.day {
            Day::Any => ("*".to_owned(), "?".to_owned()),
            Day::OfMonth(days) => (join(days, of_month), "?".to_owned()),
            Day::OfWeek(days) => ("?".to_owned(), join(days, of_week)),
        };
        let list = |parts: &[Part]| join(parts, Part::text);
        let (seconds, minutes, hours) = (list(&self.seconds), list(&self.minutes), list(&self.hours));
        let (months, years) = (list(&self.months), list(&self.years));
        format!("{seconds} {minutes} {hours} {month_days} {months} {week_days} {years}")
    }
}

fn part(min: u16, max: u16) -> impl Strategy<Value = Part> {
    let value = move || min..=max;
    let step = move || 1..=(max - min).min(31);
    prop_oneof![
        2 => Just(Part::Star),
        4 => value().prop_map(Part::One),
        2 => (value(), value()).prop_map(|(a, b)| Part::Range(a, b)),
        1 => step().prop_map(Part::StarStep),
        1 => (value(), step()).prop_map(|(a, n)| Part::Step(a, n)),
        1 => (value(), value(), step()).prop_map(|(a, b, n)| Part::RangeStep(a, b, n)),
    ]
}

fn parts(min: u16, max: u16) -> impl Strategy<Value = Vec<Part>> {
    prop_oneof![3 => prop::collection::vec(part(min, max), 1..2), 1 => prop::collection::vec(part(min, max), 1..4)]
}

/// Hours at which clocks are changed come more often.
fn hours() -> impl Strategy<Value = Vec<Part>> {
    let night = prop::collection::vec((0..=3u16).prop_map(Part::One), 1..3);
    prop_oneof![1 => night, 2 => parts(0, 23)]
}

fn day() -> impl Strategy<Value = Day> {
    let of_month = prop_oneof![
        2 => part(1, 31).prop_map(MonthDay::Plain),
        1 => (0..=30u16).prop_map(MonthDay::Last),
        1 => (0..=30u16).prop_map(MonthDay::LastWeekday),
        1 => (1..=31u16).prop_map(MonthDay::Near),
    ];
    let of_week = prop_oneof![
        2 => part(1, 7).prop_map(WeekDay::Plain),
        1 => (1..=7u16).prop_map(WeekDay::LastOf),
        1 => ((1..=7u16), (1..=5u16)).prop_map(|(day, k)| WeekDay::Nth(day, k)),
    ];
    prop_oneof![
        2 => Just(Day::Any),
        2 => prop::collection::vec(of_month, 1..3).prop_map(Day::OfMonth),
        2 => prop::collection::vec(of_week, 1..3).prop_map(Day::OfWeek),
    ]
}

fn years() -> impl Strategy<Value = Vec<Part>> {
    let some = prop_oneof![
        (1970..=2099u16).prop_map(Part::One),
        (1970..=2030u16, 1..=7u16).prop_map(|(a, n)| Part::Step(a, n)),
        (1970..=2030u16, 0..=69u16).prop_map(|(a, more)| Part::Range(a, a + more)),
    ];
    prop_oneof![4 => Just(vec![Part::Star]), 1 => prop::collection::vec(some, 1..3)]
}

pub(crate) fn spec() -> impl Strategy<Value = Spec> {
    let zero = || Just(vec![Part::One(0)]);
    let seconds = prop_oneof![3 => zero(), 1 => parts(0, 59)];
    let minutes = prop_oneof![1 => zero(), 3 => parts(0, 59)];
    let months = prop_oneof![2 => Just(vec![Part::Star]), 1 => parts(1, 12)];
    (seconds, minutes, hours(), day(), months, years()).prop_map(
        |(seconds, minutes, hours, day, months, years)| Spec { seconds, minutes, hours, day, months, years },
    )
}

pub(crate) fn zone_name() -> impl Strategy<Value = String> {
    let names = jiff::tz::TimeZoneDatabase::bundled();
    select(names.available().map(|name| name.as_str().to_owned()).collect::<Vec<_>>())
}
