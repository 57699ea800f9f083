//! Which definition of a job is in effect: the one in the note, or that of the replica that looks.

use super::Decision;
use super::lapse::{self, DOUBT, Verdict};
use crate::UnixTime;
use crate::definition::Definition;
use crate::notes::JobControl;

impl Decision {
    /// Determines which definition is in effect.
    pub(super) fn define(&mut self, ours: &Definition, control: &JobControl, now: UnixTime) {
        let state = &self.state;
        let (theirs, rank) = ((state.generation, state.defined_at), ours.rank(now));
        match state.hash == ours.hash {
            true => self.put_in_effect(ours, theirs.max(rank), now),
            false if rank >= theirs => self.put_in_effect(ours, rank, now),
            false => self.stand_by(ours, control, now),
        }
    }

    /// Stands by for the definition in effect, unless it has lapsed.
    fn stand_by(&mut self, ours: &Definition, control: &JobControl, now: UnixTime) {
        self.stands_by = true;
        if !ours.policy.enabled {
            return;
        }
        match lapse::judge(&self.state, control, now) {
            Verdict::Holds(until) => self.judge_at = until,
            Verdict::Doubtful => {
                (self.doubts, self.state.doubted) = (true, Some(now));
                self.judge_at = Some(now + DOUBT);
            }
            Verdict::Lapsed(due) => {
                self.taken_over = Some(ours.why_taken_over(&self.state, due));
                self.stands_by = false;
                // As if it were defined now: its old owner, which may come back, does not take turns with it.
                self.put_in_effect(ours, (ours.policy.generation, now), now);
            }
        }
    }

    fn put_in_effect(&mut self, ours: &Definition, rank: (u64, UnixTime), now: UnixTime) {
        let state = &mut self.state;
        if state.hash != ours.hash || rank != (state.generation, state.defined_at) {
            state.by.clone_from(&ours.host);
        }
        (state.generation, state.defined_at) = rank;
        state.hash.clone_from(&ours.hash);
        (state.initial_delay, state.shift) = (ours.policy.initial_delay, ours.shift);
        state.settings = Some(ours.settings.clone());
        state.doubted = None;
        if state.trigger != ours.text {
            state.trigger.clone_from(&ours.text);
            state.since = now;
        }
    }
}
