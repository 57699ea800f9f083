//! Random lines against the crate `croner`, each over ten years: 150 from a fixed seed, or ten thousand from another one
//! each time with `COTTER_LONG` set.

use super::crontab;
use crate::seed::seed;
use chrono::{DateTime, Utc};
use cotter_scheduler::{UnixTime, Zone};
use cotter_testkit::sized;
use croner::parser::{CronParser, Seconds, Year};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const DAY: i64 = 86_400;
/// More instants of a line are not compared: three of each minute of a day, so that every field has its part.
const MOST: usize = 5_000;

#[test]
fn croner_agrees_for_ten_years() {
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let (mut either, mut both) = (0, 0);
    for _ in 0..sized(150, 10_000) {
        let [minute, hour, of_month, month, of_week] = &line(&mut random);
        let text = format!("{minute} {hour} {of_month} {month} {of_week}");
        let needs_both = of_month.starts_with('*') || of_week.starts_with('*');
        let is_restricted = of_month != "*" && of_week != "*";
        either += u32::from(is_restricted && !needs_both);
        both += u32::from(is_restricted && needs_both);
        let start = random.random_range(365 * DAY..90 * 365 * DAY);
        let (ours, theirs) = (ours(&text, start), croner(&text, needs_both, start));
        assert!(ours == theirs, "{text} after {start}: {} (seed {seed})", difference(&ours, &theirs));
    }
    assert!(either > 20 && both > 20, "of each kind: {either}, {both} (seed {seed})");
}

fn end(start: i64) -> i64 {
    start + 3_653 * DAY
}

fn ours(text: &str, start: i64) -> Vec<i64> {
    let (cron, utc) = (crontab(text), Zone::utc());
    let found = cron.after(UnixTime::from_seconds(start), &utc).map(UnixTime::seconds);
    found.take_while(|at| *at < end(start)).take(MOST).collect()
}

/// It reads five fields, and either day is enough; that `*/2` counts as `*` there has to be said.
fn croner(text: &str, needs_both: bool, start: i64) -> Vec<i64> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed);
    let cron = parser.dom_and_dow(needs_both).build().parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let after: DateTime<Utc> = DateTime::from_timestamp(start, 0).unwrap();
    let found = cron.iter_after(after).map(|at| at.timestamp());
    found.take_while(|at| *at < end(start)).take(MOST).collect()
}

fn difference(ours: &[i64], theirs: &[i64]) -> String {
    let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    format!("number {at} is {:?}, and {:?} for croner", ours.get(at), theirs.get(at))
}

/// Most lines have few times of day, so that ten years fit.
fn line(random: &mut StdRng) -> [String; 5] {
    let few = |random: &mut StdRng, to| random.random_range(0..=to).to_string();
    let (minute, hour) = match random.random_range(0..4) {
        0 => (field(random, 0, 59, &[]), field(random, 0, 23, &[])),
        1 => (few(random, 59), field(random, 0, 23, &[])),
        _ => (few(random, 59), few(random, 23)),
    };
    let months = ["jan", "FEB", "mar", "Apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let days = ["sun", "MON", "tue", "Wed", "thu", "fri", "sat"];
    let month = if random.random_bool(0.6) { "*".to_owned() } else { field(random, 1, 12, &months) };
    [minute, hour, field(random, 1, 31, &[]), month, field(random, 0, 7, &days)]
}

fn field(random: &mut StdRng, from: usize, to: usize, names: &[&str]) -> String {
    match random.random_range(0..6) {
        0 => "*".to_owned(),
        1 => format!("*/{}", random.random_range(1..=(to - from).div_ceil(2))),
        _ => {
            let count = random.random_range(1..4);
            (0..count).map(|_| entry(random, from, to, names)).collect::<Vec<_>>().join(",")
        }
    }
}

fn entry(random: &mut StdRng, from: usize, to: usize, names: &[&str]) -> String {
    let a = random.random_range(from..=to);
    let b = random.random_range(a..=to);
    let step = random.random_range(1..=(to - from).div_ceil(2));
    match random.random_range(0..5) {
        0 => format!("{a}-{b}"),
        1 if b > a => format!("{a}-{b}/{step}"),
        2 => names.choose(random).map_or_else(|| a.to_string(), ToString::to_string),
        _ => a.to_string(),
    }
}
