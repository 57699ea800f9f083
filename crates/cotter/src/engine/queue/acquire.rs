//! Acquisition: single round trips run in the caller's task, everything else on the engine.

use crate::backend::{Acquired, Grant, Until};
use crate::engine::core::Core;
use crate::engine::grant::hold::{Hold, Line, Waiter};
use crate::engine::line::handle::{Handle, LineHandle};
use crate::engine::line::request::Request;
use crate::engine::line::run::{change, change_with};
use crate::engine::line::state::Place;
use crate::engine::queue::attempt::{Attempt, span};
use crate::engine::queue::entry::{Found, enter, loss};
use crate::engine::queue::first_try::{FirstAnswer, FirstTry, last_moment, take_over};
use crate::engine::queue::joined::keep_or_undo;
use crate::engine::queue::waiting::Waiting;
use crate::engine::report::Doing;
use crate::engine::timing::{ABANDONED_REQUEST, LATE_ANSWER, ROUND_TRIP};
use crate::{Error, Guard, Moment, Result};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tracing::Instrument;

/// Acquires the lock; returns `Ok(None)` if it stayed busy until the wait was over.
pub(crate) async fn acquire(core: Arc<Core>, request: Request, handle: Handle) -> Result<Option<Guard>> {
    let attempt = Attempt::begin(&core, &request.name, request.mode);
    let outcome = match span(&request.name, request.mode) {
        None => find(&core, &request, &handle).await,
        // Boxed, because otherwise every acquisition would carry the space for it.
        Some(span) => Box::pin(find(&core, &request, &handle).instrument(span)).await,
    };
    attempt.end(outcome.as_ref().map(Option::as_ref));
    outcome
}

async fn find(core: &Arc<Core>, request: &Request, handle: &Handle) -> Result<Option<Guard>> {
    core.admit(request)?;
    let until = core.until(request.wait);
    let (mut is_patient, mut patience) = (true, None::<Moment>);
    loop {
        let line = line_for(core, request, handle);
        match change_with(core, &line, |state| enter(state, request, until, is_patient)) {
            Found::Place(Place::InFlight) => {
                let end = *patience.get_or_insert_with(|| core.now() + ABANDONED_REQUEST);
                is_patient = until_quiet(core, &line, end).await;
            }
            Found::Place(Place::Unpolled(attempt)) => {
                take_over(core, &line, &attempt);
                return Ok(None);
            }
            Found::Place(Place::Busy) => return Ok(None),
            Found::Place(Place::InTrouble(error)) => return Err(error),
            Found::Place(Place::Free) if core.has_no_room() => {
                change(core, &line, |state| state.first_try_over());
                core.room(until).await.map_err(|e| e.with_name(&request.name))?;
            }
            Found::Place(Place::Free) => return ask(core, &line, request, until).await,
            Found::Place(Place::Queued(waiter)) => return Waiting::new(core, &line, waiter).wait().await,
            Found::Again(guard) => return again(guard).await.map(Some),
            Found::Overdue(hold, cause) => {
                let cause = hold.lost().unwrap_or(cause);
                return Err(loss(&hold, cause).into());
            }
            Found::Barred(error) => return Err(error),
        }
    }
}

/// Returns the line of a request. Without local turns, every acquisition queues in the store separately.
fn line_for(core: &Arc<Core>, request: &Request, handle: &Handle) -> Arc<Line> {
    if core.settings.local_turns || request.owner.is_some() {
        handle.get_or_init(|| LineHandle::new(core, &request.name)).line.clone()
    } else {
        Arc::new(Line::new(request.name.clone()))
    }
}

/// With a fixed lease, a re-entry resets the full ttl, as the classical re-entrant Lua lock does.
async fn again(guard: Guard) -> Result<Guard> {
    let lease = guard.lease();
    if !lease.renewed {
        guard.extend(lease.ttl).await?;
    }
    Ok(guard)
}

/// Waits until no first attempt and no release of this name is in flight, or for a change of that. Returns false at `end`:
/// their tasks must have stopped polling them.
async fn until_quiet(core: &Arc<Core>, line: &Arc<Line>, end: Moment) -> bool {
    let mut registered = false;
    let quiet = poll_fn(|cx| {
        if registered {
            return Poll::Ready(());
        }
        registered = change_with(core, line, |state| state.until_quiet(cx.waker()));
        if registered { Poll::Pending } else { Poll::Ready(()) }
    });
    tokio::select! {
        biased;
        () = core.clock().sleep_until(end) => false,
        () = quiet => true,
    }
}

/// Makes the first attempt, in the caller's task.
async fn ask(core: &Arc<Core>, line: &Arc<Line>, request: &Request, until: Until) -> Result<Option<Guard>> {
    let claim = request.claim(&core.settings.label, 1);
    let mut attempt = None;
    let answer = if core.is_immediate() {
        core.backend.acquire(&claim, Until::Now).await
    } else {
        let waiter = Waiter::new(request.clone(), last_moment(until));
        let waits = until != Until::Now;
        let mut first_try = FirstTry::start(core, line, claim.clone(), waiter, waits);
        let attempt = attempt.insert(first_try.attempt.clone());
        match in_time(core, until, &mut first_try).await {
            None => return Err(core.silence().with_name(&line.name).with_outcome_unknown()),
            Some(FirstAnswer::Queued(waiter)) => return Waiting::new(core, line, waiter).wait().await,
            Some(FirstAnswer::Answer(answer)) => {
                keep_or_undo(core, line, &claim, &attempt.carrier, waits, &answer);
                answer
            }
        }
    };
    let guard = match answer {
        Ok(Acquired::Granted(grant)) => {
            core.hear_after_outage();
            Ok(granted(core, line, grant, request))
        }
        other => Err(other.err()),
    };
    // Only now: `close` finds either the attempt or the hold.
    attempt.into_iter().for_each(|attempt| attempt.settle());
    match guard {
        Ok(guard) => Ok(Some(guard)),
        Err(trouble) => Box::pin(wait_on(core, line, request, until, trouble)).await,
    }
}

/// A wait with a limit does not wait for a store that hangs. The rest of the attempt is undone when it is dropped.
async fn in_time(core: &Core, until: Until, first_try: &mut FirstTry) -> Option<FirstAnswer> {
    let Until::Moment(last) = until else { return Some(first_try.await) };
    let last = (last + LATE_ANSWER).max(core.now() + ROUND_TRIP);
    tokio::select! {
        biased;
        asked = first_try => Some(asked),
        () = core.clock().sleep_until(last) => None,
    }
}

/// Continues after the first attempt did not get the lock: queues, if the caller is ready to wait and waiting can
/// help.
async fn wait_on(
    core: &Arc<Core>,
    line: &Arc<Line>,
    request: &Request,
    until: Until,
    trouble: Option<Error>,
) -> Result<Option<Guard>> {
    let hopeless = trouble.as_ref().is_some_and(|e| !e.is_retryable());
    if until == Until::Now || hopeless {
        change(core, line, |state| state.first_try_over());
        return trouble.map_or(Ok(None), |e| Err(core.at_the_server(e).with_name(&line.name)));
    }
    let waiter = Waiter::new(request.clone(), last_moment(until));
    let trouble = trouble.map(|e| core.at_the_server(e).with_name(&line.name));
    match &trouble {
        None => core.hear(),
        // A process that only waits tells of an outage as well.
        Some(e) => core.failed(Doing::Acquiring, &line.name, e),
    }
    change(core, line, |state| state.first_try_waits(&waiter, trouble));
    Waiting::new(core, line, waiter).wait().await
}

/// Turns a grant into a guard.
fn granted(core: &Arc<Core>, line: &Arc<Line>, grant: Grant, request: &Request) -> Guard {
    let hold = Hold::new(core, line, grant, request.lease);
    let turn = hold.next_turn(request.owner.clone());
    let (serial, token) = turn.expect("a grant has at least one turn");
    change(core, line, |state| state.granted(&hold));
    hold.activate();
    Guard::new(hold, serial, token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Wait;
    use crate::engine::timing::{MAX_UNSETTLED, UNDO_PAUSE_IN_SILENCE};
    use crate::{Client, ErrorKind, Filter, Lease, Mode, Name, Owner, memory};
    use std::time::Duration;

    const OF_TWO: Mode = Mode::Permits { take: 1, of: 2 };

    async fn ask(client: &Client, mode: Mode, owner: &Owner, wait: Wait) -> Result<Option<Guard>> {
        let (name, lease) = (Name::new("a").unwrap(), Lease::default());
        let request = Request { name, mode, lease, owner: Some(owner.clone()), wait, alone: false };
        acquire(client.core().clone(), request, Handle::default()).await
    }

    /// A service goes on asking through an outage of hours.
    #[tokio::test(start_paused = true)]
    async fn an_outage_leaves_no_more_to_be_undone_than_there_is_room_for() {
        let (faults, wait) = (memory::Faults::new(), Duration::from_millis(500));
        let store = memory::Store::with_faults(&faults);
        let client = Client::builder().in_this_runtime().connect_to(store).await.unwrap();
        faults.drop_answers(true);
        for n in 0..MAX_UNSETTLED * 2 {
            let error = client.mutex(format!("{n}")).try_lock().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            tokio::task::yield_now().await;
        }
        let error = client.mutex("a").try_lock_for(wait).await.unwrap_err();
        assert!(!error.outcome_unknown(), "violation[undone-without-bound]: {error}");
        let unsettled = client.core().background.number_of_unsettled();
        assert!(unsettled <= MAX_UNSETTLED, "violation[undone-without-bound]: {unsettled}");
        let waiting = client.mutex("b").lock();
        let waiting = tokio::spawn(waiting.into_future());
        tokio::time::sleep(wait).await;
        faults.drop_answers(false);
        let held = waiting.await.unwrap().unwrap();
        tokio::time::sleep(UNDO_PAUSE_IN_SILENCE * 2).await;
        assert_eq!(client.core().background.number_of_unsettled(), 0);
        let left = client.admin().list(Filter::prefix("")).collect().await.unwrap();
        assert_eq!(left.len(), 1, "all but {held:?} were undone");
    }

    #[tokio::test]
    async fn permits_do_not_re_enter() {
        let (client, me) = (Client::connect("memory:").await.unwrap(), Owner::new());
        let first = ask(&client, OF_TWO, &me, Wait::No).await.unwrap().expect("two are free");
        let second = ask(&client, OF_TWO, &me, Wait::No).await.unwrap().expect("one is free");
        assert_ne!(first.token(), second.token());
        assert!(ask(&client, OF_TWO, &me, Wait::No).await.unwrap().is_none(), "both are taken");
    }

    /// The same owner would wait for itself.
    #[tokio::test]
    async fn a_lock_is_not_a_semaphore_within_a_process() {
        for (held, wanted) in [(Mode::Exclusive, OF_TWO), (Mode::Shared, OF_TWO), (OF_TWO, Mode::Exclusive)] {
            let (client, me) = (Client::connect("memory:").await.unwrap(), Owner::new());
            let _guard = ask(&client, held, &me, Wait::No).await.unwrap().expect("free");
            let refused = ask(&client, wanted, &me, Wait::For(Duration::from_secs(60)));
            let error = refused.await.expect_err("it is in use in another way");
            assert_eq!(error.kind(), ErrorKind::LimitMismatch, "{held:?} and {wanted:?}");
        }
    }
}
