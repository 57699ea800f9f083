//! What observers and the log are told of a hold, turn by turn.
//!
//! A turn is told of once its guard is with the caller: what nobody has received was not acquired, and does not end. From then on
//! it ends once, however many guards its owner has.

use crate::engine::grant::guards::Guards;
use crate::engine::grant::hold::Hold;
use crate::{ErrorKind, Event, EventKind, FencingToken, LossCause, Moment, ReleasedTo};
use tracing::Level;

/// The current turn of a hold.
#[derive(Debug)]
pub(super) struct Telling {
    since: Moment,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Its guard is with nobody yet, or nobody wants to be told.
    Untold,
    /// Its acquisition was told, its end was not.
    Held,
    /// All was told.
    Over,
}

impl Telling {
    pub(super) fn begin(since: Moment) -> Self {
        Self { since, stage: Stage::Untold }
    }
}

impl Default for Telling {
    fn default() -> Self {
        Self::begin(Moment::ZERO)
    }
}

/// A turn that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    token: FencingToken,
    since: Moment,
    /// `None` if its acquisition was not told.
    until: Option<Moment>,
}

impl Hold {
    /// The guard of the current turn is with the task that asked for it at `asked`. The same turn is told once: a re-entry is
    /// not an acquisition.
    pub(crate) fn tell_acquired(&self, asked: Moment) {
        let mut guards = self.lock();
        if guards.telling.stage != Stage::Untold {
            return;
        }
        guards.telling.stage = Stage::Held;
        let token = self.token_of(guards.used);
        let waited = guards.telling.since.since(asked);
        // Under the lock, so that its end is not told first.
        self.tell(EventKind::Acquired { token, waited, passed_on: guards.used > 1 });
        if let Some(cause) = guards.lost {
            let ended = self.end_turn_of(&mut guards);
            self.tell_lost(cause, ended);
        }
    }

    /// Ends the last turn. Returns the number of turns as well.
    pub(super) fn end(&self) -> (u16, Ended) {
        let mut guards = self.lock();
        (guards.used, self.end_turn_of(&mut guards))
    }

    /// Ends the current turn. The clock is read only for those who are told.
    pub(super) fn end_turn_of(&self, guards: &mut Guards) -> Ended {
        let is_told = guards.telling.stage == Stage::Held;
        if is_told {
            guards.telling.stage = Stage::Over;
        }
        let until = is_told.then(|| self.core.now());
        Ended { token: self.token_of(guards.used), since: guards.telling.since, until }
    }

    /// Goes on with the turn of another hold, whose end is not told.
    pub(super) fn take_turn_of(&self, other: &Self) {
        let mut guards = other.lock();
        let over = Telling { since: guards.telling.since, stage: Stage::Over };
        let telling = std::mem::replace(&mut guards.telling, over);
        drop(guards);
        self.lock().telling = telling;
    }

    pub(crate) fn tell_released(&self, ended: Ended, to: ReleasedTo) {
        if let Some(until) = ended.until {
            let held = until.since(ended.since);
            self.tell(EventKind::Released { token: ended.token, held, to });
        }
    }

    /// The guard is with nobody any more, although the name stays locked for a while.
    pub(crate) fn tell_kept(&self) {
        let (_, ended) = self.end();
        self.tell_released(ended, ReleasedTo::Store);
    }

    /// The log has every loss, also of what no observer knows.
    pub(super) fn tell_lost(&self, cause: LossCause, ended: Ended) {
        let now = self.core.now();
        let silent_for = self.is_outlived(cause).then(|| now.since(self.last_answer()));
        let (token, held) = (ended.token, now.since(ended.since));
        let event = self.event(EventKind::Lost { token, cause, held, silent_for });
        match ended.until {
            Some(_) => self.core.reporter.tell(event),
            None => self.core.reporter.log(event),
        }
    }

    /// It was to be renewed, and its time has ended.
    fn is_outlived(&self, cause: LossCause) -> bool {
        self.lease.renewed && matches!(cause, LossCause::Expired | LossCause::SessionLost)
    }

    /// Returns when the store answered last, as far as this hold can know.
    fn last_answer(&self) -> Moment {
        let proof =
            self.grant.session.as_ref().and_then(|s| s.proof()).map_or(Moment::ZERO, |(as_of, _)| as_of);
        self.core.last_heard().max(self.grant.as_of).max(proof)
    }

    /// The request for more time, sent at `asked`, was answered.
    pub(super) fn tell_renewed(&self, asked: Moment) {
        if !self.core.reporter.wants(Level::TRACE) {
            return;
        }
        let Some(token) = self.told_token() else { return };
        let now = self.core.now();
        let left = self.deadline().map(|end| end.since(now));
        self.tell(EventKind::Renewed { token, took: now.since(asked), left });
    }

    pub(super) fn tell_renewal_failed(&self, kind: ErrorKind) {
        if !self.core.reporter.wants(Level::DEBUG) {
            return;
        }
        let Some(token) = self.told_token() else { return };
        let left = self.deadline().map(|end| end.since(self.core.now()));
        self.tell(EventKind::RenewalFailed { token, kind, left });
    }

    /// Returns the token of the current turn, between its acquisition and its end.
    fn told_token(&self) -> Option<FencingToken> {
        let guards = self.lock();
        (guards.telling.stage == Stage::Held).then(|| self.token_of(guards.used))
    }

    fn tell(&self, kind: EventKind) {
        self.core.reporter.tell(self.event(kind));
    }

    fn event(&self, kind: EventKind) -> Event {
        Event::of_lock(self.name().clone(), self.grant.claim.mode, kind)
    }
}
