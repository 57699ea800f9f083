//! Giving back a guard: the lock passes to the next task of this process, or is released.

use super::release::ReleaseCall;
use crate::engine::background::in_background;
use crate::engine::grant::hold::Hold;
use crate::engine::queue::ask_store::kick;
use crate::engine::queue::line::{State, can_pass};
use crate::engine::queue::recall::watch;
use crate::engine::queue::waiter::Waiter;
use crate::{Guard, LossCause, Lost, Result};
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
            Step::Pass(waiter, guard) => match waiter.give(guard) {
                Ok(()) => return Returned::Passed,
                // The waiter has left in the meantime, so its turn must be released here.
                Err(guard) => serial = guard.into_serial(),
            },
        }
    }
}

enum Step {
    Done(Returned),
    Pass(Arc<Waiter>, Box<Guard>),
}

fn step(hold: &Arc<Hold>, serial: u32, lost: Option<LossCause>, keep_for: Option<Duration>) -> Step {
    let mut state = hold.line.state();
    if lost.is_none() && hold.count() > 1 {
        if let Some(rest) = keep_for {
            hold.keep_until(hold.core.now() + rest);
        }
        return Step::Done(Returned::StillHeld(hold.leave(serial).0));
    }
    let keep_for = keep_for.max(hold.left_to_keep());
    if let Some(pass) = (lost.is_none() && keep_for.is_none()).then(|| pass(hold, &mut state)).flatten() {
        hold.leave(serial);
        return pass;
    }
    let (left, lost_now) = if lost.is_some() { hold.leave(serial) } else { hold.begin_release() };
    if let Some(cause) = lost_now.or(lost) {
        if left == 0 {
            state.lost_holds.retain(|h| !Arc::ptr_eq(h, hold));
        }
        if left == 0 && !frees_at_once(cause) {
            state.remove_hold(hold);
            drop(state);
            return Step::Done(Returned::Evicted(ReleaseCall::new(hold, None)));
        }
        drop(state);
        hold.core.lines.retire(&hold.line);
        return Step::Done(Returned::AlreadyLost(cause));
    }
    state.remove_hold(hold);
    // The waiting task may never process the answer.
    let unwatched = state.awake().is_some() && state.given.start();
    drop(state);
    if unwatched {
        watch(&hold.core, &hold.line);
    }
    hold.core.engine.agenda().remove(hold);
    Step::Done(Returned::Send(ReleaseCall::new(hold, keep_for)))
}

fn pass(hold: &Arc<Hold>, state: &mut State) -> Option<Step> {
    state.skip_those_that_left();
    let waiter = state.awake()?.clone();
    if !can_pass(hold, &waiter.request, hold.core.now()) {
        return None;
    }
    let (serial, token) = hold.next_turn(waiter.request.owner.clone())?;
    if state.pop(&waiter) {
        watch(&hold.core, &hold.line);
    }
    Some(Step::Pass(waiter, Box::new(Guard::new(hold.clone(), serial, token))))
}

/// Handles a lost hold: local waiters ask again, and anything that the store still keeps is freed.
pub(crate) fn after_loss(hold: &Arc<Hold>, cause: LossCause) {
    {
        let mut state = hold.line.state();
        if frees_at_once(cause) {
            state.remove_hold(hold);
        } else {
            state.forget_hold(hold);
        }
        if hold.has_owner() && hold.count() > 0 {
            state.lost_holds.push(hold.clone());
        }
    }
    hold.core.engine.agenda().remove(hold);
    if frees_at_once(cause) {
        send_in_background(hold);
    } else {
        kick(&hold.core, &hold.line);
    }
}

/// An evicted holder gets no warning. Unless it is done earlier, it has the rest of its lease to stop in; the release is
/// sent with its last guard.
fn frees_at_once(cause: LossCause) -> bool {
    cause != LossCause::Evicted
}

fn send_in_background(hold: &Arc<Hold>) {
    let call = ReleaseCall::new(hold, None);
    in_background(&hold.core, async move { drop(call.await) });
}

/// Ends a hold here without telling the store, because its claim belongs to somebody else from now on. The hold must not
/// pass to a waiting local task either, which a `keep_for` prevents.
pub(crate) fn forget(guard: Guard) -> Result<()> {
    let (hold, token) = (guard.hold().clone(), guard.token());
    match give_back(&hold, guard.into_serial(), Some(Duration::ZERO)) {
        Returned::Send(call) => call.forget(),
        Returned::AlreadyLost(cause) => return Err(Lost::new(hold.name().clone(), token, cause).into()),
        Returned::Evicted(_) => return Err(Lost::new(hold.name().clone(), token, LossCause::Evicted).into()),
        Returned::StillHeld(_) | Returned::Passed => {}
    }
    Ok(())
}
