//! The next instant, through every clock change.
//!
//! Hours come in two sets. A *fixed* hour is due when the local clock first shows the time **or has passed
//! it**: after a gap that is the first instant after the gap, and in an overlap the first pass. A *live*
//! hour is due whenever the local clock shows the time: never in a gap, twice in an overlap. The
//! instants of an expression are the union of both sets.

use super::compile::Compiled;
use super::spans::{Span, Spans};
use super::walk::{FIRST, LAST};

/// No offset is as large as two days, so nothing outside of it can matter.
const MARGIN: i64 = 2 * 86_400;

pub(super) fn clamp(instant: i64) -> i64 {
    instant.clamp(FIRST - MARGIN, LAST + MARGIN)
}

impl Compiled {
    /// The first match after an instant.
    pub(crate) fn next(&self, after: i64, spans: &Spans) -> Option<i64> {
        let after = clamp(after);
        let at = spans.at(after);
        match (self.next_fixed(after, at, spans), self.next_live(after + 1, at, spans)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn next_fixed(&self, after: i64, at: usize, spans: &Spans) -> Option<i64> {
        let unseen = spans.reached_before(at).max(after + spans.get(at).offset + 1);
        let local = self.first_local(self.fixed, unseen, i64::MAX)?;
        Some(spans.first_showing(local, at))
    }

    fn next_live(&self, from: i64, at: usize, spans: &Spans) -> Option<i64> {
        if self.live == 0 {
            return None;
        }
        let span = spans.get(at);
        let begin = from + span.offset;
        let found = self.first_local(self.live, begin, i64::MAX);
        match found.filter(|&local| local < span.local_end()) {
            Some(local) => Some(local - span.offset),
            None => self.next_live_beyond(begin, found, spans.after(at)),
        }
    }

    /// Continues through later spans, given that nothing in `from..found` matches (no end: nothing at all).
    fn next_live_beyond(&self, from: i64, found: Option<i64>, spans: &[Span]) -> Option<i64> {
        let (mut from, mut found) = (from, found);
        for span in spans {
            if span.local_start() < from {
                let end = from.min(span.local_end());
                if let Some(local) = self.first_local(self.live, span.local_start(), end) {
                    return Some(local - span.offset);
                }
            }
            if found.is_some_and(|local| local < span.local_start()) {
                from = span.local_start();
                found = self.first_local(self.live, from, i64::MAX);
            }
            if let Some(local) = found.filter(|&local| local < span.local_end()) {
                return Some(local - span.offset);
            }
        }
        None
    }
}
