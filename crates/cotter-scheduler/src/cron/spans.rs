//! A time zone as a table of spans with one offset each.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The range of the table, with a margin on both sides of the years of expressions.
const FIRST: i64 = -365 * 86_400;
const LAST: i64 = 4_103_000_000;
/// Later than every instant of interest, with room for adding offsets.
const FOREVER: i64 = i64::MAX / 4;

/// From `start` to `end` (not included) the local clock is `offset` ahead of UTC. Seconds throughout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) offset: i64,
    /// Local times below this one have been shown or passed by the end of the span.
    ///
    /// It never falls from span to span, which is what makes "the first time that the clock shows L or
    /// later" a binary search, in a gap and in an overlap alike.
    pub(crate) reached: i64,
}

impl Span {
    pub(crate) fn local_start(&self) -> i64 {
        self.start + self.offset
    }

    pub(crate) fn local_end(&self) -> i64 {
        self.end + self.offset
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Spans(Arc<[Span]>);

impl Spans {
    pub(crate) fn utc() -> Self {
        Spans::from_changes(0, [])
    }

    pub(crate) fn of(zone: &TimeZone) -> Self {
        let first = Timestamp::constant(FIRST, 0);
        let changes = zone
            .following(first)
            .map(|change| (change.timestamp().as_second(), i64::from(change.offset().seconds())))
            .take_while(|&(at, _)| at < LAST);
        Spans::from_changes(i64::from(zone.to_offset(first).seconds()), changes)
    }

    /// The offset at the beginning, then each change: when, and to which offset.
    fn from_changes(offset: i64, changes: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut spans = vec![Span { start: -FOREVER, end: FOREVER, offset, reached: FOREVER + offset }];
        let mut reached = i64::MIN;
        for (at, offset) in changes {
            let Some(open) = spans.last_mut().filter(|open| open.offset != offset) else { continue };
            open.end = at;
            reached = reached.max(open.local_end());
            open.reached = reached;
            spans.push(Span { start: at, end: FOREVER, offset, reached: FOREVER + offset });
        }
        Spans(spans.into())
    }

    pub(crate) fn get(&self, index: usize) -> &Span {
        &self.0[index]
    }

    pub(crate) fn after(&self, index: usize) -> &[Span] {
        &self.0[index + 1..]
    }

    pub(crate) fn before(&self, index: usize) -> &[Span] {
        &self.0[..index]
    }

    /// The index of the span that contains the instant.
    pub(crate) fn at(&self, instant: i64) -> usize {
        self.0.partition_point(|span| span.end <= instant).min(self.0.len() - 1)
    }

    /// Local times below this one have been shown or passed before the span at `index`.
    pub(crate) fn reached_before(&self, index: usize) -> i64 {
        index.checked_sub(1).map_or(i64::MIN, |before| self.0[before].reached)
    }

    /// The first instant at which the local clock shows `local` or later, trying span `likely` first.
    pub(crate) fn first_showing(&self, local: i64, likely: usize) -> i64 {
        let span = match &self.0[likely] {
            span if local < span.reached && local >= self.reached_before(likely) => span,
            _ => &self.0[self.0.partition_point(|span| span.reached <= local).min(self.0.len() - 1)],
        };
        (local - span.offset).max(span.start)
    }
}
