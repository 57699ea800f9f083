//! The lines of all names that a client currently uses.

use crate::engine::line::state::{Holding, State};
use crate::sync::{Ranked, RankedGuard, rank};
use crate::{Error, Name};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

/// The line of one name in this client.
#[derive(Debug)]
pub(crate) struct Line<H: Holding> {
    pub(crate) name: Name,
    state: Ranked<State<H>, { rank::LINE }>,
    /// Notifies the task that asks the store that the queue has changed.
    pub(crate) changed: Notify,
    /// The number of handles that keep the line in the map while it is unused.
    kept: AtomicUsize,
}

impl<H: Holding> Line<H> {
    pub(crate) fn new(name: Name) -> Self {
        Self { name, state: Ranked::default(), changed: Notify::new(), kept: AtomicUsize::new(0) }
    }

    /// Looks at the state; while it does, nothing changes there.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&State<H>) -> R) -> R {
        look(&self.state())
    }

    /// To change the state is up to [`run`](super::run).
    pub(super) fn state(&self) -> RankedGuard<'_, State<H>, { rank::LINE }> {
        self.state.lock()
    }

    /// One handle fewer keeps the line.
    pub(crate) fn let_go(&self) {
        self.kept.fetch_sub(1, Ordering::AcqRel);
    }
}

/// All names that this client currently uses.
#[derive(Debug)]
pub(crate) struct Lines<H: Holding> {
    hasher: RandomState,
    shards: [Ranked<Shard<H>, { rank::SHARD }>; SHARDS],
}

type Shard<H> = HashMap<Name, Arc<Line<H>>>;

const SHARDS: usize = 16;

impl<H: Holding> Default for Lines<H> {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Ranked::default()) }
    }
}

impl<H: Holding> Lines<H> {
    /// Returns the line of a name, which stays in the map until it is [let go](Line::let_go) and retired.
    pub(crate) fn keep(&self, name: &Name) -> Arc<Line<H>> {
        let mut shard = self.shard(name);
        let line = shard.entry(name.clone()).or_insert_with(|| Arc::new(Line::new(name.clone()))).clone();
        line.kept.fetch_add(1, Ordering::AcqRel);
        line
    }

    /// Removes an unused line, so that a million names used once leave nothing behind.
    pub(crate) fn retire(&self, line: &Line<H>) {
        // The last handle retires the line when it is dropped.
        if line.kept.load(Ordering::Acquire) > 0 {
            return;
        }
        let mut shard = self.shard(&line.name);
        let state = line.state();
        // A line without local turns is not in the map, but another of the same name may be.
        let ours = shard.get(&line.name).is_some_and(|l| std::ptr::eq(&raw const **l, line));
        let kept = line.kept.load(Ordering::Acquire) > 0;
        if ours && !kept && state.is_unused() {
            shard.remove(&line.name);
        }
    }

    /// Returns the error that keeps those who wait for a name from being served.
    pub(crate) fn trouble(&self, name: &Name) -> Option<Error> {
        let line = self.shard(name).get(name).cloned()?;
        line.read(|state| state.trouble().filter(|_| state.awake().is_some()).cloned())
    }

    /// Returns the lines of all names that are in use.
    pub(crate) fn all(&self) -> Vec<Arc<Line<H>>> {
        self.shards.iter().flat_map(|shard| shard.lock().values().cloned().collect::<Vec<_>>()).collect()
    }

    fn shard(&self, name: &Name) -> RankedGuard<'_, Shard<H>, { rank::SHARD }> {
        let at = self.hasher.hash_one(name) as usize % SHARDS;
        self.shards[at].lock()
    }
}

#[cfg(test)]
mod tests {
    use crate::Client;
    use crate::engine::grant::hold::{Hold, Line};
    use crate::stores::shared::lock_state::Held;
    use cotter_testkit::history::{Kind, demand};

    /// A guard in memory takes 1,037 bytes, in which these are the largest parts. 16 of them are what observers are told of.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_largest_parts_of_a_guard_stay_small() {
        assert!(size_of::<Hold>() <= 360, "{}", size_of::<Hold>());
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
            let guard = mutex.try_lock().wait().unwrap().unwrap();
            // The guard is the last to use the line.
            drop(mutex);
            drop(guard);
        }
        let left = client.core().lines.all().len();
        demand(left == 0, Kind::LeftBehind, format!("{left} lines are left behind"));
        assert!(client.core().engine.agenda().of(client.core()).is_empty());
    }
}
