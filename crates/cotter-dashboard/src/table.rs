//! The locks as lines: which ones, in which order, and what is said of each.

use crate::listing::View;
use cotter::{Holder, Record};
use cotter_console::clean;
use cotter_console::duration::{since, words};
use cotter_console::lock::{mode, permits};
use serde::Deserialize;
use std::cmp::Reverse;
use std::time::Duration;

/// The lines of a page.
const PAGE: usize = 200;

/// What somebody wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    /// A part of the name, or of what a holder says of itself.
    pub(crate) q: String,
    pub(crate) sort: Sort,
    /// From zero.
    pub(crate) page: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sort {
    #[default]
    Name,
    /// The longest first.
    Held,
    /// What ends soonest, first.
    Left,
    /// The longest queue first.
    Waiting,
}

impl Sort {
    pub(crate) const ALL: [Self; 4] = [Self::Name, Self::Held, Self::Left, Self::Waiting];

    /// As an address has it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Held => "held",
            Self::Left => "left",
            Self::Waiting => "waiting",
        }
    }

    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Held => "held longest",
            Self::Left => "ends soonest",
            Self::Waiting => "most waiting",
        }
    }
}

/// One lock.
#[derive(Debug)]
pub(crate) struct Line {
    /// The name itself, for its address.
    pub(crate) name: String,
    pub(crate) shown: String,
    pub(crate) kind: String,
    pub(crate) holder: String,
    pub(crate) others: u64,
    pub(crate) held: String,
    pub(crate) left: String,
    pub(crate) waiting: String,
    pub(crate) problem: String,
}

/// A page of them.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) lines: Vec<Line>,
    /// How many match.
    pub(crate) found: usize,
    pub(crate) page: usize,
    pub(crate) pages: usize,
}

impl Lines {
    pub(crate) fn of(view: &View, wanted: &Wanted) -> Self {
        let part = wanted.q.to_lowercase();
        let mut found: Vec<&Record> = view.locks.values().filter(|record| has(record, &part)).collect();
        // They are sorted by name, and sorting is stable.
        match wanted.sort {
            Sort::Name => {}
            Sort::Held => found.sort_by_key(|record| {
                record.holders.iter().filter_map(|h| h.since).min().map_or((1, None), |t| (0, Some(t)))
            }),
            Sort::Left => found.sort_by_key(|record| left(record).unwrap_or(Duration::MAX)),
            Sort::Waiting => found.sort_by_key(|record| Reverse(record.waiters)),
        }
        let pages = found.len().div_ceil(PAGE).max(1);
        let page = wanted.page.min(pages - 1);
        let age = view.age();
        let lines = found.iter().skip(page * PAGE).take(PAGE).map(|record| Line::of(record, age)).collect();
        Self { lines, found: found.len(), page, pages }
    }
}

fn has(record: &Record, part: &str) -> bool {
    let mut texts = record.holders.iter().map(|holder| &*holder.label).chain([record.name.as_str()]);
    part.is_empty() || texts.any(|text| text.to_lowercase().contains(part))
}

/// Until the first of its leases ends, as of the listing.
fn left(record: &Record) -> Option<Duration> {
    record.holders.iter().filter_map(|holder| holder.remaining).min()
}

/// The time that is left on a lease of which the store has told so long ago.
pub(crate) fn remaining(left: Option<Duration>, age: Duration) -> String {
    match left {
        None => "no lease".to_owned(),
        Some(left) if left > age => words(left.saturating_sub(age)),
        Some(_) => "ends".to_owned(),
    }
}

pub(crate) fn held_for(holder: &Holder) -> String {
    holder.since.map_or_else(|| "unknown".to_owned(), |then| words(since(then)))
}

impl Line {
    fn of(record: &Record, age: Duration) -> Self {
        let first = record.holders.first();
        let kind = match permits(record) {
            Some(permits) => format!("{} of {} permits", permits.taken, permits.limit),
            None => first.map(|holder| mode(holder.mode)).unwrap_or_default(),
        };
        Self {
            name: record.name.to_string(),
            shown: clean(&record.name),
            kind,
            holder: first.map_or_else(|| "unknown".to_owned(), |holder| clean(&holder.label)),
            others: (record.holders.len() as u64 + record.unlisted).saturating_sub(1),
            held: first.map(held_for).unwrap_or_default(),
            left: first.map(|_| remaining(left(record), age)).unwrap_or_default(),
            waiting: record.waiters.map_or_else(|| "unknown".to_owned(), |n| n.to_string()),
            problem: record.problem.as_deref().map(clean).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter::{Mode, Name};
    use std::time::SystemTime;

    fn view(locks: &[(&str, &str, u64, u32)]) -> View {
        let record = |(name, label, seconds, waiting): &(&str, &str, u64, u32)| {
            let mut record = Record::free(Name::new(*name).unwrap());
            let mut holder = Holder::new(*label, Mode::Exclusive, 1);
            holder.since = Some(SystemTime::now() - Duration::from_secs(*seconds));
            holder.remaining = Some(Duration::from_secs(100 - seconds));
            (record.holders, record.waiters) = (vec![holder], Some(*waiting));
            (record.name.clone(), record)
        };
        View { locks: locks.iter().map(record).collect(), ..View::default() }
    }

    fn names(view: &View, q: &str, sort: Sort) -> Vec<String> {
        let wanted = Wanted { q: q.to_owned(), sort, page: 0 };
        Lines::of(view, &wanted).lines.into_iter().map(|line| line.name).collect()
    }

    #[test]
    fn locks_are_found_and_sorted() {
        let view = view(&[("a", "Web-1", 10, 0), ("b", "web-2", 30, 5), ("web", "db", 20, 1)]);
        assert_eq!(names(&view, "", Sort::Name), ["a", "b", "web"]);
        assert_eq!(names(&view, "WEB", Sort::Held), ["b", "web", "a"]);
        assert_eq!(names(&view, "web-", Sort::Left), ["b", "a"]);
        assert_eq!(names(&view, "", Sort::Waiting), ["b", "web", "a"]);
    }

    #[test]
    fn many_locks_have_pages() {
        let names: Vec<String> = (0..450).map(|i| format!("lock-{i:03}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), "me", 1, 0)).collect();
        let view = view(&all);
        let last = Lines::of(&view, &Wanted { page: 99, ..Wanted::default() });
        assert_eq!((last.page, last.pages, last.found, last.lines.len()), (2, 3, 450, 50));
    }

    #[test]
    fn a_lease_that_should_be_over_is_not_shown_as_negative() {
        let (second, age) = (Some(Duration::from_secs(1)), Duration::from_secs(2));
        assert_eq!([remaining(second, age), remaining(None, age)], ["ends", "no lease"]);
    }
}
