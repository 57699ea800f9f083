//! Jobs that follow others.

use super::*;

fn seen(x: i64, y: Option<i64>) -> JobControl {
    let successes = [("x", Some(x)), ("y", y)];
    let successes = successes.into_iter().filter_map(|(job, end)| Some((job.to_owned(), at(end?))));
    JobControl { successes: successes.collect(), ..JobControl::default() }
}

fn due(definition: &Definition, state: &State, control: &JobControl, now: i64) -> Option<DueRun> {
    decide(definition, Some(state), control, at(now), MAX_NOTE_LEAD, Followed::Not).due
}

#[test]
fn a_success_that_it_has_run_for_or_that_is_read_out_of_date_is_no_new_one() {
    let (definition, mut state) = first(&job(Trigger::on_demand()).after("x").after("y"));
    for (x, y) in [(5, None), (5, Some(-1)), (-1, Some(5))] {
        assert_eq!(due(&definition, &state, &seen(x, y), 10), None, "{x}, {y:?}");
        assert_eq!(due_since(&state, &seen(x, y)), None);
    }
    let complete = seen(5, Some(7));
    assert_eq!(due_since(&state, &complete), Some(at(7)), "also for whoever has another definition");
    let run = due(&definition, &state, &complete, 10).expect("both have succeeded");
    assert_eq!((run.at, run.asked), (at(7), false));
    state.begin(&run, at(10), 1, "h");
    assert_eq!(due(&definition, &state, &complete, 12), None, "it has crashed, and is not run again");
    state.end(at(11), &Ending::Ok);
    let state = State::parse("a", &state.bytes()).unwrap().unwrap();
    for (x, y) in [(5, 7), (3, 9), (9, 3), (3, 3), (5, 9), (9, 7)] {
        let again = due(&definition, &state, &seen(x, Some(y)), 12);
        demand(again.is_none(), Kind::SlotTwice, format!("{x}, {y}: {again:?}"));
    }
    assert_eq!(due(&definition, &state, &seen(6, Some(8)), 12).map(|run| run.at), Some(at(8)));
}
