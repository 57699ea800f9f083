//! The guards that live on a hold, and the signals that wait for its end.

use crate::engine::grant::hold::Hold;
use crate::engine::grant::telling::{Ended, Telling};
use crate::sync::{RankedGuard, rank};
use crate::{FencingToken, LossCause, Moment, Owner};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Guards {
    /// Guards that were not released before a loss; frozen by the loss, so that their signals keep reporting it.
    live: Serials,
    /// The number of existing guards.
    pub(super) count: u32,
    next_serial: u32,
    wakers: Vec<Listener>,
    pub(super) lost: Option<LossCause>,
    /// The last guard was released and the store has not answered yet: only its answer decides how the signals end.
    releasing: bool,
    /// The number of turns of the block that were used.
    pub(super) used: u16,
    pub(super) telling: Telling,
    pub(super) owner: Option<Owner>,
    notes_written: u64,
    /// Until when the name stays locked after its release, at the wish of guards that were released before the last one: in
    /// steps since the grant, rounded up.
    kept: u32,
}

/// The length of such a step. More than a year of them can be counted.
const KEPT_STEP: Duration = Duration::from_millis(10);

/// The serials of guards. Nearly always there is one, which takes no memory of its own.
#[derive(Debug, Default)]
struct Serials {
    one: Option<u32>,
    others: Vec<u32>,
}

/// A waiting [`LossSignal`](crate::LossSignal).
#[derive(Debug)]
pub(super) struct Listener {
    serial: u32,
    key: u64,
    waker: Waker,
}

/// The serial of a guard and the token that it carries.
pub(crate) type Turn = (u32, FencingToken);

impl Hold {
    /// Adds a guard for the next turn of the block. Returns `None` when the block is used up.
    pub(crate) fn next_turn(&self, owner: Option<Owner>) -> Option<Turn> {
        self.turn_over(owner, self.begun()).map(|(turn, _)| turn)
    }

    /// The same, `now`, where the lock passes on from a turn before, which is over.
    pub(super) fn turn_over(&self, owner: Option<Owner>, now: Moment) -> Option<(Turn, Ended)> {
        let mut guards = self.lock();
        if guards.used >= self.grant.turns || guards.lost.is_some() {
            return None;
        }
        let ended = self.end_turn_of(&mut guards);
        guards.telling = Telling::begin(now);
        guards.used += 1;
        guards.owner = owner;
        let serial = guards.enter();
        Some(((serial, self.token_of(guards.used)), ended))
    }

    /// Adds a guard for the same turn and owner.
    pub(crate) fn re_enter(&self) -> Turn {
        let mut guards = self.lock();
        let serial = guards.enter();
        (serial, self.token_of(guards.used))
    }

    /// Returns the token of the turn with this number, from one on.
    pub(super) fn token_of(&self, turn: u16) -> FencingToken {
        FencingToken::from((self.grant.number + u64::from(turn)).saturating_sub(1))
    }

    pub(crate) fn turns_left(&self) -> bool {
        self.lock().used < self.grant.turns
    }

    /// Returns the number of guards that live on this hold.
    pub(crate) fn count(&self) -> usize {
        self.lock().count as usize
    }

    /// Keeps the name locked until then, whenever the last guard is released.
    pub(crate) fn keep_until(&self, end: Moment) {
        let steps = end.since(self.grant.as_of).as_nanos().div_ceil(KEPT_STEP.as_nanos());
        let mut guards = self.lock();
        guards.kept = guards.kept.max(u32::try_from(steps).unwrap_or(u32::MAX));
    }

    /// Returns for how much longer the name has to stay locked, if it has to.
    pub(crate) fn left_to_keep(&self) -> Option<Duration> {
        let kept = self.lock().kept;
        let end = (kept > 0).then(|| self.grant.as_of + KEPT_STEP * kept)?;
        Some(end.since(self.core.now())).filter(|left| !left.is_zero())
    }

    /// Ends re-entry, because the only guard is about to pass the hold on or to keep it for the rest of a time. Returns
    /// false if there are other guards.
    pub(crate) fn end_re_entry(&self) -> bool {
        // Meanwhile nobody enters it again.
        self.line.read(|_| {
            let mut guards = self.lock();
            let is_alone = guards.count == 1;
            if is_alone {
                guards.owner = None;
            }
            is_alone
        })
    }

    /// Removes a guard. Returns the number of guards left, and its signals, which are to be woken.
    pub(super) fn leave(&self, serial: u32) -> (usize, Vec<Waker>) {
        let mut guards = self.lock();
        guards.count -= 1;
        let left = guards.count as usize;
        if guards.lost.is_some() {
            return (left, Vec::new());
        }
        guards.live.remove(serial);
        (left, guards.wakers.extract_if(.., |l| l.serial == serial).map(|l| l.waker).collect())
    }

    /// Removes the last guard before the release is sent. Returns the number of guards left, and the cause of an earlier loss, if
    /// any. Signals wait for [`end_release`](Self::end_release).
    pub(crate) fn begin_release(&self) -> (usize, Option<LossCause>) {
        let mut guards = self.lock();
        guards.count -= 1;
        guards.releasing = guards.lost.is_none();
        (guards.count as usize, guards.lost)
    }

    /// Ends the release once the store has reported the fate of the hold, or never will. Returns true for the first
    /// call.
    pub(crate) fn end_release(&self, lost: Option<LossCause>) -> bool {
        let mut guards = self.lock();
        if !std::mem::take(&mut guards.releasing) {
            return false;
        }
        guards.lost = lost;
        if lost.is_none() {
            guards.live = Serials::default();
        }
        let told = std::mem::take(&mut guards.wakers);
        drop(guards);
        told.into_iter().for_each(|l| l.waker.wake());
        true
    }

    /// Returns how the guard with this serial ended; until then keeps the waker under `key`.
    pub(crate) fn poll_end(self: &Arc<Self>, serial: u32, key: u64, cx: &Context<'_>) -> Option<LossCause> {
        let lost = self.lost();
        let mut guards = self.lock();
        if !guards.live.contains(serial) {
            return Some(LossCause::Released);
        }
        if let Some(cause) = guards.lost.or(lost.filter(|_| !guards.releasing)) {
            return Some(cause);
        }
        let waker = cx.waker();
        match guards.wakers.iter_mut().find(|l| l.key == key) {
            Some(listener) => listener.waker.clone_from(waker),
            None => guards.wakers.push(Listener { serial, key, waker: waker.clone() }),
        }
        None
    }

    /// Removes the waker of a dropped signal.
    pub(crate) fn forget_signal(&self, key: u64) {
        self.lock().wakers.retain(|l| l.key != key);
    }

    /// Marks the hold as lost, for the first time. Returns the tasks to wake, and the turn that has ended with it.
    pub(super) fn mark_lost(&self, cause: LossCause) -> Option<(Vec<Waker>, Ended)> {
        let mut guards = self.lock();
        if guards.lost.is_some() || guards.releasing || guards.live.is_empty() {
            return None;
        }
        guards.lost = Some(cause);
        let ended = self.end_turn_of(&mut guards);
        Some((std::mem::take(&mut guards.wakers).into_iter().map(|l| l.waker).collect(), ended))
    }

    /// Numbers a write. Returns `None` once the last guard is gone: the claim may be that of another hold by now, which
    /// numbers its own.
    pub(crate) fn next_note(&self) -> Option<u64> {
        let mut guards = self.lock();
        if guards.count == 0 {
            return None;
        }
        guards.notes_written += 1;
        Some(guards.notes_written)
    }

    /// Numbers writes after those of the holder before, who had the same token: the store takes no earlier one.
    pub(crate) fn go_on_after_notes(&self, written: u64) {
        self.lock().notes_written = written;
    }

    /// Returns the number of the write that was requested last.
    pub(crate) fn last_note(&self) -> u64 {
        self.lock().notes_written
    }

    pub(super) fn lock(&self) -> RankedGuard<'_, Guards, { rank::GUARDS }> {
        self.guards.lock()
    }
}

impl Guards {
    fn enter(&mut self) -> u32 {
        let serial = self.next_serial;
        self.next_serial += 1;
        self.count += 1;
        self.live.add(serial);
        serial
    }
}

impl Serials {
    fn add(&mut self, serial: u32) {
        match self.one {
            None => self.one = Some(serial),
            Some(_) => self.others.push(serial),
        }
    }

    fn remove(&mut self, serial: u32) {
        if self.one == Some(serial) {
            self.one = None;
        } else {
            self.others.retain(|s| *s != serial);
        }
    }

    fn contains(&self, serial: u32) -> bool {
        self.one == Some(serial) || self.others.contains(&serial)
    }

    fn is_empty(&self) -> bool {
        self.one.is_none() && self.others.is_empty()
    }
}
