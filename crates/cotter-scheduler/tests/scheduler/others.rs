//! Random expressions against two independent implementations, the crates `croner` and `cron`: a minute from a fixed seed, or ten
//! from another one each time with `COTTER_LONG` set.
//!
//! They have other rules for changes of the clock, so instants near one are not compared; the evaluator in `naive` is for those.

use crate::seed::{is_over, seed};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;
use cotter_scheduler::{Cron, UnixTime, Zone};
use cotter_testkit::sized;
use croner::parser::{CronParser, Seconds};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::io::{Write, stderr};
use std::str::FromStr;
use std::time::{Duration, Instant};

const ZONES: [&str; 6] =
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"];
const DAY: i64 = 86_400;
/// From 1971 to 2036: the crates have their own data about time zones, which ends a little later or agrees no more.
const BEGIN: i64 = 31_536_000;
const END: i64 = 2_082_758_400;
/// How many instants of an expression are compared.
const INSTANTS: usize = 5;

/// How often each of the two was asked, and could answer.
#[derive(Debug, Default)]
struct Compared {
    croner: u64,
    cron: u64,
    near_a_change: u64,
}

impl Compared {
    fn is_enough(&self) -> bool {
        self.croner > 1000 && self.cron > 1000
    }
}

#[test]
fn others_agree() {
    let (start, length, seed) = (Instant::now(), Duration::from_secs(sized(60, 600)), seed());
    let mut random = StdRng::seed_from_u64(seed);
    let mut compared = Compared::default();
    while !is_over(start, length, compared.is_enough()) {
        let question = Question::random(&mut random);
        if let Err(difference) = question.compare(&mut compared) {
            panic!("{difference} (seed {seed})");
        }
    }
    let _ = writeln!(stderr(), "instants compared: {compared:?}");
    assert!(compared.is_enough(), "too few to mean anything: {compared:?} (seed {seed})");
}

struct Question {
    text: String,
    /// Whether the expression is in the dialect of the crate `cron`.
    is_plain: bool,
    zone: &'static str,
    after: i64,
}

impl Question {
    fn random(random: &mut StdRng) -> Self {
        let list = |random: &mut StdRng, from, to| numbers(random, from, to);
        let time = [list(random, 0, 59), list(random, 0, 59), list(random, 0, 23)].join(" ");
        let month = if random.random_bool(0.5) { "*".to_owned() } else { list(random, 1, 12) };
        let (day, is_plain) = days(random);
        let (of_month, of_week) = day;
        let zone = ZONES[random.random_range(0..ZONES.len())];
        let after = random.random_range(BEGIN..END);
        Self { text: format!("{time} {of_month} {month} {of_week}"), is_plain, zone, after }
    }

    fn compare(&self, compared: &mut Compared) -> Result<(), String> {
        let ours: Cron = self.text.parse().map_err(|error| format!("{}: {error}", self.text))?;
        let (zone, tz) = (Zone::named(self.zone).unwrap(), Tz::from_str(self.zone).unwrap());
        let at = UnixTime::from_seconds;
        let found: Vec<i64> =
            ours.after(at(self.after), &zone).take(INSTANTS).map(UnixTime::seconds).collect();
        // As far as there is no change of the clock, and no end of the data.
        let last = found.iter().take_while(|&&at| at < END && is_steady(tz, self.after, at)).count();
        if last == 0 {
            compared.near_a_change += 1;
            return Ok(());
        }
        let found = &found[..last];
        let after = tz.timestamp_opt(self.after, 0).unwrap();
        if let Some(theirs) = croner(&self.text, &after, last) {
            self.check("croner", found, &theirs)?;
            compared.croner += last as u64;
        }
        if let Some(theirs) = self.is_plain.then(|| cron(&self.text, &after, last)).flatten() {
            self.check("cron", found, &theirs)?;
            compared.cron += last as u64;
        }
        // Backwards from the last one.
        let end = found[last - 1] + 1;
        let mut back: Vec<i64> = ours.before(at(end), &zone).take(last).map(UnixTime::seconds).collect();
        back.reverse();
        self.check("previous", found, &back)
    }

    fn check(&self, who: &str, ours: &[i64], theirs: &[i64]) -> Result<(), String> {
        if ours == theirs {
            return Ok(());
        }
        let (text, zone, after) = (&self.text, self.zone, self.after);
        Err(format!("{text} in {zone} after {after}: found {ours:?}, {who} has {theirs:?}"))
    }
}

/// What a field of numbers can be in all three dialects.
fn numbers(random: &mut StdRng, from: u32, to: u32) -> String {
    let entry = |random: &mut StdRng| {
        let a = random.random_range(from..=to);
        let b = random.random_range(a..=to);
        let step = random.random_range(1..=(to - from).div_ceil(2));
        match random.random_range(0..4) {
            0 => format!("{a}-{b}"),
            1 if b > a => format!("{a}-{b}/{step}"),
            _ => a.to_string(),
        }
    };
    match random.random_range(0..6) {
        0 => "*".to_owned(),
        1 => format!("*/{}", random.random_range(1..=(to - from).div_ceil(2))),
        _ => (0..random.random_range(1..4)).map(|_| entry(random)).collect::<Vec<_>>().join(","),
    }
}

/// The fields for the day, and whether they are in the dialect of `cron`.
fn days(random: &mut StdRng) -> ((String, String), bool) {
    let week = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    let number = random.random_range(1..=7_usize);
    let of_month = |text: String| (text, "?".to_owned());
    let of_week = |text: String| ("?".to_owned(), text);
    match random.random_range(0..9) {
        0 => (of_month("*".to_owned()), true),
        1 | 2 => (of_month(numbers(random, 1, 31)), true),
        3 => (of_week(numbers(random, 1, 7)), true),
        4 => {
            let to = random.random_range(number..=7);
            (of_week(format!("{}-{}", week[number - 1], week[to - 1])), true)
        }
        5 => (of_month("L".to_owned()), false),
        6 => (of_month(format!("{}W", random.random_range(1..=28))), false),
        7 => (of_week(format!("{number}L")), false),
        _ => (of_week(format!("{number}#{}", random.random_range(1..=5))), false),
    }
}

/// Whether the clock is not changed within a day of this time.
fn is_steady(tz: Tz, from: i64, to: i64) -> bool {
    let offset = |at: i64| tz.timestamp_opt(at, 0).unwrap().offset().fix().local_minus_utc();
    let first = offset(from - DAY);
    // No zone changes its clock twice within eight days.
    let mut at = from - DAY;
    while at < to + DAY {
        at = (at + 8 * DAY).min(to + DAY);
        if offset(at) != first {
            return false;
        }
    }
    true
}

fn croner(text: &str, after: &DateTime<Tz>, count: usize) -> Option<Vec<i64>> {
    let parser = CronParser::builder().seconds(Seconds::Required).alternative_weekdays(true).build();
    let cron = parser.parse(text).ok()?;
    let found: Vec<i64> = cron.iter_after(*after).take(count).map(|at| at.timestamp()).collect();
    // It gives up after some years.
    (found.len() == count).then_some(found)
}

fn cron(text: &str, after: &DateTime<Tz>, count: usize) -> Option<Vec<i64>> {
    let schedule = cron::Schedule::from_str(text).ok()?;
    Some(schedule.after(after).take(count).map(|at| at.timestamp()).collect())
}
