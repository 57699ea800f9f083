//! Each kind of violation, and runs in which too little happened.

use super::*;
use crate::history::{Bounds, Event, What};
use std::time::Duration;

const MS: u64 = 1_000_000;

/// A history in milliseconds.
#[derive(Default)]
struct Story(Vec<Event>);

impl Story {
    fn new() -> Self {
        Self::with_permits(1)
    }

    fn with_permits(permits: usize) -> Self {
        let bounds =
            Bounds { ttl: Duration::from_millis(100), patience: Duration::from_millis(1_000), permits };
        Self::default().at(0, 0, What::Run(bounds))
    }

    fn at(mut self, at: u64, process: u32, what: What) -> Self {
        self.0.push(Event { at: at * MS, process, what });
        self
    }

    fn asks(self, at: u64, process: u32) -> Self {
        self.at(at, process, What::Asked { name: "a".into() })
    }

    fn gets(self, at: u64, process: u32, token: u64, until: Option<u64>) -> Self {
        self.at(at, process, What::Acquired { token: Some(token), until: until.map(|until| until * MS) })
    }

    fn releases(self, at: u64, process: u32) -> Self {
        self.at(at, process, What::Releasing).at(at, process, What::Released)
    }

    /// From when to when, with this token.
    fn holds(self, process: u32, from: u64, to: u64, token: u64) -> Self {
        self.asks(from, process).gets(from, process, token, None).releases(to, process)
    }

    fn verdict(mut self, needed: Needed) -> Verdict {
        self.0.sort_by_key(|event| event.at);
        let events: Vec<_> = self.0.into_iter().enumerate().collect();
        judge(&Believed::of(&events).unwrap(), needed)
    }

    fn kinds(self) -> Vec<Kind> {
        let verdict = self.verdict(Needed { contended: 0, faults: 0 });
        verdict.violations.into_iter().map(|violation| violation.kind).collect()
    }
}

#[test]
fn two_holders_at_once_are_found_and_one_after_the_other_are_not() {
    assert_eq!(Story::new().holds(1, 10, 20, 1).holds(2, 19, 30, 2).kinds(), [Kind::Overlap]);
    assert_eq!(Story::new().holds(1, 10, 20, 1).holds(2, 20, 30, 2).kinds(), []);
    // Also one that ends long after others have come and gone.
    let long = Story::new().holds(1, 10, 90, 1).holds(2, 20, 30, 2).holds(3, 40, 50, 3);
    assert_eq!(long.kinds(), [Kind::Overlap, Kind::Overlap]);
}

#[test]
fn of_two_permits_the_third_is_one_too_many() {
    let two = || Story::with_permits(2).holds(1, 10, 90, 7).holds(2, 20, 60, 6);
    assert_eq!(two().holds(3, 60, 95, 7).kinds(), []);
    assert_eq!(two().holds(3, 59, 95, 8).kinds(), [Kind::Overlap]);
    let paused = two().at(15, 1, What::Paused).at(30, 1, What::Continued);
    assert_eq!(paused.holds(3, 59, 95, 8).kinds(), [Kind::OverlapAfterPause]);
}

#[test]
fn a_waiter_waits_for_ever_while_one_of_two_permits_is_free() {
    let waits = |permits, upto| {
        let held = Story::with_permits(permits).holds(1, 10, 3_000, 1).holds(2, 20, 100, 2);
        held.asks(50, 3).gets(upto, 3, 3, None).releases(upto + 1, 3)
    };
    assert_eq!(waits(2, 1_050).kinds(), []);
    assert_eq!(waits(2, 1_150).kinds(), [Kind::IdleWaiter]);
    assert_eq!(waits(3, 1_150).kinds(), [Kind::IdleWaiter]);
    let contended =
        |permits| waits(permits, 1_050).verdict(Needed { contended: 0, faults: 0 }).figures.contended;
    assert_eq!((contended(2), contended(3)), (1, 0));
}

#[test]
fn a_holder_that_was_paused_believes_until_its_deadline() {
    let paused = |until| {
        let story = Story::new().asks(0, 1).gets(10, 1, 1, until).at(20, 1, What::Paused);
        let story = story.holds(2, 200, 250, 2).at(300, 1, What::Continued);
        story.at(301, 1, What::Lost { until: None }).releases(302, 1)
    };
    assert_eq!(paused(Some(110)).kinds(), []);
    assert_eq!(paused(Some(201)).kinds(), [Kind::OverlapAfterPause]);
    assert_eq!(paused(None).kinds(), [Kind::OverlapAfterPause]);
}

#[test]
fn a_holder_that_was_killed_believes_nothing() {
    let killed = Story::new().asks(0, 1).gets(10, 1, 1, None).at(20, 1, What::Killed);
    assert_eq!(killed.holds(2, 30, 40, 2).kinds(), []);
}

#[test]
fn tokens_are_unique_and_rise() {
    assert_eq!(Story::new().holds(1, 10, 20, 7).holds(2, 20, 30, 7).kinds(), [Kind::RepeatedToken]);
    assert_eq!(Story::new().holds(1, 10, 20, 7).holds(2, 20, 30, 6).kinds(), [Kind::TokenOrder]);
    // It was told so late that it had no lock any more: nobody knows when it was granted.
    let late = Story::new().asks(0, 2).holds(1, 10, 20, 7).gets(30, 2, 6, Some(5)).releases(31, 2);
    assert_eq!(late.kinds(), []);
}

#[test]
fn a_waiter_of_a_free_name_waits_for_ever() {
    let waits =
        |upto| Story::new().at(0, 1, What::Started).at(0, 2, What::Started).asks(5, 1).gets(upto, 1, 1, None);
    assert_eq!(waits(900).kinds(), []);
    assert_eq!(waits(1_200).kinds(), [Kind::IdleWaiter]);
    // Not while the operator is at work, or another waiter, who may have it, cannot say so.
    let during = waits(1_200).at(10, 0, What::During { text: "x".into() });
    assert_eq!(during.at(400, 0, What::DuringEnded { succeeded: true }).kinds(), []);
    let paused = waits(1_200).asks(6, 2).at(10, 2, What::Paused).at(500, 2, What::Continued);
    assert_eq!(paused.kinds(), []);
}

#[test]
fn what_the_last_one_cannot_get_was_left_behind() {
    let first = Story::new().at(0, 1, What::Started).holds(1, 1, 5, 1).at(6, 1, What::Ended);
    let last = first.at(7, 2, What::Started).asks(8, 2).at(1_100, 2, What::Ended);
    assert_eq!(last.kinds(), [Kind::LeftBehind]);
    let left = Story::new().at(5, 0, What::Left { name: "a".into(), text: "1 waits".into() });
    assert_eq!(left.kinds(), [Kind::LeftBehind]);
}

#[test]
fn too_little_is_void_and_what_is_wrong_is_wrong_all_the_same() {
    let calm = || Story::new().holds(1, 10, 20, 1).holds(2, 20, 30, 2);
    let needed = Needed { contended: 1, faults: 1 };
    let verdict = calm().verdict(needed);
    assert_eq!((verdict.outcome(), verdict.void.len()), (Outcome::Void, 2), "{verdict:?}");
    let wrong = calm().holds(3, 15, 16, 3).verdict(needed);
    assert_eq!(wrong.outcome(), Outcome::Failed);
    // One waits for another, which is paused for longer than the ttl.
    let met = || {
        let story = Story::new().asks(0, 1).gets(10, 1, 1, Some(110)).asks(15, 2).at(20, 1, What::Paused);
        story.at(150, 1, What::Continued).gets(160, 2, 2, None).releases(170, 2)
    };
    let verdict = met().verdict(needed);
    assert_eq!(verdict.outcome(), Outcome::Passed, "{verdict:?}");
    assert_eq!((verdict.figures.paused, verdict.figures.contended), ([1, 1], 1));
    assert_eq!(met().at(171, 0, What::Done { planned: 2 }).verdict(needed).outcome(), Outcome::Void);
    let failed = met().at(171, 0, What::During { text: "x".into() });
    assert_eq!(
        failed.at(172, 0, What::DuringEnded { succeeded: false }).verdict(needed).outcome(),
        Outcome::Void
    );
}
