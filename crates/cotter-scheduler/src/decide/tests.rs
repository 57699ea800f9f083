//! What is decided, case by case.

use super::*;
use crate::{Job, Misfire, Trigger};

const S: Duration = Duration::from_secs(1);

fn at(seconds: i64) -> UnixTime {
    UnixTime::from_seconds(1_700_000_000 + seconds)
}

fn job(trigger: Trigger) -> Job {
    Job::new("a", trigger, |_| async {})
}

fn define(job: &Job, defined_at: i64) -> Definition {
    Definition::of(job, "g", at(defined_at))
}

/// A job as its first runner found it at second 0, and what is decided now.
fn first(job: &Job) -> (Definition, State) {
    let definition = define(job, 0);
    let state = State::fresh(&definition, at(0), 0);
    (definition, state)
}

fn decided(definition: &Definition, state: &State, now: i64) -> Decision {
    decide(definition, Some(state), &JobControl::default(), at(now), false)
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
