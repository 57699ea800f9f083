//! Giving back a guard: the lock passes to the next task of this process, or is released.

use super::release::ReleaseCall;
use crate::engine::grant::hold::{Hold, Waiter};
use crate::engine::grant::telling::Ended;
use crate::engine::line::run::change_with;
use crate::engine::line::state::State;
use crate::engine::line::todo::Todo;
use crate::{Guard, LossCause, Lost, ReleasedTo, Result};
use std::sync::Arc;
use std::time::Duration;

/// The result of giving back a guard.
pub(crate) enum Returned {
    /// The owner still holds the lock through this many other guards.
    StillHeld(usize),
    /// The lock passed to the next task of this process.
    Passed,
    /// The hold was already lost.
    AlreadyLost(LossCause),
    /// The holder was evicted and is done: the store has kept the lock until now, and must be told.
    Evicted(ReleaseCall),
    /// The release must be sent to the store.
    Send(ReleaseCall),
}

/// Releases one guard. Synchronous, so that a dropped guard can do it without a runtime.
pub(crate) fn give_back(hold: &Arc<Hold>, serial: u32, keep_for: Option<Duration>) -> Returned {
    let mut serial = serial;
    loop {
        let lost = hold.lost();
        if lost == Some(LossCause::Forked) {
            // All that there is to be updated is a copy, with locks that another thread may have had.
            return Returned::AlreadyLost(LossCause::Forked);
        }
        match step(hold, serial, lost, keep_for) {
            Step::Done(returned) => return returned,
            Step::Pass(waiter, guard, ended) => {
                hold.tell_released(ended, ReleasedTo::Task);
                match waiter.give(guard) {
                    Ok(()) => return Returned::Passed,
                    // The waiter has left in the meantime, so its turn must be released here.
                    Err(guard) => serial = guard.into_serial(),
                }
            }
        }
    }
}

enum Step {
    Done(Returned),
    Pass(Arc<Waiter>, Box<Guard>, Ended),
}

/// Nobody enters the hold again between the look and the step.
fn step(hold: &Arc<Hold>, serial: u32, lost: Option<LossCause>, keep_for: Option<Duration>) -> Step {
    let step = change_with(&hold.core, &hold.line, |state| match lost {
        Some(cause) => {
            let (left, signals) = hold.leave(serial);
            let (step, todo) = ended(hold, state, left, cause);
            (step, todo.and_wake(signals))
        }
        None if hold.count() > 1 => {
            if let Some(rest) = keep_for {
                hold.keep_until(hold.core.now() + rest);
            }
            let (left, signals) = hold.leave(serial);
            (Step::Done(Returned::StillHeld(left)), Todo::NOTHING.and_wake(signals))
        }
        None => last(hold, serial, state, keep_for),
    });
    if let Step::Done(Returned::Send(_)) = &step {
        hold.core.engine.agenda().remove(hold);
    }
    step
}

/// The last guard of a hold passes it on, or releases it.
fn last(hold: &Arc<Hold>, serial: u32, state: &mut State<Hold>, keep_for: Option<Duration>) -> (Step, Todo) {
    let keep_for = keep_for.max(hold.left_to_keep());
    if keep_for.is_none()
        && let Some(((waiter, ((next, token), ended)), todo)) = state.pass(|request| {
            let now = hold.core.now();
            hold.can_pass_to(request, now).then(|| hold.turn_over(request.owner.clone(), now)).flatten()
        })
    {
        let (_, signals) = hold.leave(serial);
        let guard = Box::new(Guard::new(hold.clone(), next, token));
        return (Step::Pass(waiter, guard, ended), todo.and_wake(signals));
    }
    match hold.begin_release() {
        (left, Some(cause)) => ended(hold, state, left, cause),
        (_, None) => (Step::Done(Returned::Send(ReleaseCall::new(hold, keep_for))), state.releasing(hold)),
    }
}

/// A guard of a lost hold was given back; so many are left.
fn ended(hold: &Arc<Hold>, state: &mut State<Hold>, left: usize, cause: LossCause) -> (Step, Todo) {
    if left > 0 {
        return (Step::Done(Returned::AlreadyLost(cause)), Todo::NOTHING);
    }
    let freed = !frees_at_once(cause);
    let returned = match freed {
        true => Returned::Evicted(ReleaseCall::new(hold, None)),
        false => Returned::AlreadyLost(cause),
    };
    (Step::Done(returned), state.lost_and_left(hold, freed))
}

/// An evicted holder gets no warning. Unless it is done earlier, it has the rest of its lease to stop in; the release is
/// sent with its last guard.
pub(super) fn frees_at_once(cause: LossCause) -> bool {
    cause != LossCause::Evicted
}

/// Ends a hold here without telling the store, because its claim belongs to somebody else from now on. The hold must not
/// pass to a waiting local task either, which a `keep_for` prevents.
pub(crate) fn forget(guard: Guard) -> Result<()> {
    let (hold, token) = (guard.hold().clone(), guard.token());
    match give_back(&hold, guard.into_serial(), Some(Duration::ZERO)) {
        Returned::Send(call) => call.forget(ReleasedTo::Ticket),
        Returned::AlreadyLost(cause) => return Err(Lost::new(hold.name().clone(), token, cause).into()),
        Returned::Evicted(_) => return Err(Lost::new(hold.name().clone(), token, LossCause::Evicted).into()),
        Returned::StillHeld(_) | Returned::Passed => {}
    }
    Ok(())
}
