//! Definitions that nobody runs any more.

use super::*;

fn rate(seconds: u32) -> Job {
    job(Trigger::fixed_rate(S * seconds).unwrap())
}

/// Host `b` defined the job at second 10; `a`, from second 0, stands by.
struct Two {
    ours: Definition,
    theirs: Definition,
    note: State,
    control: JobControl,
}

impl Two {
    fn new(ours: &Job, theirs: &Job) -> Self {
        let of = |job, host, seconds| Definition::of(job, "g", host, at(seconds));
        let (ours, theirs) = (of(ours, "a", 0), of(theirs, "b", 10));
        let note = State::fresh(&theirs, at(10), 0);
        Self { ours, theirs, note, control: JobControl::default() }
    }

    /// One of them looks under the lock; what it decides is written, but not run.
    fn looks(&mut self, ours: bool, now: i64) -> Decision {
        let definition = if ours { &self.ours } else { &self.theirs };
        let d = decide(definition, Some(&self.note), &self.control, at(now), MAX_NOTE_LEAD, Followed::Not);
        if !d.stands_by || d.doubts {
            self.note = State::parse("a", &d.state.bytes()).unwrap().unwrap();
        }
        d
    }

    /// When the host that stands by takes over, if it looks as often as it is told to.
    fn taken_over_by(&mut self, mut now: i64, until: i64) -> Option<i64> {
        while now <= until {
            let d = self.looks(true, now);
            if d.taken_over.is_some() {
                return Some(now);
            }
            let whole = |next: UnixTime| (next + (S - Duration::from_nanos(1))).seconds() - at(0).seconds();
            let next = d.next.map_or(until + 1, whole);
            assert!(next > now, "it makes progress");
            now = next;
        }
        None
    }
}

/// It is the one bug that stops a job on all hosts.
#[test]
fn a_definition_that_nobody_runs_lapses_two_minutes_after_a_slot_was_due() {
    let cases = [
        (rate(1), rate(5), 130),
        (job(minutely()), rate(5), 130),
        (rate(3600), job(minutely()), 160),
        (rate(7), job(Trigger::fixed_delay(S * 20).unwrap()), 130),
        (rate(7), job(Trigger::once_at(at(50)).unwrap()), 170),
        // The jitter of `g/a` is less than what is allowed, but not nothing.
        (rate(7), rate(7).jitter(S * 20), 140),
    ];
    for (ours, theirs, by) in cases {
        let mut two = Two::new(&ours, &theirs);
        let taken = two.taken_over_by(11, 1000);
        let in_time = taken.is_some_and(|taken| (by..=by + 15).contains(&taken));
        demand(in_time, Kind::SlotMissing, format!("{} at {taken:?}", two.theirs.text));
        let now = taken.unwrap();
        assert_eq!((two.note.by.as_str(), &two.note.hash), ("a", &two.ours.hash));
        let back = two.looks(false, now + 1);
        assert!(back.stands_by && !back.doubts, "they do not take turns");
        assert_eq!(two.taken_over_by(now + 1, now + 29), None, "it is in effect");
    }
}

#[test]
fn a_takeover_says_who_wrote_the_old_definition_when_and_what_is_different() {
    let mut two = Two::new(&rate(7), &rate(5));
    let stands = two.looks(true, 11);
    let why = two.ours.why_not(&stands.state);
    for part in
        ["host \"b\"", "2023-11-14T22:13:30Z", "its trigger is \"fixed rate 5s\", here \"fixed rate 7s\""]
    {
        assert!(why.contains(part), "{why}");
    }
    assert!(why.contains("raise its generation from 1 to 2") && why.contains("120 s"), "{why}");
    two.note.doubted = Some(at(60));
    let why = two.looks(true, 150).taken_over.expect("it has lapsed");
    for part in
        ["host \"b\" wrote at 2023-11-14T22:13:30Z", "due at 2023-11-14T22:13:30Z", "here \"fixed rate 7s\""]
    {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn the_first_difference_is_named_but_not_what_a_command_contains() {
    let plain = || rate(7).definition("secret");
    let cases = [
        (plain().max_run(S * 9), "its max_run is 9s, here the default"),
        (rate(7).definition("other secret"), "its work is another one"),
        (plain().ttl(S * 30), "its lease is 30s, here the default"),
        (plain().limit("x", 3).retries(2), "its limit is 3 of \"x\", here the default"),
    ];
    for (theirs, text) in cases {
        let two = Two::new(&plain(), &theirs);
        let why = two.ours.why_not(&two.note);
        assert!(why.contains(text) && !why.contains("secret"), "{why}");
    }
    let mut two = Two::new(&plain(), &plain().retries(1));
    two.note.settings = None;
    assert!(two.ours.why_not(&two.note).contains("a setting or the work"), "an older note says less");
}

#[test]
fn it_does_not_lapse_while_its_host_starts_its_slots_or_answers() {
    // It starts them.
    let mut two = Two::new(&rate(1), &rate(60));
    for minute in 0..20 {
        let d = two.looks(false, 10 + minute * 60);
        two.note.begin(&d.due.unwrap(), at(10 + minute * 60), 1, "b");
        two.note.end(at(12 + minute * 60), &Ending::Ok);
        assert_eq!(two.taken_over_by(13 + minute * 60, 69 + minute * 60), None);
    }
    // It has no worker, but looks.
    let mut two = Two::new(&rate(1), &rate(5));
    for look in 0..40 {
        assert!(two.looks(false, 10 + look * 60).due.is_some());
        assert_eq!(two.note.doubted, None, "it has answered");
        assert_eq!(two.taken_over_by(11 + look * 60, 69 + look * 60), None);
    }
}

#[test]
fn it_does_not_lapse_while_it_is_paused_disabled_or_has_nothing_to_do() {
    let mut two = Two::new(&rate(1), &rate(5));
    two.control.pause(crate::notes::Pause::default());
    assert_eq!(two.taken_over_by(11, 10_000), None, "paused");
    two.control.resume(at(10_000));
    assert_eq!(two.taken_over_by(10_001, 20_000), Some(10_120), "resumed, which counts from then on");
    for (ours, theirs) in [
        (rate(1), rate(5).enabled(false)),
        (rate(1).enabled(false), rate(5)),
        (rate(1), rate(100_000).initial_delay(S * 100_000)),
        (rate(1), job(Trigger::on_demand())),
    ] {
        assert_eq!(Two::new(&ours, &theirs).taken_over_by(11, 20_000), None, "{theirs:?}");
    }
}

/// What its host does not start, and does not write down either, although it is there.
#[test]
fn what_is_dropped_in_silence_is_not_overdue() {
    // A slot that passed during a pause: the next one is at second 7210.
    let mut two = Two::new(&rate(1), &rate(3600));
    let due = two.looks(false, 10).due.unwrap();
    two.note.begin(&due, at(10), 1, "b");
    two.note.end(at(11), &Ending::Ok);
    two.control.pause(crate::notes::Pause::default());
    two.control.resume(at(3700));
    assert!(two.looks(false, 3700).due.is_none());
    assert_eq!(two.taken_over_by(3701, 20_000), Some(7210 + 120));
    // A retry that an earlier definition has left to one without retries.
    let mut two = Two::new(&rate(1), &job(Trigger::on_demand()));
    two.note.begin(&due_at(2), at(2), 1, "b");
    two.note.end(at(3), &Ending::Failed(String::new()));
    two.note.run.as_mut().unwrap().retry_at = Some(at(200));
    assert!(two.looks(false, 201).due.is_none());
    assert_eq!(two.taken_over_by(202, 20_000), None);
}

#[test]
fn a_request_a_retry_and_a_one_shot_run_that_nobody_starts_count_as_well() {
    let demand = || Two::new(&rate(1), &job(Trigger::on_demand()));
    let mut two = demand();
    two.control.request(0, &Arguments::new(), at(100));
    assert_eq!(two.taken_over_by(101, 20_000), Some(220));
    let mut two = demand();
    two.note.begin(&DueRun { request: Some(1), ..due_at(100) }, at(100), 1, "b");
    two.note.end(at(101), &Ending::Failed(String::new()));
    two.note.run.as_mut().unwrap().retry_at = Some(at(200));
    assert_eq!(two.taken_over_by(102, 20_000), Some(320));
    let mut two = demand();
    two.note.begin(&DueRun { request: Some(1), ..due_at(100) }, at(100), 1, "b");
    assert_eq!(two.taken_over_by(101, 20_000), Some(220), "the lock was free: it has crashed");
}
