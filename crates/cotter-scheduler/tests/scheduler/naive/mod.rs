//! `next` and `previous` against an evaluator that goes second by second and shares nothing with the library.

mod clock;
mod spec;

use crate::seed::seed;
use clock::{Naive, date, day_matches};
use cotter_scheduler::{Cron, UnixTime, Zone};
use cotter_testkit::sized;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use spec::{Spec, spec, zone_name};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const END: i64 = 4_102_444_800;

/// Many more cases when the long tests are asked for, and others each time.
fn config() -> ProptestConfig {
    let (cases, rng_seed) = (sized(250, 5_000), RngSeed::Fixed(seed()));
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// What is asked: an expression in a zone at an instant.
struct Question {
    cron: Cron,
    zone: Zone,
    rules: TimeZone,
    text: String,
}

impl Question {
    fn new(spec: &Spec, name: &str) -> Self {
        let text = spec.text();
        let cron = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let rules = TimeZoneDatabase::bundled().get(name).unwrap();
        Question { cron, zone: Zone::named(name).unwrap(), rules, text }
    }

    fn next(&self, after: i64) -> Option<i64> {
        self.cron.next(UnixTime::from_seconds(after), &self.zone).map(UnixTime::seconds)
    }

    /// The change of the clock after an instant, else the instant.
    fn change_after(&self, at: i64) -> i64 {
        let change = self.rules.following(Timestamp::from_second(at).unwrap()).next();
        change.map(|change| change.timestamp().as_second()).filter(|&at| at < END).unwrap_or(at)
    }

    /// Both directions through a window, compared with every second of it.
    fn check_window(&self, spec: &Spec, start: i64, end: i64) -> Result<(), TestCaseError> {
        let expected = Naive::new(spec, &self.rules, start, end).firings(start, end);
        let at = UnixTime::from_seconds;
        // One more than expected is enough, and ends a run in circles.
        let most = expected.len() + 1;
        let forward = self.cron.after(at(start - 1), &self.zone).take(most).map(UnixTime::seconds);
        let forward: Vec<i64> = forward.take_while(|&found| found <= end).collect();
        let backward = self.cron.before(at(end + 1), &self.zone).take(most).map(UnixTime::seconds);
        let mut backward: Vec<i64> = backward.take_while(|&found| found >= start).collect();
        backward.reverse();
        prop_assert!(
            forward == expected,
            "next: {} {}: {}",
            self.text,
            self.zone,
            first_difference(&forward, &expected)
        );
        prop_assert!(
            backward == expected,
            "previous: {} {}: {}",
            self.text,
            self.zone,
            first_difference(&backward, &expected)
        );
        self.check_starts(&expected, start, end)
    }

    /// Both directions from starts all over the window, in the second pass of an overlap too.
    fn check_starts(&self, expected: &[i64], start: i64, end: i64) -> Result<(), TestCaseError> {
        for at in (start..=end).step_by(601) {
            let later = expected.get(expected.partition_point(|&firing| firing <= at)).copied();
            let next = self.next(at).filter(|&next| next <= end);
            prop_assert_eq!(next, later, "next: {} {} after {}", self.text, self.zone, at);
            let earlier = expected[..expected.partition_point(|&firing| firing < at)].last().copied();
            let previous = self.cron.previous(UnixTime::from_seconds(at), &self.zone).map(UnixTime::seconds);
            let previous = previous.filter(|&previous| previous >= start);
            prop_assert_eq!(previous, earlier, "previous: {} {} before {}", self.text, self.zone, at);
        }
        Ok(())
    }
}

fn first_difference(found: &[i64], expected: &[i64]) -> String {
    let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let show = |list: &[i64]| list.get(at).map(|&second| Timestamp::from_second(second).unwrap());
    format!("found {:?}, expected {:?}", show(found), show(expected))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn around_a_change_of_the_clock(spec in spec(), zone in zone_name(), at in 0..END) {
        let question = Question::new(&spec, &zone);
        let change = question.change_after(at);
        question.check_window(&spec, change - 27 * HOUR, change + 27 * HOUR)?;
    }

    #[test]
    fn around_a_match(spec in spec(), zone in zone_name(), at in 0..END) {
        let question = Question::new(&spec, &zone);
        if let Some(found) = question.next(at) {
            question.check_window(&spec, found - 3 * HOUR, found + 3 * HOUR)?;
        }
    }

    #[test]
    fn nothing_is_left_out_on_the_way(spec in spec(), zone in zone_name(), at in 0..END) {
        let question = Question::new(&spec, &zone);
        let found = question.next(at);
        // Matching days near the limits are looked at second by second, and all others need no look.
        let end = found.unwrap_or(END + DAY).min(at + 12 * 366 * DAY);
        for day in (at - DAY).div_euclid(DAY)..=(end + DAY).div_euclid(DAY) {
            if day_matches(&spec, date(day)) {
                let (start, end) = ((day * DAY - DAY).max(at + 1), (day * DAY + 2 * DAY).min(end - 1));
                let firings = Naive::new(&spec, &question.rules, start, end).firings(start, end);
                prop_assert!(firings.is_empty(), "{} {zone} after {at}: {firings:?} before {found:?}", question.text);
            }
        }
    }
}

#[test]
fn every_zone_at_every_kind_of_change() {
    let zones = TimeZoneDatabase::bundled();
    let text = |hours: &str| -> Cron { format!("0 0/15 {hours} * * ?").parse().unwrap() };
    let (fixed, live) = (text("0,1,2,3,23"), text("*"));
    for name in zones.available() {
        let zone = Zone::named(name.as_str()).unwrap();
        let rules = zones.get(name.as_str()).unwrap();
        for change in
            rules.following(Timestamp::UNIX_EPOCH).take_while(|change| change.timestamp().as_second() < END)
        {
            let at = change.timestamp().as_second();
            assert_eq!(
                zone.offset_at(UnixTime::from_seconds(at)),
                change.offset().seconds(),
                "{name:?} {at}"
            );
            for cron in [&fixed, &live] {
                let start = UnixTime::from_seconds(at - 5 * HOUR);
                let ahead: Vec<_> = cron.after(start, &zone).take(8).collect();
                assert!(ahead.is_sorted_by(|a, b| a < b), "{name:?} {at}");
                let end = UnixTime::from_seconds(ahead[7].seconds() + 1);
                assert!(cron.before(end, &zone).take(8).eq(ahead.into_iter().rev()), "{name:?} {at}");
            }
        }
    }
}
