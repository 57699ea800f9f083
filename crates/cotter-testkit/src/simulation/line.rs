//! Who waits for a name, in which order they came, and what is wrong when one of them has got it.

use crate::history::{Kind, Violation, violation};
use std::time::Duration;
use tokio::time::Instant;

/// Those who wait and have waited, and since when nobody holds the name.
#[derive(Debug)]
pub(super) struct Line {
    is_ordered: bool,
    longest_idle: Duration,
    waits: Vec<Wait>,
    holders: usize,
    free_since: Instant,
}

#[derive(Debug)]
struct Wait {
    who: String,
    asked: Instant,
    got: Option<Instant>,
}

/// Whoever asks has a place in line after this time, where no request takes longer than a few milliseconds: another connection for
/// the subscription, and four requests, one of which the server may not know yet.
const PLACED: Duration = Duration::from_millis(60);

impl Line {
    pub(super) fn new(is_ordered: bool, longest_idle: Duration) -> Self {
        Self { is_ordered, longest_idle, waits: Vec::new(), holders: 0, free_since: Instant::now() }
    }

    pub(super) fn asks(&mut self, who: String) -> usize {
        self.waits.push(Wait { who, asked: Instant::now(), got: None });
        self.waits.len() - 1
    }

    pub(super) fn others_wait(&self) -> bool {
        self.waits.iter().any(|wait| wait.got.is_none())
    }

    /// A wait has ended. What was wrong with it?
    pub(super) fn got(&mut self, at: usize) -> Vec<Violation> {
        let (now, mut found) = (Instant::now(), Vec::new());
        let first = self.waits.iter().filter(|wait| wait.got.is_none()).map(|wait| wait.asked).min();
        let idle = first.map_or(Duration::ZERO, |first| now - first.max(self.free_since));
        if self.holders == 0 && idle > self.longest_idle {
            let text =
                format!("it was free for {idle:?} until {} got it, and was waited for", self.waits[at].who);
            found.push(violation(Kind::IdleWaiter, text));
        }
        let one = &self.waits[at];
        let passes = |other: &&Wait| {
            other.asked > one.asked + PLACED && other.got.is_some_and(|got| got + PLACED < now)
        };
        if let Some(other) = self.waits.iter().find(passes).filter(|_| self.is_ordered) {
            let text = format!(
                "{} came {:?} later than {}, and was served before",
                other.who,
                other.asked - one.asked,
                one.who
            );
            found.push(violation(Kind::LostPlace, text));
        }
        self.waits[at].got = Some(now);
        self.holders += 1;
        found
    }

    pub(super) fn leaves(&mut self) {
        self.holders -= 1;
        self.free_since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const IDLE: Duration = Duration::from_secs(1);

    fn kinds(found: &[Violation]) -> Vec<Kind> {
        found.iter().map(|violation| violation.kind).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_later_and_is_served_before_is_found_where_there_is_an_order() {
        for (is_ordered, found) in [(true, vec![Kind::LostPlace]), (false, vec![])] {
            let mut line = Line::new(is_ordered, IDLE);
            let first = line.asks("first".to_owned());
            advance(PLACED * 2).await;
            let later = line.asks("later".to_owned());
            assert!(line.got(later).is_empty(), "until the other one is served, it may have been on its way");
            advance(PLACED * 2).await;
            assert_eq!(kinds(&line.got(first)), found, "{is_ordered}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_who_come_at_once_have_no_order() {
        let mut line = Line::new(true, IDLE);
        let (one, other) = (line.asks("one".to_owned()), line.asks("other".to_owned()));
        assert!(line.got(other).is_empty());
        advance(PLACED * 2).await;
        assert!(line.got(one).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_what_nobody_holds_is_idle() {
        let mut line = Line::new(true, IDLE);
        let holder = line.asks("holder".to_owned());
        assert!(line.got(holder).is_empty());
        let waiter = line.asks("waiter".to_owned());
        advance(IDLE * 3).await;
        line.leaves();
        advance(IDLE * 2).await;
        assert_eq!(kinds(&line.got(waiter)), [Kind::IdleWaiter]);
    }
}
