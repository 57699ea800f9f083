//! `memory` behind a faulty wrapper, on a clock that the test moves: what a holder is told, and what is left behind.

use cotter::{Client, ErrorKind, Lease, LossCause, ManualClock, Released, memory};
use cotter_testkit::Actor;
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use cotter_testkit::history::{History, Kind, Limits, Recorder, check, demand};
use cotter_testkit::timing::{FAR, first_within, happens, until};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(10);

/// A store, and two processes that use it: one through faults.
struct Stage {
    clock: ManualClock,
    faults: Faults,
    log: Recorder,
    one: Actor,
    other: Actor,
}

impl Stage {
    fn new(lease: Lease) -> Self {
        let (clock, faults, log) = (ManualClock::new(), Faults::seeded(1), Recorder::in_memory());
        let store = memory::Store::new();
        let connect = |process, backend: Faulty| {
            let client = Client::builder().clock(clock.clone()).lease(lease);
            let time = clock.clone();
            let now = move || cotter::clock::Clock::now(&time).as_nanos();
            Actor::on_clock(client.connect_to(backend).wait().unwrap(), &log, process, now)
        };
        let one = connect(1, Faulty::new(store.clone(), &faults));
        let other = connect(2, Faulty::new(store, &Faults::seeded(2)));
        Self { clock, faults, log, one, other }
    }

    /// Without moving time: nothing may have to run out first.
    fn demand_free(&self, name: &str, why: &str) {
        let guard = on_thread(&self.other, name);
        demand(guard.is_some(), Kind::LeftBehind, format!("{name:?} is not free after {why}"));
    }
}

/// Fails with what is wrong in the history, if anything is.
fn demand_nothing_in(log: &Recorder, limits: &Limits) {
    let found = check(&History::of(log.events()), limits);
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// What runs in the background may take a moment of real time.
fn on_thread(actor: &Actor, name: &str) -> Option<cotter::Guard> {
    first_within(FAR, || actor.client().mutex(name).try_lock().wait().unwrap())
}

/// Runs a future on this thread, beside the engines.
fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Runs it on a thread of its own while this one moves the clock until it is done.
fn run_while_time_goes<T: Send>(clock: &ManualClock, step: Duration, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let working = scope.spawn(work);
        while !working.is_finished() {
            clock.advance(step);
            std::thread::sleep(Duration::from_millis(1));
        }
        working.join().unwrap()
    })
}

#[test]
fn a_suspended_holder_learns_it_before_any_other_guarded_call() {
    let stage = Stage::new(Lease::renewed(TTL));
    let held = run(stage.one.lock("x")).unwrap();
    stage.faults.set(Plan { renewals_fail: true, ..Plan::default() });
    stage.clock.suspend(TTL);
    let notes = stage.faults.calls(Call::Note);
    let guard = held.guard();
    demand(!guard.is_valid() && guard.check().is_err(), Kind::UsedAfterLoss, "the guard is still valid");
    demand(guard.remaining() == Some(Duration::ZERO), Kind::UsedAfterLoss, "there is time left");
    let kind = |e: cotter::Error| e.kind();
    let refused = Some(ErrorKind::Lost);
    demand(guard.put_note("late").wait().err().map(kind) == refused, Kind::UsedAfterLoss, "a note was taken");
    demand(guard.extend(TTL).wait().err().map(kind) == refused, Kind::UsedAfterLoss, "it was extended");
    let worked = run(guard.scope(async { "worked" }));
    demand(worked.is_err(), Kind::UsedAfterLoss, "a scope ran to its end");
    demand(stage.faults.calls(Call::Note) == notes, Kind::UsedAfterLoss, "the store was asked");
    assert_eq!(run(guard.lost()).cause, LossCause::Expired);
    assert_eq!(run(held.release()).unwrap(), Released::AlreadyLost);
    stage.demand_free("x", "a loss");
}

/// The engine itself hangs, as all threads of a paused process do: the holder's own look at the clock must do.
#[test]
fn a_holder_whose_engine_hangs_learns_it_by_looking() {
    let faults = Faults::seeded(1);
    let store = Faulty::new(memory::Store::new(), &faults);
    let lease = Lease::renewed(Duration::from_millis(90));
    // A clock of its own gives it an engine of its own, which alone will hang.
    let clock = Boot;
    let client = Client::builder().lease(lease).clock(clock).connect_to(store).wait().unwrap();
    let guard = client.mutex("x").lock().wait().unwrap();
    faults.set(Plan { freeze: Duration::from_millis(600), ..Plan::default() });
    while faults.calls(Call::Extend) == 0 && guard.is_valid() {
        std::thread::sleep(Duration::from_millis(5));
    }
    demand(!guard.is_valid(), Kind::UsedAfterLoss, "the guard is still valid after its deadline");
    demand(guard.check().is_err(), Kind::UsedAfterLoss, "check() admits a holder after its deadline");
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
}

/// The boot clock, with sleeps on threads: nothing that an engine would have to drive.
#[derive(Debug)]
struct Boot;

impl cotter::clock::Clock for Boot {
    fn now(&self) -> cotter::clock::Moment {
        cotter::clock::Moment::from_nanos(cotter_testkit::now())
    }

    fn wall(&self) -> std::time::SystemTime {
        std::time::SystemTime::now()
    }

    fn sleep_until(&self, until: cotter::clock::Moment) -> cotter::clock::Sleep {
        let wait = until.since(self.now()).min(Duration::from_secs(60));
        let (done, told) = tokio::sync::oneshot::channel::<()>();
        std::thread::spawn(move || {
            std::thread::sleep(wait);
            drop(done);
        });
        Box::pin(async move { drop(told.await) })
    }
}

#[test]
fn a_lost_acquire_reply_is_an_unknown_outcome_and_leaves_nothing_behind() {
    let stage = Stage::new(Lease::renewed(TTL));
    for attempt in 0..20 {
        let name = format!("x{attempt}");
        stage.faults.lose_next_reply(Call::Acquire);
        let error = stage.one.client().mutex(&name).try_lock().wait().unwrap_err();
        assert!(error.outcome_unknown(), "{error}");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        stage.demand_free(&name, "an acquisition whose reply was lost");
    }
    assert_eq!(stage.faults.counts().lost_replies, 20);
}

#[test]
fn a_request_that_lands_late_is_undone_within_seconds() {
    let stage = Stage::new(Lease::renewed(TTL));
    for millis in [50, 300, 1000, 2500] {
        let name = format!("x{millis}");
        stage.faults.delay_next(Call::Acquire, Duration::from_millis(millis));
        let tried = stage.one.client().mutex(&name).try_lock().wait();
        assert!(tried.unwrap_err().outcome_unknown());
        // Long before the lease of what has landed meanwhile would end by itself.
        stage.clock.advance(Duration::from_millis(2700));
        stage.demand_free(&name, "a request that came late");
    }
    assert_eq!(stage.faults.counts().late_requests, 4);
}

/// The second request finds the lock in its own hands.
#[test]
fn a_ticket_is_resumed_although_replies_are_lost_or_requests_are_late() {
    let stage = Stage::new(Lease::renewed(TTL));
    for late in [false, true] {
        let guard = stage.other.client().mutex("x").lock().wait().unwrap();
        let ticket = guard.into_ticket(TTL * 6).wait().unwrap();
        match late {
            false => stage.faults.lose_next_reply(Call::Acquire),
            true => stage.faults.delay_next(Call::Acquire, TTL),
        }
        let resuming = stage.one.client().resume(&ticket);
        let resumed = std::thread::spawn(move || resuming.wait());
        while !resumed.is_finished() {
            std::thread::sleep(Duration::from_millis(2));
            stage.clock.advance(Duration::from_millis(5));
        }
        let guard = resumed.join().unwrap().unwrap_or_else(|e| panic!("violation[left-behind]: {e}"));
        assert_eq!(guard.release().wait().unwrap(), Released::Yes);
        stage.clock.advance(TTL * 2);
        stage.demand_free("x", "its ticket was resumed and released");
    }
}

/// Nobody knows whether the lock is busy.
#[test]
fn a_single_try_behind_a_task_that_waits_for_a_dead_store_is_not_busy() {
    let stage = Stage::new(Lease::renewed(TTL));
    stage.faults.set(Plan { down: true, ..Plan::default() });
    let patient = stage.one.client().mutex("x").try_lock_for(TTL);
    let patient = std::thread::spawn(move || patient.wait());
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(2));
        let tried = stage.one.client().mutex("x").try_lock().wait();
        let text = "a store that does not answer is called busy";
        demand(tried.as_ref().is_err_and(|e| e.kind() == ErrorKind::Unavailable), Kind::BusyWhileDown, text);
    }
    while !patient.is_finished() {
        stage.clock.advance(TTL / 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(patient.join().unwrap().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_lost_release_reply_is_repeated() {
    let stage = Stage::new(Lease::renewed(TTL));
    let guard = stage.one.client().mutex("x").lock().wait().unwrap();
    stage.faults.set(Plan { down: true, ..Plan::default() });
    drop(guard);
    until("the release is refused", || stage.faults.counts().refused > 0);
    stage.faults.set(Plan::default());
    stage.clock.advance(TTL / 4);
    stage.demand_free("x", "a release that was refused at first");
}

/// An administrator renames a table for a moment, or takes a privilege away: a long lease would keep the lock for its rest.
#[test]
fn a_release_that_was_denied_is_repeated_while_the_lease_lasts() {
    let stage = Stage::new(Lease::fixed(60 * TTL));
    let denied = Plan { releases_denied: true, ..Plan::default() };
    let left: [&dyn Fn(); 2] = [&|| drop(stage.one.client().mutex("x").lock().wait().unwrap()), &|| {
        let guard = stage.one.client().mutex("x").lock().wait().unwrap();
        let error = run_while_time_goes(&stage.clock, TTL / 20, || run(guard.release()).unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    }];
    for leave in left {
        let before = stage.faults.counts().refused;
        stage.faults.set(denied);
        leave();
        until("the release is denied", || stage.faults.counts().refused > before);
        for _ in 0..20 {
            stage.clock.advance(TTL / 4);
        }
        stage.faults.set(Plan::default());
        for _ in 0..4 {
            stage.clock.advance(TTL / 4);
        }
        stage.demand_free("x", "a release that was denied for a while");
    }
}

/// Time passes between the store's grant and the arrival of its answer; the lease runs meanwhile.
#[test]
fn a_deadline_counts_from_the_question() {
    let stage = Stage::new(Lease::fixed(TTL));
    stage.faults.set(Plan { after: TTL / 2, ..Plan::default() });
    for _ in 0..10 {
        let held = run_while_time_goes(&stage.clock, TTL / 20, || run(stage.one.lock("x")).unwrap());
        // It holds on to it until it is told; the other one gets it as soon as the store gives it.
        let next = run_while_time_goes(&stage.clock, TTL / 200, || run(stage.other.lock("x")).unwrap());
        run_while_time_goes(&stage.clock, TTL / 200, || held.lost(&run(held.guard().lost())));
        drop((held, next));
        stage.clock.advance(TTL);
    }
    demand_nothing_in(&stage.log, &wide());
}

/// Time moves in steps here, so only what does not depend on how fast it goes counts.
fn wide() -> Limits {
    let wide = TTL * 10;
    Limits { place_slack: wide, idle: wide, loss_margin: wide, ..Limits::default() }
}

#[test]
fn a_release_that_comes_late_frees_nobody_else() {
    let stage = Stage::new(Lease::fixed(TTL));
    let held = run(stage.one.lock("x")).unwrap();
    // The answer of the store's own release of the lost one must wait as well.
    stage.faults.block(Call::Release);
    stage.clock.advance(TTL);
    held.lost(&run(held.guard().lost()));
    let next = run(stage.other.lock("x")).unwrap();
    assert_eq!(run(held.release()).unwrap(), Released::AlreadyLost);
    stage.faults.open();
    std::thread::sleep(Duration::from_millis(50));
    // Holds that take no time overlap with nothing.
    stage.clock.advance(Duration::from_millis(1));
    let third = run(stage.one.try_lock("x")).unwrap();
    stage.clock.advance(Duration::from_millis(1));
    drop((third, next));
    demand_nothing_in(&stage.log, &wide());
}

#[test]
fn nothing_is_renewed_after_its_release() {
    let stage = Stage::new(Lease::renewed(TTL));
    let guard = stage.one.client().mutex("x").lock().wait().unwrap();
    stage.clock.advance(TTL);
    let renewed = stage.faults.calls(Call::Extend);
    assert!(renewed >= 2, "{renewed} renewals in one ttl");
    guard.finish().wait().unwrap();
    // Longer than a renewal would be away, shorter than the lease would last.
    stage.clock.advance(TTL / 2);
    let after = stage.faults.calls(Call::Extend) - renewed;
    demand(after == 0, Kind::RenewedAfterRelease, format!("{after} renewals after the release"));
}

#[test]
fn a_loss_is_told_at_the_deadline() {
    let stage = Stage::new(Lease::renewed(TTL));
    stage.faults.set(Plan { renewals_fail: true, ..Plan::default() });
    let held = &run(stage.one.lock("x")).unwrap();
    std::thread::scope(|scope| {
        // A signal that wakes nobody is looked at again by its timeout, long after the deadline.
        let lost = async || tokio::time::timeout(FAR, held.guard().lost()).await;
        let waiting = scope.spawn(move || run(lost()).map(|lost| held.lost(&lost)));
        std::thread::sleep(Duration::from_millis(20));
        stage.clock.advance(TTL + Duration::from_secs(1));
        // Long before that timeout, however late its thread wakes.
        if first_within(FAR / 2, || waiting.is_finished().then_some(())).is_none() {
            stage.clock.advance(TTL);
        }
    });
    demand_nothing_in(&stage.log, &Limits { loss_margin: Duration::from_secs(2), ..wide() });
}

#[test]
fn a_dropped_guard_is_given_back_before_the_next_try_of_its_process() {
    let faults = Faults::seeded(3);
    faults.set(Plan {
        after: Duration::from_millis(10),
        before: Duration::from_millis(10),
        ..Plan::default()
    });
    let store = Faulty::new(memory::Store::new(), &faults);
    let client = Client::builder().connect_to(store).wait().unwrap();
    for _ in 0..20 {
        let guard = client.mutex("x").lock().wait().unwrap();
        drop(guard);
        let next = client.mutex("x").try_lock().wait().unwrap();
        demand(next.is_some(), Kind::DropNotAwaited, "try_lock right after a drop found the lock busy");
    }
}

/// Refused for a while and then well again: renewals that failed are made up for before the deadline.
#[test]
fn a_store_that_is_down_for_less_than_a_lease_costs_nothing() {
    let stage = Stage::new(Lease::renewed(TTL));
    let guard = stage.one.client().mutex("x").lock().wait().unwrap();
    for _ in 0..5 {
        stage.faults.set(Plan { down: true, ..Plan::default() });
        stage.clock.advance(TTL / 2);
        stage.faults.set(Plan::default());
        stage.clock.advance(TTL / 2);
    }
    assert!(guard.is_valid());
    assert!(stage.faults.counts().refused >= 5, "{:?}", stage.faults.counts());
    assert_eq!(guard.release().wait().unwrap(), Released::Yes);
}

/// Every call takes a while: whoever was asked for with the first must not wait for the answers to the last.
#[test]
fn many_holds_outlive_a_slow_store() {
    let stage = Stage::new(Lease::renewed(TTL));
    let guards: Vec<_> =
        (0..2_000).map(|i| stage.one.client().mutex(format!("x{i}")).lock().wait().unwrap()).collect();
    stage.faults.set(Plan { after: TTL / 5, ..Plan::default() });
    for _ in 0..100 {
        stage.clock.advance(TTL / 50);
    }
    let lost = guards.iter().filter(|guard| !guard.is_valid()).count();
    demand(lost == 0, Kind::NeedlessLoss, format!("{lost} of {} locks", guards.len()));
    stage.faults.set(Plan::default());
}

/// Sent along with the release it may overtake it, and would find the lock taken.
#[test]
fn the_next_question_comes_behind_the_answer_to_a_release() {
    let stage = Stage::new(Lease::renewed(TTL));
    run(async {
        let mutex = stage.one.client().mutex("x");
        let guard = mutex.lock().await.unwrap();
        let next = tokio::spawn(mutex.lock());
        tokio::task::yield_now().await;
        stage.faults.block(Call::Release);
        let releasing = tokio::spawn(guard.release());
        while stage.faults.counts().gated == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        let asked = stage.faults.calls(Call::Acquire);
        demand(asked == 1, Kind::TooEarly, "the lock was asked for before it was given back");
        stage.faults.open();
        assert_eq!(releasing.await.unwrap().unwrap(), Released::Yes);
        let next = happens("it is served", next).await;
        drop(next.unwrap().unwrap());
    });
}
