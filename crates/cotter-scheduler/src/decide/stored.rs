//! The slots of the definition in effect, as far as its note tells: for callers that have another definition, or none.

use super::{chain::complete, next_on_grid, planner::TICK};
use crate::notes::{Added, JobControl, State};
use crate::trigger::Kind;
use crate::{Trigger, UnixTime};

/// The first slot after an instant, without jitter. A job that is disabled has none.
pub(crate) fn slot_after(state: &State, after: UnixTime) -> Option<UnixTime> {
    let trigger = Trigger::parse(&state.trigger)?;
    let begin = (state.anchor + state.initial_delay).max(state.since);
    let begin = begin.max(trigger.1.from.unwrap_or(begin));
    let after = after.max(begin - TICK);
    let next = match trigger.0 {
        Kind::Rate(period) => Some(next_on_grid(state.anchor + state.initial_delay, period, after)),
        Kind::Delay(delay) => match &state.run {
            Some(run) => run.ended.map(|ended| begin.max(ended + delay)),
            None => Some(begin),
        },
        Kind::Cron(..) | Kind::Once(_) | Kind::Demand => trigger.next_after(after),
    };
    next.filter(|at| trigger.1.covers(*at))
}

/// No slot up to this instant is still to be started.
pub(crate) fn settled_until(state: &State, control: &JobControl) -> UnixTime {
    // Slots that pass during a pause are dropped, and nothing is written about them.
    let resumed = control.resumed_at.unwrap_or(UnixTime::EPOCH);
    state.last.unwrap_or(UnixTime::EPOCH).max(resumed - TICK)
}

/// When the earliest became due of what somebody who runs the definition in effect starts, or has started by now: a slot, a
/// retry, a request, a one-shot run, or the end of a run that nobody works at. `None` if there is no such thing, or the job is
/// paused or disabled. It may be in the future.
pub(crate) fn due_since(state: &State, control: &JobControl) -> Option<UnixTime> {
    if control.pause.is_some() || state.is_disabled() {
        return None;
    }
    let run = state.run.as_ref();
    let unfinished = state.unfinished().map(|run| run.started);
    let slot = slot_after(state, settled_until(state, control)).map(|at| at + state.shift);
    // A definition may have fewer retries than the one before, which left this one.
    let ended = run.and_then(|run| run.ended);
    let retry_at = run.and_then(|run| run.retry_at);
    let retry = retry_at.filter(|_| ended >= Some(state.defined_at));
    let request = control.requested_at.filter(|_| control.requests > state.handled);
    let one_shot = control.one_shots.iter().find(|added| state.one_shot() != Some(&added.key));
    let followed = complete(state, &control.successes, state.after().iter().map(String::as_str));
    let followed = followed.and_then(|set| set.into_values().max());
    let dues = [unfinished, slot, retry, request, one_shot.map(Added::due_at), followed];
    let due = dues.into_iter().flatten().min()?;
    // Whoever defined the job, ran it or resumed it has done so since then; and nothing comes before a retry.
    let signs = [Some(state.defined_at), Some(state.since), ended, retry_at, control.resumed_at];
    Some(signs.into_iter().flatten().fold(due, UnixTime::max))
}
