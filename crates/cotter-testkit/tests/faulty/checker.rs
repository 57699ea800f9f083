//! The history checker, on histories made by hand: each violation by its own kind, and clean ones pass.

use cotter_testkit::history::{
    Event, Happened, History, Kind, Limits, Use, Violation, What, check, check_void, contended, slices,
};
use std::time::Duration;

const MS: u64 = 1_000_000;

/// A history, in milliseconds.
#[derive(Default)]
struct Story(Vec<Event>);

impl Story {
    fn at(&mut self, ms: u64, process: u32, what: What) -> &mut Self {
        self.0.push(Event { at: ms * MS, process, what });
        self
    }

    fn wants(&mut self, ms: u64, process: u32, attempt: u64) -> &mut Self {
        self.wants_as(ms, process, attempt, Use::Exclusive)
    }

    fn wants_as(&mut self, ms: u64, process: u32, attempt: u64, mode: Use) -> &mut Self {
        self.at(ms, process, What::Wanted { attempt, name: "x".into(), mode, patient: true })
    }

    fn gets(&mut self, ms: u64, process: u32, attempt: u64, token: u64) -> &mut Self {
        self.at(ms, process, What::Acquired { attempt, token, deadline: None })
    }

    fn gets_until(&mut self, ms: u64, process: u32, attempt: u64, token: u64, until: u64) -> &mut Self {
        self.at(ms, process, What::Acquired { attempt, token, deadline: Some(until * MS) })
    }

    fn frees(&mut self, ms: u64, process: u32, attempt: u64) -> &mut Self {
        self.at(ms, process, What::Releasing { attempt, deadline: None })
    }

    fn leaves(&mut self, ms: u64, process: u32, attempt: u64) -> &mut Self {
        self.at(ms, process, What::Left { attempt, why: "busy".into() })
    }

    fn is_told(&mut self, ms: u64, process: u32, attempt: u64) -> &mut Self {
        self.at(ms, process, What::Lost { attempt, cause: "expired".into(), deadline: None })
    }

    /// Wants, gets at once, and frees.
    fn holds(&mut self, from: u64, to: u64, process: u32, attempt: u64, token: u64) -> &mut Self {
        self.wants(from, process, attempt).gets(from, process, attempt, token).frees(to, process, attempt)
    }

    fn history(&self) -> History {
        History::of(self.0.clone())
    }

    fn violations(&self) -> Vec<Violation> {
        check(&self.history(), &Limits::default())
    }

    fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.violations().into_iter().map(|v| v.kind).collect();
        kinds.dedup();
        kinds
    }
}

fn story() -> Story {
    Story::default()
}

#[test]
fn one_after_the_other_is_clean() {
    assert_eq!(story().holds(0, 5, 1, 1, 10).holds(6, 9, 2, 1, 11).holds(9, 12, 1, 2, 12).kinds(), []);
}

#[test]
fn end_and_beginning_at_one_instant_are_clean() {
    assert_eq!(story().holds(0, 5, 1, 1, 10).holds(5, 9, 2, 1, 11).kinds(), []);
}

#[test]
fn two_names_do_not_exclude_each_other() {
    let mut s = story();
    s.holds(0, 9, 1, 1, 10);
    let other = What::Wanted { attempt: 1, name: "y".into(), mode: Use::Exclusive, patient: true };
    s.at(1, 2, other).gets(1, 2, 1, 10).frees(5, 2, 1);
    assert_eq!(s.kinds(), []);
}

#[test]
fn overlap_is_found() {
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).holds(4, 9, 2, 1, 11);
    assert_eq!(s.kinds(), [Kind::Overlap]);
    assert_eq!(
        s.violations()[0].to_string(),
        "violation[overlap]: \"x\": process 1 (token 10, ended by Released) and process 2 \
         (token 11) both believed to hold it for 1.000 ms"
    );
}

/// Its session was ended in the eighth millisecond, it stood still for four, and it believed in its lock until then.
fn ended(believed_until: u64, next: u64, unheard_ms: u64) -> Vec<Kind> {
    let mut s = story();
    s.holds(0, believed_until, 1, 1, 10).at(9, 1, What::Stopped).at(13, 1, What::Continued);
    s.holds(next, 40, 2, 1, 11);
    let mut history = s.history();
    history.ended = vec![(7 * MS, 8 * MS)];
    let limits = Limits { unheard: Duration::from_millis(unheard_ms), ..Limits::default() };
    check(&history, &limits).into_iter().map(|violation| violation.kind).collect()
}

#[test]
fn an_ended_session_may_be_believed_in_for_as_long_as_it_takes_to_hear_of_it() {
    assert_eq!(ended(14, 10, 0), [Kind::Overlap], "where the store promises that nobody believes in it");
    assert_eq!(ended(14, 10, 2), []);
    assert_eq!(ended(15, 10, 2), [Kind::Overlap], "it ran for longer than that");
    assert_eq!(ended(14, 6, 2), [Kind::Overlap], "the next one was served before");
}

/// It stood still when it was given the lock and when its session was ended, and heard of the first before it heard of the second;
/// the next one had held the lock meanwhile.
fn granted_late(ended_from: u64, next_until: u64, unheard_ms: u64) -> Vec<Kind> {
    let mut s = story();
    s.wants(0, 1, 1).at(1, 1, What::Stopped).at(6, 1, What::Continued);
    s.gets(6, 1, 1, 10).frees(7, 1, 1);
    s.holds(3, next_until, 2, 1, 11);
    let mut history = s.history();
    history.ended = vec![(ended_from * MS, 2 * MS)];
    let limits = Limits { unheard: Duration::from_millis(unheard_ms), ..Limits::default() };
    check(&history, &limits).into_iter().map(|violation| violation.kind).collect()
}

#[test]
fn an_ended_session_may_be_granted_to_a_process_that_stood_still() {
    assert_eq!(granted_late(1, 5, 2), []);
    assert_eq!(granted_late(1, 5, 0), [Kind::TokenOrder], "it ran for longer than that");
    assert_eq!(granted_late(4, 5, 2), [Kind::TokenOrder], "the next one was served before");
}

#[test]
fn an_ended_session_may_be_granted_late_while_the_next_one_holds_the_lock() {
    assert_eq!(granted_late(1, 9, 2), []);
    assert_eq!(granted_late(1, 9, 0), [Kind::Overlap], "it ran for longer than that");
    assert_eq!(granted_late(4, 9, 2), [Kind::Overlap], "the next one was served before");
}

#[test]
fn a_hold_inside_another_is_an_overlap() {
    assert_eq!(story().holds(0, 9, 1, 1, 10).holds(3, 4, 1, 2, 11).kinds(), [Kind::Overlap]);
}

#[test]
fn a_killed_holder_holds_until_the_kill() {
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10).at(5, 1, What::Killed);
    s.holds(5, 9, 2, 1, 11);
    assert_eq!(s.kinds(), []);
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10).at(5, 1, What::Killed);
    s.holds(4, 9, 2, 1, 11);
    assert_eq!(s.kinds(), [Kind::Overlap]);
}

#[test]
fn a_stopped_holder_holds_until_its_deadline_only() {
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).at(5, 1, What::Stopped);
    s.holds(20, 30, 2, 1, 11).at(90, 1, What::Continued).is_told(91, 1, 1);
    assert_eq!(s.kinds(), []);
}

#[test]
fn a_stopped_holder_without_a_deadline_holds_on() {
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10).at(5, 1, What::Stopped);
    s.holds(20, 30, 2, 1, 11).at(90, 1, What::Continued).frees(91, 1, 1);
    assert_eq!(s.kinds(), [Kind::Overlap]);
}

#[test]
fn a_loss_that_was_told_ends_the_hold() {
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10).is_told(5, 1, 1);
    s.holds(5, 9, 2, 1, 11).frees(12, 1, 1);
    assert_eq!(s.kinds(), []);
}

#[test]
fn a_deadline_that_a_renewal_moved_counts() {
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20);
    s.at(35, 1, What::Releasing { attempt: 1, deadline: Some(50 * MS) });
    s.holds(30, 33, 2, 1, 11);
    assert_eq!(s.kinds(), [Kind::Overlap]);
}

#[test]
fn repeated_token_is_found() {
    assert_eq!(story().holds(0, 5, 1, 1, 10).holds(6, 9, 2, 1, 10).kinds(), [Kind::RepeatedToken]);
}

#[test]
fn token_order_is_found() {
    assert_eq!(story().holds(0, 5, 1, 1, 10).holds(6, 9, 2, 1, 9).kinds(), [Kind::TokenOrder]);
}

#[test]
fn token_order_holds_for_those_who_asked_early_too() {
    let mut s = story();
    s.wants(0, 2, 1).holds(0, 5, 1, 1, 10);
    s.gets(6, 2, 1, 9).frees(9, 2, 1);
    assert_eq!(s.kinds(), [Kind::TokenOrder]);
}

#[test]
fn tokens_of_shared_holders_that_came_together_may_be_in_any_order() {
    let mut s = story();
    s.wants_as(0, 1, 1, Use::Shared).wants_as(0, 2, 1, Use::Shared);
    s.gets(2, 1, 1, 11).gets(3, 2, 1, 10).frees(5, 1, 1).frees(5, 2, 1);
    assert_eq!(s.kinds(), []);
}

/// The second one asked 5 ms after the first one had got its token, which is larger. A task of the second one's process had asked in
/// this mode before, and left so many milliseconds before the second one asked.
fn smaller_token(modes: [Use; 2], left: Option<(Use, u64)>, inherited_ms: u64) -> Vec<Kind> {
    let [first, second] = modes;
    let mut s = story();
    if let Some((mode, before)) = left {
        s.wants_as(1_001, 2, 1, mode).leaves(1_015 - before, 2, 1);
    }
    s.wants_as(1_000, 1, 1, first).gets(1_010, 1, 1, 11).frees(1_011, 1, 1);
    s.wants_as(1_015, 2, 2, second).gets(1_016, 2, 2, 10).frees(1_017, 2, 2);
    let limits = Limits { inherited: Duration::from_millis(inherited_ms), ..Limits::default() };
    check(&s.history(), &limits).into_iter().map(|violation| violation.kind).collect()
}

#[test]
fn a_reader_may_have_the_grant_of_a_task_that_has_left_but_only_among_readers() {
    use Use::{Exclusive, Shared};
    assert_eq!(smaller_token([Shared, Shared], None, 20), [Kind::TokenOrder]);
    assert_eq!(smaller_token([Shared, Shared], Some((Shared, 10)), 20), []);
    assert_eq!(smaller_token([Shared, Shared], Some((Shared, 10)), 5), [Kind::TokenOrder], "that long ago");
    assert_eq!(smaller_token([Shared, Shared], Some((Exclusive, 10)), 20), [Kind::TokenOrder]);
    assert_eq!(smaller_token([Exclusive, Shared], Some((Shared, 10)), 20), [Kind::TokenOrder]);
    assert_eq!(smaller_token([Shared, Exclusive], Some((Shared, 10)), 20), [Kind::TokenOrder]);
}

#[test]
fn so_may_a_holder_of_permits_but_only_among_those_who_want_as_many() {
    let [one, two] = [1, 2].map(|take| Use::Permits { take, of: 3 });
    assert_eq!(smaller_token([one, one], None, 20), [Kind::TokenOrder]);
    assert_eq!(smaller_token([one, one], Some((one, 10)), 20), []);
    assert_eq!(smaller_token([two, one], Some((one, 10)), 20), []);
    assert_eq!(smaller_token([one, one], Some((two, 10)), 20), [Kind::TokenOrder]);
    assert_eq!(smaller_token([one, one], Some((Use::Shared, 10)), 20), [Kind::TokenOrder]);
}

/// What it cannot do while it is stopped takes no time.
#[test]
fn a_process_that_was_stopped_may_have_an_older_grant() {
    let mut s = story();
    s.wants_as(0, 1, 1, Use::Shared).leaves(5, 1, 1).at(6, 1, What::Stopped).at(9_000, 1, What::Continued);
    s.wants_as(10, 2, 1, Use::Shared).gets(11, 2, 1, 2).frees(12, 2, 1);
    s.wants_as(9_001, 1, 2, Use::Shared).gets(9_002, 1, 2, 1).frees(9_003, 1, 2);
    assert_eq!(s.kinds(), []);
    s.wants_as(12_000, 1, 3, Use::Shared).gets(12_001, 1, 3, 0).frees(12_002, 1, 3);
    assert_eq!(s.kinds(), [Kind::TokenOrder]);
}

#[test]
fn shared_with_exclusive_is_found() {
    let mut s = story();
    s.wants_as(0, 1, 1, Use::Shared).gets(0, 1, 1, 10).frees(9, 1, 1);
    s.holds(5, 6, 2, 1, 11);
    assert_eq!(s.kinds(), [Kind::SharedWithExclusive]);
}

fn permits(third: u32) -> Vec<Kind> {
    let mut s = story();
    for (process, take) in [(1, 2), (2, 1), (3, third)] {
        s.wants_as(0, process, 1, Use::Permits { take, of: 4 });
        s.gets(1, process, 1, 10 + u64::from(process)).frees(9, process, 1);
    }
    s.kinds()
}

#[test]
fn permits_over_the_limit_are_found() {
    assert_eq!(permits(1), []);
    assert_eq!(permits(2), [Kind::PermitsOverLimit]);
}

fn barged(stopped: bool) -> Vec<Kind> {
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10);
    s.wants(10, 2, 1);
    if stopped {
        s.at(20, 2, What::Stopped).at(310, 2, What::Continued);
    }
    s.wants(200, 3, 1).frees(250, 1, 1).gets(250, 3, 1, 11).frees(260, 3, 1);
    s.gets(320, 2, 1, 12).frees(330, 2, 1);
    s.kinds()
}

#[test]
fn a_lost_place_is_found_unless_the_waiter_was_stopped() {
    assert_eq!(barged(false), [Kind::LostPlace]);
    assert_eq!(barged(true), []);
}

#[test]
fn a_process_may_serve_its_own_tasks_and_then_goes_behind() {
    let mut s = story();
    s.wants(0, 1, 1).wants(1, 1, 2).wants(1, 1, 3).wants(2, 2, 1);
    s.gets(3, 1, 1, 10).frees(300, 1, 1).gets(300, 1, 2, 11).frees(301, 1, 2);
    let mut fair = Story(s.0.clone());
    fair.gets(301, 2, 1, 12).frees(310, 2, 1).gets(310, 1, 3, 13).frees(311, 1, 3);
    assert_eq!(fair.kinds(), []);
    assert_eq!(slices(&fair.history(), "x").len(), 3);
}

#[test]
fn a_mere_try_that_barges_costs_a_place() {
    let mut s = story();
    s.wants(0, 1, 1).gets(0, 1, 1, 10).wants(10, 2, 1).frees(200, 1, 1);
    let tries = What::Wanted { attempt: 1, name: "x".into(), mode: Use::Exclusive, patient: false };
    s.at(200, 3, tries).gets(201, 3, 1, 11).frees(202, 3, 1).gets(203, 2, 1, 12).frees(204, 2, 1);
    assert_eq!(s.kinds(), [Kind::LostPlace]);
}

fn idle(stopped: bool, gap: u64) -> Vec<Kind> {
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).wants(1, 2, 1);
    if stopped {
        s.at(4, 2, What::Stopped).at(50, 2, What::Continued);
    }
    s.gets(5 + gap, 2, 1, 11).frees(6 + gap, 2, 1);
    s.kinds()
}

#[test]
fn an_idle_waiter_is_found_unless_it_was_stopped() {
    assert_eq!(idle(false, 100), []);
    assert_eq!(idle(false, 101), [Kind::IdleWaiter]);
    assert_eq!(idle(true, 101), []);
}

#[test]
fn a_wait_that_is_never_answered_is_stuck() {
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).wants(2, 2, 1).holds(3, 4, 2, 2, 0);
    assert!(s.kinds().contains(&Kind::StuckWaiter));
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).wants(2, 2, 1).leaves(50, 2, 1);
    assert_eq!(s.kinds(), []);
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).wants(2, 2, 1).at(3, 2, What::Killed);
    assert_eq!(s.kinds(), []);
}

fn told(ms: u64) -> Vec<Kind> {
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).is_told(ms, 1, 1).at(400, 1, What::Finished);
    s.kinds()
}

#[test]
fn a_late_loss_is_found() {
    assert_eq!(told(20), []);
    assert_eq!(told(70), []);
    assert_eq!(told(71), [Kind::LateLoss]);
}

#[test]
fn a_loss_that_is_never_told_is_late() {
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).frees(300, 1, 1).at(400, 1, What::Finished);
    assert_eq!(s.kinds(), [Kind::LateLoss]);
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).frees(19, 1, 1).at(400, 1, What::Finished);
    assert_eq!(s.kinds(), []);
}

#[test]
fn a_stopped_holder_is_told_when_it_runs_again() {
    let mut s = story();
    s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).at(5, 1, What::Stopped).at(200, 1, What::Continued);
    let mut late = Story(s.0.clone());
    s.is_told(240, 1, 1).at(400, 1, What::Finished);
    assert_eq!(s.kinds(), []);
    late.is_told(260, 1, 1).at(400, 1, What::Finished);
    assert_eq!(late.kinds(), [Kind::LateLoss]);
}

/// A stop that begins shortly after the deadline, before the margin is over, delays the news as well.
#[test]
fn a_holder_stopped_after_its_deadline_has_the_rest_of_the_margin_when_it_runs_again() {
    let told = |ms| {
        let mut s = story();
        s.wants(0, 1, 1).gets_until(0, 1, 1, 10, 20).at(30, 1, What::Stopped).at(200, 1, What::Continued);
        s.is_told(ms, 1, 1).at(400, 1, What::Finished);
        s.violations()
    };
    assert!(told(240).is_empty());
    let [late] = &told(241)[..] else { panic!("one violation") };
    assert!(
        late.to_string().contains("told 221.0 ms after its deadline; its process ran for 51.0 ms of that"),
        "{late}"
    );
}

fn busy(waits: u64) -> History {
    let mut s = story();
    for n in 0..=waits {
        s.wants((10 * n).saturating_sub(5), 1, n).gets(10 * n, 1, n, n).frees(10 * n + 9, 1, n);
    }
    s.history()
}

#[test]
fn too_few_faults_waits_or_acquisitions_are_void() {
    let enough = Happened { planned: 10, confirmed: 9, acquisitions: 101, contended: 100, faults: 8 };
    assert_eq!(contended(&busy(100)), 100);
    assert_eq!(check_void(&busy(100), enough), []);
    let kinds = |history: &History, happened| {
        check_void(history, happened).into_iter().map(|v| v.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&busy(100), Happened { confirmed: 8, ..enough }), [Kind::Void]);
    assert_eq!(kinds(&busy(100), Happened { acquisitions: 102, ..enough }), [Kind::Void]);
    assert_eq!(kinds(&busy(100), Happened { faults: 10, ..enough }), [Kind::Void]);
    assert_eq!(kinds(&busy(100), Happened { contended: 101, ..enough }), [Kind::Void]);
    assert_eq!(kinds(&busy(99), Happened { acquisitions: 0, contended: 0, ..enough }), [Kind::Void]);
}

#[test]
fn limits_can_be_widened() {
    let mut s = story();
    s.holds(0, 5, 1, 1, 10).wants(1, 2, 1).gets(300, 2, 1, 11).frees(301, 2, 1);
    let limits = Limits { idle: Duration::from_secs(1), ..Limits::default() };
    assert_eq!(check(&s.history(), &limits), []);
}
