//! When the slots of a trigger count: from one instant, until another, and except on some days and at some times.

use crate::cron::civil::{self, Date};
use crate::{Cron, Error, Result, UnixTime, Zone};
use std::fmt;
use std::time::Duration;

/// The restrictions of a trigger. Exclusions are for cron expressions only, whose slots are cheap to skip.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Calendar {
    pub(crate) from: Option<UnixTime>,
    pub(crate) until: Option<UnixTime>,
    /// First and last days, counted from 1970-01-01, in the zone of the expression.
    days: Vec<(i64, i64)>,
    times: Vec<Cron>,
}

const DAY: i64 = 86_400;
/// The clock is changed by less than this.
const MAX_CHANGE: Duration = Duration::from_secs(4 * 3600);
/// How many runs of excluded slots are skipped in one search.
const MAX_SKIPPED: usize = 1_000_000;
/// The smallest step of time.
const TICK: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

/// What a search for the next slot has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    Slot(UnixTime),
    /// There is none any more.
    Ended,
    /// All slots up to this instant are excluded; whether there are later ones is not known.
    Unfinished(UnixTime),
}

impl Search {
    /// The slot, if one is known.
    pub(crate) fn slot(self) -> Option<UnixTime> {
        match self {
            Self::Slot(slot) => Some(slot),
            Self::Ended | Self::Unfinished(_) => None,
        }
    }

    /// When to look again: at the slot, or where the search has stopped.
    pub(crate) fn look(self) -> Option<UnixTime> {
        match self {
            Self::Slot(at) | Self::Unfinished(at) => Some(at),
            Self::Ended => None,
        }
    }
}

impl Calendar {
    /// Adds a day, `2031-12-25`, or several, `2031-12-24/2032-01-01`.
    pub(crate) fn except_days(&mut self, text: &str) -> Result<()> {
        let (first, last) = text.split_once('/').unwrap_or((text, text));
        let (first, last) = (day(first)?, day(last)?);
        if last < first {
            return Err(Error::trigger(format!("{text:?}: the last day is before the first")));
        }
        self.days.push((first, last));
        Ok(())
    }

    /// Adds all seconds at which this expression fires.
    pub(crate) fn except_times(&mut self, cron: Cron) {
        self.times.push(cron);
    }

    /// Whether an instant lies between the two bounds.
    pub(crate) fn covers(&self, at: UnixTime) -> bool {
        self.from.is_none_or(|from| at >= from) && self.until.is_none_or(|until| at <= until)
    }

    pub(crate) fn excludes(&self, slot: UnixTime, zone: &Zone) -> bool {
        self.excluded_days(slot, zone).is_some() || self.excluding(slot, zone).next().is_some()
    }

    /// The expressions that exclude a slot.
    fn excluding<'c>(&'c self, slot: UnixTime, zone: &'c Zone) -> impl Iterator<Item = &'c Cron> {
        self.times.iter().filter(move |cron| cron.previous(slot + TICK, zone) == Some(slot))
    }

    /// The days that exclude a slot.
    fn excluded_days(&self, slot: UnixTime, zone: &Zone) -> Option<(i64, i64)> {
        let local = (slot.seconds() + i64::from(zone.offset_at(slot))).div_euclid(DAY);
        self.days.iter().copied().find(|(first, last)| (*first..=*last).contains(&local))
    }

    /// The first slot of an expression after an instant.
    pub(crate) fn next(&self, cron: &Cron, zone: &Zone, after: UnixTime) -> Search {
        self.search(cron, zone, after, MAX_SKIPPED)
    }

    /// The first slot of an expression after an instant and up to another, however many are excluded.
    pub(crate) fn next_until(
        &self,
        cron: &Cron,
        zone: &Zone,
        after: UnixTime,
        end: UnixTime,
    ) -> Option<UnixTime> {
        let mut after = after;
        while after < end {
            match self.next(cron, zone, after) {
                Search::Unfinished(at) => after = at,
                found => return found.slot(),
            }
        }
        None
    }

    fn search(&self, cron: &Cron, zone: &Zone, after: UnixTime, most: usize) -> Search {
        let mut after = self.from.map_or(after, |from| after.max(from - TICK));
        for _ in 0..most {
            let slot = cron.next(after, zone).filter(|slot| self.covers(*slot));
            let Some(slot) = slot else { return Search::Ended };
            if !self.excludes(slot, zone) {
                return Search::Slot(slot);
            }
            let ends = self.excluding(slot, zone).map(|times| times.fires_until(slot, zone) - SECOND);
            after = ends.fold(slot, UnixTime::max);
            if let Some((_, last)) = self.excluded_days(slot, zone) {
                let end = UnixTime::from_seconds((last + 1) * DAY - i64::from(zone.offset_at(slot)));
                after = after.max(end - MAX_CHANGE);
            }
        }
        Search::Unfinished(after)
    }

    /// The last slot of an expression before one instant and after another.
    pub(crate) fn previous(
        &self,
        cron: &Cron,
        zone: &Zone,
        before: UnixTime,
        base: UnixTime,
    ) -> Option<UnixTime> {
        let mut before = self.until.map_or(before, |until| before.min(until + TICK));
        loop {
            let slot = cron.previous(before, zone).filter(|slot| *slot > base && self.covers(*slot))?;
            if !self.excludes(slot, zone) {
                return Some(slot);
            }
            let begins = self.excluding(slot, zone).map(|times| times.fires_since(slot, zone));
            before = begins.fold(slot, UnixTime::min);
            if let Some((first, _)) = self.excluded_days(slot, zone) {
                let begin = UnixTime::from_seconds(first * DAY - i64::from(zone.offset_at(slot)));
                before = before.min(begin + MAX_CHANGE);
            }
        }
    }

    /// The calendar that `Display` wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut calendar = Self::default();
        for part in text.split("; ") {
            if let Some(from) = part.strip_prefix("from ") {
                calendar.from = Some(from.parse().ok()?);
            } else if let Some(until) = part.strip_prefix("until ") {
                calendar.until = Some(until.parse().ok()?);
            } else if let Some(cron) = part.strip_prefix("except cron ") {
                calendar.except_times(cron.parse().ok()?);
            } else {
                calendar.except_days(part.strip_prefix("except ")?).ok()?;
            }
        }
        Some(calendar)
    }
}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [("from", self.from), ("until", self.until)];
        let bounds = bounds.into_iter().filter_map(|(word, at)| Some(format!("{word} {}", at?)));
        let days = self.days.iter().map(|(first, last)| match first == last {
            true => format!("except {}", Day(*first)),
            false => format!("except {}/{}", Day(*first), Day(*last)),
        });
        let times = self.times.iter().map(|cron| format!("except cron {cron}"));
        f.write_str(&bounds.chain(days).chain(times).collect::<Vec<_>>().join("; "))
    }
}

struct Day(i64);

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = civil::date_of(self.0);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

fn day(text: &str) -> Result<i64> {
    let wrong = || Error::trigger(format!("{text:?} is not a day: write it like 2031-12-25"));
    let midnight: UnixTime = format!("{text}T00:00:00Z").parse().map_err(|_| wrong())?;
    let day = midnight.seconds().div_euclid(DAY);
    // Other spellings of a day are not accepted.
    if Day(day).to_string() == text { Ok(day) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter_testkit::history::{Kind, demand};

    /// Every slot of a month around a change of the clock, forwards and backwards, against a filter of all slots.
    #[test]
    fn what_is_left_is_every_slot_that_is_not_excluded() {
        let zone = Zone::named("Europe/Berlin").unwrap();
        let at = |text: &str| text.parse::<UnixTime>().unwrap();
        let (begin, end) = (at("2024-03-15T00:00:00Z"), at("2024-04-15T00:00:00Z"));
        for (slots, days, times, bounds) in [
            ("0 0/7 * * * ?", vec!["2024-03-30/2024-03-31", "2024-04-02"], vec![], false),
            ("0 0/7 * * * ?", vec![], vec!["* * 22-5 * * ?", "* * * ? * SAT,SUN"], false),
            ("0 30 2 * * ?", vec!["2024-03-31"], vec!["* * 3 1 4 ?"], true),
            ("30 0/5 0-3 * * ?", vec!["2024-03-20/2024-04-05"], vec!["* 0-30 * * * ?"], true),
        ] {
            let cron: Cron = slots.parse().unwrap();
            let mut calendar = Calendar::default();
            days.iter().for_each(|days| calendar.except_days(days).unwrap());
            times.iter().for_each(|times| calendar.except_times(times.parse().unwrap()));
            if bounds {
                calendar.from = Some(at("2024-03-18T01:30:00Z"));
                calendar.until = Some(at("2024-04-12T01:00:00Z"));
            }
            let is_left = |slot: &UnixTime| {
                let local = zone.local(*slot).to_string();
                let day = &local[..10];
                let in_days = days.iter().any(|days| {
                    let (first, last) = days.split_once('/').unwrap_or((days, days));
                    (first..=last).contains(&day)
                });
                let fires = |text: &&str| {
                    text.parse::<Cron>().unwrap().next(*slot - Duration::from_secs(1), &zone) == Some(*slot)
                };
                calendar.covers(*slot) && !in_days && !times.iter().any(fires)
            };
            let all = cron.after(begin, &zone).take_while(|slot| *slot < end);
            let wanted: Vec<UnixTime> = all.filter(is_left).collect();
            let next = |slot: &UnixTime| calendar.next(&cron, &zone, *slot).slot().filter(|slot| *slot < end);
            let found: Vec<UnixTime> = std::iter::successors(next(&begin), next).collect();
            assert_eq!(found, wanted, "{slots} [{calendar}]");
            let before = |slot: &UnixTime| calendar.previous(&cron, &zone, *slot, begin);
            let mut found: Vec<UnixTime> = std::iter::successors(before(&end), before).collect();
            found.reverse();
            assert_eq!(found, wanted, "backwards: {slots} [{calendar}]");
            assert!(wanted.len() > 5, "{slots} [{calendar}]: {}", wanted.len());
        }
    }

    /// Two months of minutes in which every second is excluded are one step, and so are twelve years of seconds.
    #[test]
    fn a_long_exclusion_is_no_end() {
        let at = |text: &str| text.parse::<UnixTime>().unwrap();
        for (slots, times, after, next, back) in [
            (
                "* * * * * ?",
                "* * * ? JAN,FEB *",
                "2026-01-01T00:00:00Z",
                "2026-03-01T00:00:00Z",
                "2025-12-31T23:59:59Z",
            ),
            (
                "* * * * * ?",
                "* * * * * ? 2026-2037",
                "2026-01-01T00:00:00Z",
                "2038-01-01T00:00:00Z",
                "2025-12-31T23:59:59Z",
            ),
            (
                "0 * * * * ?",
                "* 0-58 * * * ?",
                "2026-01-01T00:00:00Z",
                "2026-01-01T00:59:00Z",
                "2025-12-31T23:59:00Z",
            ),
        ] {
            let (cron, zone): (Cron, _) = (slots.parse().unwrap(), Zone::utc());
            let mut calendar = Calendar::default();
            calendar.except_times(times.parse().unwrap());
            assert_eq!(calendar.search(&cron, &zone, at(after), 100), Search::Slot(at(next)), "{times}");
            let before = calendar.previous(&cron, &zone, at(next), UnixTime::EPOCH);
            assert_eq!(before, Some(at(back)), "{times}");
        }
    }

    /// Where a search stops is no end, and the next one goes on from there.
    #[test]
    fn a_search_that_stops_is_continued() {
        let (cron, zone): (Cron, _) = ("* * * * * ?".parse().unwrap(), Zone::utc());
        let mut calendar = Calendar::default();
        // Runs of a second: even and odd seconds of the first day.
        for times in ["0/2 * * 1 1 ? 2026", "1/2 * * 1 1 ? 2026"] {
            calendar.except_times(times.parse().unwrap());
        }
        let begin: UnixTime = "2025-12-31T23:59:59Z".parse().unwrap();
        let (mut after, mut stops) = (begin, 0);
        let found = loop {
            match calendar.search(&cron, &zone, after, 10_000) {
                Search::Unfinished(at) => (after, stops) = (at, stops + 1),
                found => break found,
            }
        };
        demand(found != Search::Ended, Kind::Untrue, "there are slots where the search has stopped");
        assert_eq!((found, stops), (Search::Slot("2026-01-02T00:00:00Z".parse().unwrap()), 8));
        calendar.until = Some("2026-01-01T12:00:00Z".parse().unwrap());
        assert_eq!(calendar.next(&cron, &zone, begin), Search::Ended);
    }

    #[test]
    fn days_are_written_in_one_way() {
        let mut calendar = Calendar::default();
        for (text, says) in [
            ("2031-2-3", "\"2031-2-3\" is not a day: write it like 2031-12-25"),
            ("2031-02-30", "is not a day"),
            ("tomorrow", "is not a day"),
            ("2031-12-25/2031-12-24", "the last day is before the first"),
        ] {
            let error = calendar.except_days(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert_eq!(calendar, Calendar::default());
    }
}
