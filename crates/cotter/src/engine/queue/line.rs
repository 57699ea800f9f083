//! The local queue of one name: tasks of one process that want the same lock line up in shared memory.

use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::queue::acquire::Request;
use crate::engine::queue::first_try::SharedTry;
use crate::engine::queue::joined::Joined;
use crate::engine::queue::recall::Given;
use crate::engine::queue::waiter::Waiter;
use crate::sync::{Ranked, RankedGuard, rank};
use crate::{Error, LossCause, Lost, Mode, Moment, Name, Owner};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use tokio::sync::Notify;

/// The state of one name in this client.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) name: Name,
    state: Ranked<State, { rank::LINE }>,
    /// Notifies the task that asks the store that the queue has changed.
    pub(crate) changed: Notify,
    /// The number of handles that keep the line in the map while it is unused.
    kept: AtomicUsize,
}

/// The holders, the pending request and the waiters of a name.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The exclusive hold that guards of this client live on.
    pub(crate) holder: Option<Arc<Hold>>,
    /// Shared holds that their owner may re-enter for reading.
    pub(crate) readers: Vec<Arc<Hold>>,
    /// Lost holds whose owner may still try to re-enter.
    pub(crate) lost_holds: Vec<Arc<Hold>>,
    pub(crate) phase: Phase,
    /// The first attempt of a caller that is in flight, where it may take a while.
    pub(crate) first_try: Option<Arc<SharedTry>>,
    /// The claim of a caller that is in the store's queue, until the engine continues with it. In a box: it is rare, and a
    /// third of this type.
    pub(crate) joined: Option<Box<Joined>>,
    /// The number of releases that were sent and not answered.
    pub(crate) releasing: u32,
    /// The total number of releases sent: tells one slow release from several consecutive ones.
    pub(crate) released: u32,
    pub(crate) waiters: VecDeque<Arc<Waiter>>,
    /// The number of calls that are changing the limit of the semaphore. Small, because of the size of this type.
    pub(crate) resizing: u16,
    /// An upper bound on the number of waiters in the queue that have left.
    left: u32,
    /// The wakers of tasks that wait until nothing is in flight.
    pub(crate) quiet_wakers: Vec<Waker>,
    /// The error that currently keeps the store from answering.
    pub(crate) trouble: Option<Error>,
    /// The last hand-over, and whether it is being watched.
    pub(crate) given: Given,
}

/// The party that is asking the store for this name.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// None.
    #[default]
    Idle,
    /// A caller's task, once.
    Trying,
    /// The engine, on behalf of waiters.
    Waiting,
}

impl State {
    /// Returns true if no task here holds, asks or waits.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_open() && self.releasing == 0 && self.awake().is_none()
    }

    /// Returns true if no task here holds or asks.
    pub(crate) fn is_open(&self) -> bool {
        self.holder.is_none() && self.phase == Phase::Idle
    }

    /// Returns the first waiter for which the store is asked. Sleeping waiters are not: they would not take the lock, and
    /// several of them would pass it round for ever.
    pub(crate) fn awake(&self) -> Option<&Arc<Waiter>> {
        self.waiters.iter().find(|w| w.is_awake() && w.is_open())
    }

    /// Returns the first waiter, ignoring those that have left; sleeping waiters come after all others.
    pub(crate) fn head(&mut self) -> Option<&Arc<Waiter>> {
        self.skip_those_that_left();
        self.awake().or(self.waiters.front())
    }

    /// Otherwise each look at the queue would pass over them again.
    pub(crate) fn skip_those_that_left(&mut self) {
        while self.waiters.front().is_some_and(|w| !w.is_open()) {
            self.waiters.pop_front();
        }
    }

    /// Takes this waiter out of the queue to give it the lock. Returns true when the hand-over must be watched from
    /// now on.
    pub(crate) fn pop(&mut self, waiter: &Arc<Waiter>) -> bool {
        match self.waiters.iter().position(|w| Arc::ptr_eq(w, waiter)) {
            Some(0) => drop(self.waiters.pop_front()),
            Some(at) => drop(self.waiters.remove(at)),
            None => {}
        }
        let others_wait = !self.waiters.is_empty();
        self.given.note(waiter, others_wait)
    }

    /// Notes that one more waiter waits. Returns true when what it waits for must be watched from now on.
    pub(crate) fn one_waits(&mut self) -> bool {
        let behind_a_request = self.first_try.is_some() || self.releasing > 0;
        self.given.newcomer(behind_a_request)
    }

    /// Notes that a waiter has left. Its entry stays until half of all have left: removing each one separately would
    /// cost a scan of the queue every time.
    pub(crate) fn one_left(&mut self) {
        self.left += 1;
        if self.left as usize * 2 >= self.waiters.len() {
            self.left = 0;
            self.waiters.retain(|w| w.is_open());
        }
    }

    /// Removes a hold.
    pub(crate) fn forget_hold(&mut self, hold: &Arc<Hold>) {
        if self.holder.as_ref().is_some_and(|h| Arc::ptr_eq(h, hold)) {
            self.holder = None;
        }
        self.readers.retain(|h| !Arc::ptr_eq(h, hold));
    }

    /// Removes a hold whose release is in flight.
    pub(crate) fn remove_hold(&mut self, hold: &Arc<Hold>) {
        self.forget_hold(hold);
        self.releasing += 1;
        self.released = self.released.wrapping_add(1);
    }

    pub(crate) fn wake_quiet(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.quiet_wakers)
    }

    /// Returns the hold that this owner already holds.
    pub(crate) fn hold_of(&self, owner: &Owner) -> Option<&Arc<Hold>> {
        self.holder.iter().chain(&self.readers).find(|h| !h.mode().is_permits() && h.belongs_to(owner))
    }

    /// Returns the mode of a hold here that uses the name in another way: a lock is not a semaphore. All holds of a name
    /// use it in one way, so any of them will do.
    pub(crate) fn mixed_with(&self, mode: Mode) -> Option<Mode> {
        let held = self.holder.as_ref().or(self.readers.first())?.mode();
        (held.is_permits() != mode.is_permits()).then_some(held)
    }

    /// Returns the loss that bars this owner from taking the lock again.
    pub(crate) fn loss_of(&self, request: &Request) -> Option<Lost> {
        let owner = request.owner.as_ref()?;
        let hold = self.lost_holds.iter().find(|h| h.belongs_to(owner))?;
        let cause = hold.lost().unwrap_or(LossCause::Gone);
        Some(Lost { name: hold.name().clone(), token: hold.grant.number.into(), cause })
    }
}

impl Line {
    pub(crate) fn new(name: Name) -> Self {
        Self { name, state: Ranked::default(), changed: Notify::new(), kept: AtomicUsize::new(0) }
    }

    pub(crate) fn state(&self) -> RankedGuard<'_, State, { rank::LINE }> {
        self.state.lock()
    }

    /// Returns true if the claim of this waiter, which is in flight, still serves the first one.
    pub(crate) fn still_wants(&self, waiter: &Waiter) -> bool {
        self.state().awake().is_some_and(|head| head.shares_with(waiter))
    }
}

/// All names that this client currently uses.
#[derive(Debug)]
pub(crate) struct Lines {
    hasher: RandomState,
    shards: [Ranked<Shard, { rank::SHARD }>; SHARDS],
}

type Shard = HashMap<Name, Arc<Line>>;

const SHARDS: usize = 16;

impl Default for Lines {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Ranked::default()) }
    }
}

impl Lines {
    /// Returns a handle that keeps the line in the map: a task that locks one name repeatedly looks it up once.
    pub(crate) fn keep(core: &Arc<Core>, name: &Name) -> LineHandle {
        let mut shard = core.lines.shard(name);
        let line = shard.entry(name.clone()).or_insert_with(|| Arc::new(Line::new(name.clone()))).clone();
        line.kept.fetch_add(1, Ordering::AcqRel);
        LineHandle { core: core.clone(), line }
    }

    /// Removes an unused line, so that a million names used once leave nothing behind.
    pub(crate) fn retire(&self, line: &Line) {
        // The last handle retires the line when it is dropped.
        if line.kept.load(Ordering::Acquire) > 0 {
            return;
        }
        let mut shard = self.shard(&line.name);
        let state = line.state();
        // A line without local turns is not in the map, but another of the same name may be.
        let ours = shard.get(&line.name).is_some_and(|l| std::ptr::eq(&raw const **l, line));
        let kept = line.kept.load(Ordering::Acquire) > 0;
        if ours
            && !kept
            && state.is_quiet()
            && state.waiters.is_empty()
            && state.readers.is_empty()
            && state.lost_holds.is_empty()
            && state.quiet_wakers.is_empty()
        {
            shard.remove(&line.name);
        }
    }

    /// Returns the error that keeps those who wait for a name from being served.
    pub(crate) fn trouble(&self, name: &Name) -> Option<Error> {
        let line = self.shard(name).get(name).cloned()?;
        let state = line.state();
        state.trouble.clone().filter(|_| state.awake().is_some())
    }

    /// Returns the lines of all names that are in use.
    pub(crate) fn all(&self) -> Vec<Arc<Line>> {
        self.shards.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>()).collect()
    }

    #[cfg(test)]
    pub(crate) fn each(&self, mut tell: impl FnMut(&Line)) {
        for shard in &self.shards {
            shard.lock().values().for_each(|line| tell(line));
        }
    }

    fn shard(&self, name: &Name) -> RankedGuard<'_, Shard, { rank::SHARD }> {
        let at = self.hasher.hash_one(name) as usize % SHARDS;
        self.shards[at].lock()
    }
}

/// Keeps a line in the map.
pub(crate) struct LineHandle {
    core: Arc<Core>,
    pub(crate) line: Arc<Line>,
}

impl Drop for LineHandle {
    fn drop(&mut self) {
        self.line.kept.fetch_sub(1, Ordering::AcqRel);
        self.core.lines.retire(&self.line);
    }
}

/// Returns true if a guard can pass from a holder to a waiter without asking the store.
pub(crate) fn can_pass(hold: &Hold, to: &Request, now: Moment) -> bool {
    to.takes_turns()
        && hold.grant.claim.mode == Mode::Exclusive
        && to.lease == hold.lease
        && hold.lease.max_hold.is_none()
        && hold.turns_left()
        && now < hold.slice_end
        && hold.half_left(now)
}

#[cfg(test)]
mod tests {
    use super::Line;
    use crate::Client;
    use crate::engine::grant::hold::Hold;
    use crate::lock_state::Held;

    /// A guard in memory takes 1,021 bytes, in which these are the largest parts.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_largest_parts_of_a_guard_stay_small() {
        assert!(size_of::<Hold>() <= 344, "{}", size_of::<Hold>());
        assert!(size_of::<Line>() <= 232, "{}", size_of::<Line>());
        assert!(size_of::<Held>() <= 112, "{}", size_of::<Held>());
    }

    #[test]
    fn names_that_are_not_used_any_more_leave_nothing_behind() {
        let client = Client::connect("memory:").wait().unwrap();
        for i in 0..10_000 {
            let mutex = client.mutex(format!("once {i}"));
            let guard = mutex.lock().wait().unwrap();
            assert!(client.mutex(format!("once {i}")).try_lock().wait().unwrap().is_none());
            drop(guard);
            drop(mutex.try_lock().wait().unwrap().unwrap());
        }
        let mut left = 0;
        client.core().lines.each(|_| left += 1);
        assert_eq!(left, 0);
        assert!(client.core().engine.agenda().of(client.core()).is_empty());
    }
}
