//! The rules of order, for two snapshots of one name.

use super::snapshot::{Entry, Snapshot};
use crate::history::{Kind, Violation, violation};
use std::collections::{HashMap, HashSet};

/// The known state of the queue of one name.
#[derive(Debug, Default)]
pub(super) struct Queue {
    last: Option<Snapshot>,
    /// The last that was seen of each who waited.
    waited: HashMap<String, Entry>,
    held: HashSet<String>,
    pub(super) compared: usize,
}

/// Snapshots that are further apart, in microseconds, may have a reconnect in between that neither of them shows.
const CLOSE: u64 = 9_000;

/// A waiter that sends another request after this many microseconds under one ticket is alive: what was kept back lands all at once.
const ALIVE: u64 = 50_000;

impl Queue {
    /// The violations since the last snapshot.
    pub(super) fn follow(&mut self, name: &str, now: Snapshot) -> Vec<Violation> {
        let mut found = self.lost_places(name, &now);
        if let Some(before) = self.last.take().filter(|b| now.at - b.at <= CLOSE) {
            self.compared += 1;
            found.extend(overtaken(name, &before, &now));
        }
        self.held.insert(now.holder.clone());
        for entry in &now.queue {
            let known = self.waited.get(&entry.claim).is_some_and(|b| b.ticket != entry.ticket);
            if !known || entry.seen.saturating_sub(entry.ticket) > ALIVE {
                self.waited.insert(entry.claim.clone(), entry.clone());
            }
        }
        self.last = Some(now);
        found
    }

    /// A waiter that is in the queue with another ticket than before, without having held in between, has lost its place.
    /// That is in order only when it had been silent. A question that lands behind the release of its claim also takes a
    /// new ticket, but nobody asks again under that.
    fn lost_places(&self, name: &str, now: &Snapshot) -> Vec<Violation> {
        let moved = now.queue.iter().filter_map(|e| {
            let before = self.waited.get(&e.claim).filter(|b| b.ticket != e.ticket)?;
            let silent = e.ticket.saturating_sub(before.seen) > before.silence;
            let alive = e.seen.saturating_sub(e.ticket) > ALIVE;
            (alive && !silent && !self.held.contains(&e.claim)).then_some((before, e))
        });
        let tell = |(before, after): (&Entry, &Entry)| {
            let silent_ms = after.ticket.saturating_sub(before.seen) / 1000;
            let text = format!(
                "{name:?}: {} had lost its place when it asked again after {silent_ms} ms",
                after.claim
            );
            violation(Kind::LostPlace, text)
        };
        moved.map(tell).collect()
    }
}

/// Somebody else was served, and one that listened all the time stands where it stood.
fn overtaken(name: &str, before: &Snapshot, now: &Snapshot) -> Option<Violation> {
    if now.holder.is_empty() || now.token <= before.token {
        return None;
    }
    let place = before.queue.iter().position(|e| e.claim == now.holder).unwrap_or(usize::MAX);
    let still =
        |e: &Entry| now.queue.iter().any(|n| n.claim == e.claim && n.ticket == e.ticket && n.listening);
    let ahead = before.queue.iter().take(place).find(|e| e.listening && still(e))?;
    let who = if place == usize::MAX { "a newcomer".to_owned() } else { format!("number {}", place + 1) };
    let text =
        format!("{name:?}: {who} was served, and {}, which listens, still waits before it", ahead.claim);
    Some(violation(Kind::LostPlace, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(claim: &str, ticket: u64, seen: u64) -> Entry {
        Entry { claim: claim.into(), ticket, seen, silence: 2_000_000, listening: true }
    }

    fn shot(at: u64, holder: &str, token: u64, queue: Vec<Entry>) -> Snapshot {
        Snapshot { at, holder: holder.into(), token, queue }
    }

    fn follow(shots: Vec<Snapshot>) -> Vec<Kind> {
        let mut queue = Queue::default();
        shots.into_iter().flat_map(|s| queue.follow("x", s)).map(|v| v.kind).collect()
    }

    #[test]
    fn the_first_in_line_is_served() {
        let waiting = vec![entry("b", 5, 5), entry("c", 6, 6)];
        assert_eq!(follow(vec![shot(10, "a", 1, waiting), shot(20, "b", 15, vec![entry("c", 6, 6)])]), []);
    }

    #[test]
    fn the_second_in_line_and_a_newcomer_must_wait() {
        let waiting = vec![entry("b", 5, 5), entry("c", 6, 6)];
        for (holder, left) in [("c", vec![entry("b", 5, 5)]), ("d", waiting.clone())] {
            let shots = vec![shot(10, "a", 1, waiting.clone()), shot(20, holder, 15, left)];
            assert_eq!(follow(shots), [Kind::LostPlace], "{holder}");
        }
    }

    #[test]
    fn the_deaf_are_passed_over() {
        let deaf = Entry { listening: false, ..entry("b", 5, 5) };
        let waiting = vec![deaf.clone(), entry("c", 6, 6)];
        assert_eq!(follow(vec![shot(10, "a", 1, waiting), shot(20, "c", 15, vec![deaf])]), []);
    }

    #[test]
    fn a_new_ticket_is_a_lost_place_but_for_the_silent_and_for_those_who_held() {
        let again = |seen: u64, holder: &str| {
            let first = shot(1_000_000, holder, 1, vec![entry("b", 5, seen)]);
            let gone = shot(1_010_000, "x", 2, vec![]);
            let back = |seen| shot(3_000_000, "x", 2, vec![entry("b", 2_500_000, seen)]);
            follow(vec![first, gone, back(2_500_000), back(2_600_000), back(2_650_000)])
        };
        assert_eq!(again(900_000, "a"), [Kind::LostPlace]);
        assert_eq!(again(400_000, "a"), []);
        assert_eq!(again(900_000, "b"), []);
    }
}
