//! The decisions, case by case.

mod chain;
mod lapse;
mod random;

use super::*;
use crate::{Job, Misfire, Trigger};
use cotter_testkit::history::{Kind, demand};

const S: Duration = Duration::from_secs(1);

fn at(seconds: i64) -> UnixTime {
    UnixTime::from_seconds(1_700_000_000 + seconds)
}

fn job(trigger: Trigger) -> Job {
    Job::new("a", trigger, |_| async {})
}

fn define(job: &Job, defined_at: i64) -> Definition {
    Definition::of(job, "g", "", at(defined_at))
}

/// A job as its first runner found it at second 0, and what is decided now.
fn first(job: &Job) -> (Definition, State) {
    let definition = define(job, 0);
    let state = State::fresh(&definition, at(0), 0);
    (definition, state)
}

fn decided(definition: &Definition, state: &State, now: i64) -> Decision {
    decide(definition, Some(state), &JobControl::default(), at(now), MAX_NOTE_LEAD, Followed::Not)
}

fn minutely() -> Trigger {
    // 1_700_000_000 is 22:13:20; slots at 40, 100, 160 …
    Trigger::cron("0 * * * * ?").unwrap()
}

fn slot(d: &Decision) -> Option<i64> {
    d.due.as_ref().map(|slot| slot.at.seconds() - at(0).seconds())
}

#[test]
fn missed_cron_slots_by_policy() {
    let cases = [
        (Misfire::Skip, 170, Some(160), 2),
        (Misfire::Skip, 219, Some(160), 2),
        (Misfire::Once, 170, Some(160), 2),
        (Misfire::All, 170, Some(40), 0),
    ];
    for (misfire, now, due, missed) in cases {
        let (definition, state) = first(&job(minutely()).misfire(misfire));
        let d = decided(&definition, &state, now);
        assert_eq!((slot(&d), d.missed), (due, missed), "{misfire:?} at {now}");
    }
    for (misfire, due, missed) in [(Misfire::Skip, None, 3), (Misfire::Once, Some(160), 2)] {
        let (definition, state) = first(&job(minutely()).misfire(misfire).late_within(S * 5));
        let d = decided(&definition, &state, 170);
        assert_eq!((slot(&d), d.missed), (due, missed), "{misfire:?}, too late");
        assert_eq!(d.state.last, Some(at(160)), "it is not missed again");
        assert_eq!(d.next, due.is_none().then_some(at(220)));
    }
}

#[test]
fn slots_that_passed_while_it_ran_are_skipped_unless_all_are_wanted() {
    for (misfire, due, skipped) in
        [(Misfire::Skip, None, 2), (Misfire::Once, None, 2), (Misfire::All, Some(100), 0)]
    {
        let (definition, mut state) = first(&job(minutely()).misfire(misfire));
        state.begin(&due_at(40), at(41), 1, "");
        state.end(at(165), &Ending::Ok);
        let d = decided(&definition, &state, 170);
        assert_eq!((slot(&d), d.skipped, d.missed), (due, skipped, 0), "{misfire:?}");
    }
    // One that crashed was not going on until somebody noticed.
    let (definition, mut state) = first(&job(minutely()));
    state.begin(&due_at(40), at(41), 1, "");
    let d = decided(&definition, &state, 170);
    assert_eq!((slot(&d), d.skipped, d.missed), (Some(160), 0, 1));
    assert_eq!(d.crashed.map(|run| run.token), Some(1));
}

fn due_at(seconds: i64) -> DueRun {
    DueRun::first(at(seconds))
}

#[test]
fn no_slot_before_the_trigger_was_what_it_is() {
    let (_, state) = first(&job(minutely()));
    let changed = define(&job(Trigger::fixed_rate(S * 7).unwrap()), 50);
    let d = decided(&changed, &state, 60);
    assert_eq!(
        (slot(&d), d.next, d.state.since),
        (None, Some(at(63)), at(60)),
        "the grid of the anchor, from now on"
    );
    let again = decided(&changed, &d.state, 64);
    assert_eq!((slot(&again), again.missed), (Some(63), 0));
}

#[test]
fn a_job_that_is_not_enabled_runs_nothing_and_misses_nothing() {
    let (_, state) = first(&job(minutely()));
    let off = define(&job(minutely()).enabled(false), 10);
    let asked = JobControl { requests: 3, ..JobControl::default() };
    let d = decide(&off, Some(&state), &asked, at(600), MAX_NOTE_LEAD, Followed::Not);
    assert_eq!((slot(&d), d.next, d.state.handled), (None, None, 3));
    let on = define(&job(minutely()), 705);
    let d = decide(&on, Some(&d.state), &asked, at(705), MAX_NOTE_LEAD, Followed::Not);
    assert_eq!((slot(&d), d.missed, d.next), (None, 0, Some(at(760))));
}

#[test]
fn no_slot_before_the_initial_delay_is_over() {
    let rate = || Trigger::fixed_rate(S * 30).unwrap();
    for (trigger, next) in [(minutely(), 100), (Trigger::fixed_delay(S).unwrap(), 90), (rate(), 90)] {
        let (definition, state) = first(&job(trigger).initial_delay(S * 90));
        let d = decided(&definition, &state, 60);
        assert_eq!((slot(&d), d.next), (None, Some(at(next))));
        assert_eq!(slot(&decided(&definition, &state, next)), Some(next));
    }
    let (definition, state) = first(&job(rate()).initial_delay(S * 10));
    assert_eq!(after_now(&definition, Some(&state), at(75)), Some(at(100)), "on the grid, undecided too");
}

#[test]
fn once_is_late_at_the_first_start_but_void_after_a_change_or_a_pause() {
    let once = |seconds| job(Trigger::once_at(at(seconds)).unwrap());
    for (late, misfire, due) in
        [(-30, Misfire::Skip, Some(-30)), (-90, Misfire::Skip, None), (-90, Misfire::All, Some(-90))]
    {
        let (definition, state) = first(&once(late).misfire(misfire));
        assert_eq!(slot(&decided(&definition, &state, 0)), due);
    }
    let (_, state) = first(&once(1000));
    let changed = decided(&define(&once(50), 100), &state, 100);
    assert_eq!((slot(&changed), changed.next), (None, None), "it had passed when it was written");
    let (definition, state) = first(&once(50));
    let resumed = JobControl { resumed_at: Some(at(60)), ..JobControl::default() };
    let d = decide(&definition, Some(&state), &resumed, at(61), MAX_NOTE_LEAD, Followed::Not);
    assert_eq!((slot(&d), d.missed), (None, 0));
}

#[test]
fn a_note_ahead_of_the_clock_is_an_alarm_and_not_done_for_a_year() {
    let (definition, mut state) = first(&job(minutely()));
    state.last = Some(at(365 * 86_400));
    let d = decided(&definition, &state, 105);
    assert_eq!((slot(&d), d.alarm, d.next), (None, true, Some(at(160))), "one slot is given up");
    assert_eq!(d.state.last, Some(at(105)));
    state.last = Some(at(100));
    assert!(!decided(&definition, &state, 99).alarm, "a second may be");
}

#[test]
fn after_a_break_only_the_newest_slot_is_run_whatever_the_trigger() {
    // The slots at 2, 4, … 20 passed; all of them are on time.
    let cron = Trigger::cron("0/2 * * * * ?").unwrap();
    for trigger in [cron, Trigger::fixed_rate(S * 2).unwrap()] {
        let (definition, mut state) = first(&job(trigger));
        state.begin(&due_at(0), at(0), 1, "");
        state.end(at(0), &Ending::Ok);
        let d = decided(&definition, &state, 21);
        assert_eq!((slot(&d), d.missed, d.merged), (Some(20), 9, 0), "{}", definition.trigger);
    }
}

#[test]
fn slots_that_pass_while_a_worker_is_waited_for_are_a_backlog() {
    let (definition, mut state) = first(&job(Trigger::fixed_rate(S * 2).unwrap()).late_within(S * 9));
    state.begin(&due_at(0), at(0), 1, "");
    state.end(at(0), &Ending::Ok);
    let waiting = |since, now| {
        let control = JobControl::default();
        let d =
            decide(&definition, Some(&state), &control, at(now), MAX_NOTE_LEAD, Followed::Since(at(since)));
        (slot(&d), d.missed)
    };
    assert_eq!(waiting(11, 11), (Some(10), 4));
    assert_eq!(waiting(11, 15), (Some(10), 4), "the slots at 12 and 14 follow");
    assert_eq!(waiting(11, 23), (Some(14), 6), "but those before 14 are late by now");
    assert_eq!(waiting(11, 10), (Some(10), 4), "a clock that went back");
}

#[test]
fn each_run_has_a_larger_token_under_one_lock_and_under_the_next() {
    let (_, mut state) = first(&job(minutely()));
    let tokens = [7, 7, 7, 8, 100].map(|lock| state.begin(&due_at(40), at(41), lock, ""));
    demand(tokens.windows(2).all(|pair| pair[0] < pair[1]), Kind::RepeatedToken, format!("{tokens:?}"));
    assert_eq!(tokens, [7, 8, 9, 10, 100]);
}

/// A number at which counting has stopped is not told as a count.
#[test]
fn what_was_not_counted_is_said() {
    let window = S * 86_400;
    let every_second = || Trigger::cron("* * * * * ?").unwrap();
    for (now, missed, more) in [(9_000, 9_000, false), (10_000, 10_000, false), (20_000, 10_000, true)] {
        let (definition, state) = first(&job(every_second()).misfire(Misfire::Once).misfire_window(window));
        let d = decided(&definition, &state, now);
        assert_eq!(d.missed, missed, "at {now}: {:?}", slot(&d));
        demand(
            d.more == more,
            Kind::Untrue,
            format!("{missed} of {now} were counted, there are more: {}", d.more),
        );
    }
}

/// What is too old to be run is counted as well, once.
#[test]
fn slots_beyond_the_misfire_window_are_missed() {
    for (misfire, window, missed, due) in [
        (Misfire::Skip, 100, 500, 500),
        (Misfire::Once, 100, 500, 500),
        (Misfire::All, 100, 400, 400),
        (Misfire::Once, 0, 500, 500),
    ] {
        let job = job(Trigger::cron("* * * * * ?").unwrap()).misfire(misfire).misfire_window(S * window);
        let (definition, state) = first(&job);
        let d = decided(&definition, &state, 500);
        assert_eq!((d.missed, slot(&d)), (missed, Some(due)), "{misfire:?} {window}");
        let again = decided(&definition, &d.state, 500);
        assert_eq!(again.missed, if misfire == Misfire::All { missed } else { 0 }, "{misfire:?} {window}");
    }
    let none_in_window = job(Trigger::cron("0 0 * * * ?").unwrap()).misfire_window(S * 10);
    let (definition, state) = first(&none_in_window);
    let d = decided(&definition, &state, 3 * 3600 + 100);
    assert!(d.missed > 1 && d.due.is_none(), "{d:?}");
    assert_eq!(decided(&definition, &d.state, 3 * 3600 + 100).missed, 0, "they are settled");
}

/// A job that reaches a long exclusion while it runs goes on behind it.
#[test]
fn a_long_exclusion_is_no_end() {
    let trigger = Trigger::cron("* * * * * ?").unwrap().except_cron("* * * ? * * 2023-2030").unwrap();
    let (definition, state) = first(&job(trigger.clone()));
    let next = decided(&definition, &state, 10).next;
    assert_eq!(next, Some("2031-01-01T00:00:00Z".parse().unwrap()));
    assert!(!trigger.has_ended(at(10)) && trigger.has_ended("2099-12-31T23:59:59Z".parse().unwrap()));
}
