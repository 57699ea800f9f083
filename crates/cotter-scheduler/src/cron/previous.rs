//! The previous instant: the mirror of `next.rs`.

use super::compile::Compiled;
use super::next::clamp;
use super::spans::{Span, Spans};

impl Compiled {
    /// The last match before an instant.
    pub(crate) fn previous(&self, before: i64, spans: &Spans) -> Option<i64> {
        let to = clamp(before) - 1;
        let at = spans.at(to);
        match (self.previous_fixed(to, at, spans), self.previous_live(to, at, spans)) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    }

    fn previous_fixed(&self, to: i64, at: usize, spans: &Spans) -> Option<i64> {
        let seen = (to + spans.get(at).offset).max(spans.reached_before(at).saturating_sub(1));
        let local = self.last_local(self.fixed, seen, i64::MIN)?;
        Some(spans.first_showing(local, at))
    }

    fn previous_live(&self, to: i64, at: usize, spans: &Spans) -> Option<i64> {
        if self.live == 0 {
            return None;
        }
        let span = spans.get(at);
        let end = to + span.offset;
        let found = self.last_local(self.live, end, i64::MIN);
        match found.filter(|&local| local >= span.local_start()) {
            Some(local) => Some(local - span.offset),
            None => self.previous_live_beyond(end, found, spans.before(at)),
        }
    }

    /// Continues through earlier spans, given that nothing after `found` up to `to` matches.
    fn previous_live_beyond(&self, to: i64, found: Option<i64>, spans: &[Span]) -> Option<i64> {
        let (mut to, mut found) = (to, found);
        for span in spans.iter().rev() {
            let last = span.local_end() - 1;
            if last > to {
                let floor = (to + 1).max(span.local_start());
                if let Some(local) = self.last_local(self.live, last, floor) {
                    return Some(local - span.offset);
                }
            }
            if found.is_some_and(|local| local > last) {
                to = last;
                found = self.last_local(self.live, to, i64::MIN);
            }
            if let Some(local) = found.filter(|&local| local >= span.local_start()) {
                return Some(local - span.offset);
            }
        }
        None
    }
}
