//! The description of an expression in plain English: first the time of day, then the days.

use super::item::{Base, Days, Item, Items};
use super::words::{capitalized, join, ordinal};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// How many times of day are written out individually.
const MAX_TIMES: usize = 6;

pub(super) fn describe(items: &Items) -> String {
    let time = times(items).unwrap_or_else(|| intervals(items));
    let mut parts = vec![capitalized(&time)];
    parts.extend(match &items.days {
        Days::Every if time.starts_with("at ") && !time.contains("every") => Some("every day".to_owned()),
        Days::Every => None,
        Days::OfMonth(days) => Some(days_of_month(days)),
        Days::OfWeek(days) => Some(days_of_week(days)),
        Days::Either(month, week) => Some(format!("{} or {}", days_of_month(month), days_of_week(week))),
        Days::Both(month, week) => Some(format!("{}, but only {}", days_of_month(month), days_of_week(week))),
    });
    parts.extend(months(&items.months));
    parts.extend(years(&items.years));
    parts.join(", ")
}

/// `at 10:15:00 and 14:15:00`, where that is short enough.
fn times(items: &Items) -> Option<String> {
    let [Item::Value(second)] = items.seconds[..] else { return None };
    let minutes = plain(&items.minutes)?;
    let hours = plain(&items.hours)?;
    if hours.len() * minutes.len() > MAX_TIMES {
        return None;
    }
    let of_hour = |hour: u16| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}:{second:02}"));
    let times: Vec<String> = hours.iter().copied().flat_map(of_hour).collect();
    Some(format!("at {}", join(&times)))
}

/// The numbers, if there are only single values.
fn plain(items: &[Item]) -> Option<Vec<u16>> {
    let value = |item: &Item| if let Item::Value(a) = *item { Some(a) } else { None };
    items.iter().map(value).collect()
}

/// `every 5 minutes of hour 14`, `at minute 30 of every hour`, …
fn intervals(items: &Items) -> String {
    let units: [(&[Item], &str); 3] =
        [(&items.seconds, "second"), (&items.minutes, "minute"), (&items.hours, "hour")];
    let zeros = units.iter().take_while(|(items, _)| *items == [Item::Value(0)]).count();
    let skipped = if leads(units[zeros.min(2)].0) { zeros } else { zeros.min(1) };
    let mut parts = &units[skipped..];
    while let [.., finer, (last, _)] = parts
        && *last == [Item::All]
        && leads(finer.0)
    {
        parts = &parts[..parts.len() - 1];
    }
    let lead = leading(parts[0].0, parts[0].1);
    let of = parts[1..].iter().map(|(items, unit)| format!(" of {}", trailing(items, unit)));
    format!("{lead}{}", of.collect::<String>())
}

/// Whether the items describe an interval, so that "every n …" is sufficient.
fn leads(items: &[Item]) -> bool {
    matches!(items, [Item::All | Item::Step(..) | Item::Range(..)])
}

fn leading(items: &[Item], unit: &str) -> String {
    match *items {
        [Item::Step(base, n)] if n > 1 => format!("every {n} {unit}s{}", from(base, unit)),
        _ if leads(items) => trailing(items, unit),
        _ => format!("at {}", trailing(items, unit)),
    }
}

fn trailing(items: &[Item], unit: &str) -> String {
    if let Some(values) = plain(items) {
        let values: Vec<String> = values.iter().map(u16::to_string).collect();
        let plural = if values.len() > 1 { "s" } else { "" };
        return format!("{unit}{plural} {}", join(&values));
    }
    let part = |item: &Item| match *item {
        Item::All => format!("every {unit}"),
        Item::Value(a) => format!("{unit} {a}"),
        Item::Range(a, b) => format!("every {unit} from {a} through {b}"),
        Item::Step(base, 1) => format!("every {unit}{}", from(base, unit)),
        Item::Step(base, n) => format!("every {} {unit}{}", ordinal(n), from(base, unit)),
        _ => String::new(),
    };
    join(&items.iter().map(part).collect::<Vec<_>>())
}

fn from(base: Base, unit: &str) -> String {
    match base {
        Base::All | Base::From(0) => String::new(),
        Base::From(a) => format!(" from {unit} {a} on"),
        Base::Range(a, b) => format!(" from {unit} {a} through {b}"),
    }
}

fn days_of_month(items: &[Item]) -> String {
    let before = |n: u16| if n == 1 { "the day".to_owned() } else { format!("{n} days") };
    let part = |item: &Item| match *item {
        Item::Last(0) => "the last day".to_owned(),
        Item::Last(n) => format!("{} before the last day", before(n)),
        Item::LastWeekday(0) => "the last weekday".to_owned(),
        Item::LastWeekday(n) => format!("the weekday nearest to {} before the last day", before(n)),
        Item::NearestWeekday(n) => format!("the weekday nearest to the {}", ordinal(n)),
        Item::Value(n) => format!("the {}", ordinal(n)),
        Item::Range(a, b) => format!("the {} through the {}", ordinal(a), ordinal(b)),
        other => trailing(&[other], "day"),
    };
    format!("on {} of the month", join(&items.iter().map(part).collect::<Vec<_>>()))
}

fn days_of_week(items: &[Item]) -> String {
    let name = |day: u16| WEEKDAYS[usize::from(day) - 1];
    let part = |item: &Item| match *item {
        Item::Value(day) => name(day).to_owned(),
        Item::Range(a, b) => format!("{} through {}", name(a), name(b)),
        Item::LastOf(day) => format!("the last {} of the month", name(day)),
        Item::Nth(day, nth) => format!("the {} {} of the month", ordinal(nth), name(day)),
        Item::Step(base, n) => stepped(base, n, ("day", "Sunday", &name)),
        _ => "every day of the week".to_owned(),
    };
    let text = join(&items.iter().map(part).collect::<Vec<_>>());
    match items {
        [Item::Range(..) | Item::Step(..)] => text,
        _ => format!("on {text}"),
    }
}

fn months(items: &[Item]) -> Option<String> {
    let name = |month: u16| MONTHS[usize::from(month) - 1];
    let part = |item: &Item| match *item {
        Item::Value(month) => name(month).to_owned(),
        Item::Range(a, b) => format!("{} through {}", name(a), name(b)),
        Item::Step(base, n) => stepped(base, n, ("month", "January", &name)),
        _ => "every month".to_owned(),
    };
    (items != [Item::All]).then(|| format!("in {}", join(&items.iter().map(part).collect::<Vec<_>>())))
}

/// `every 2nd month from March on`; the unit comes with the name of its first value and of any value.
fn stepped(base: Base, n: u16, (unit, first, name): (&str, &str, &dyn Fn(u16) -> &'static str)) -> String {
    let every = if n == 1 { format!("every {unit}") } else { format!("every {} {unit}", ordinal(n)) };
    match base {
        Base::All => format!("{every} from {first} on"),
        Base::From(a) => format!("{every} from {} on", name(a)),
        Base::Range(a, b) => format!("{every} from {} through {}", name(a), name(b)),
    }
}

fn years(items: &[Item]) -> Option<String> {
    let part = |item: &Item| match *item {
        Item::Value(year) => year.to_string(),
        Item::Range(a, b) => format!("{a} through {b}"),
        Item::Step(Base::All, n) => format!("every {} year from 1970 on", ordinal(n)),
        Item::Step(Base::From(a), n) => format!("every {} year from {a} on", ordinal(n)),
        Item::Step(Base::Range(a, b), n) => format!("every {} year from {a} through {b}", ordinal(n)),
        _ => "every year".to_owned(),
    };
    (items != [Item::All]).then(|| format!("in {}", join(&items.iter().map(part).collect::<Vec<_>>())))
}
