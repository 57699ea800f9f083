//! Locking without poisoning, and in one order.
//!
//! The engine has locks that are taken while another one is held. Each of them has a rank, and debug builds panic where a lock is
//! taken while the thread holds one of the same rank or a later one: two threads could then wait for each other.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose data stays valid even if a thread panics while it holds the lock.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranks, in the order in which a thread takes their locks.
pub(crate) mod rank {
    /// A part of the map of lines.
    pub(crate) const SHARD: u8 = 0;
    /// The state of a line.
    pub(crate) const LINE: u8 = 1;
    /// The guards of a hold.
    pub(crate) const GUARDS: u8 = 2;
    /// The due times of all holds.
    pub(crate) const AGENDA: u8 = 3;
}

/// A mutex with a rank.
#[derive(Default)]
pub(crate) struct Ranked<T, const RANK: u8>(Mutex<T>);

/// Unlocks it when dropped.
pub(crate) struct RankedGuard<'a, T, const RANK: u8> {
    data: MutexGuard<'a, T>,
    _taken: Taken<RANK>,
}

impl<T, const RANK: u8> Ranked<T, RANK> {
    /// Locks it; a thread that panicked with the lock is ignored.
    #[track_caller]
    pub(crate) fn lock(&self) -> RankedGuard<'_, T, RANK> {
        let _taken = Taken::new();
        RankedGuard { data: lock(&self.0), _taken }
    }
}

impl<T, const RANK: u8> fmt::Debug for Ranked<T, RANK> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ranked").field("rank", &RANK).finish_non_exhaustive()
    }
}

impl<T, const RANK: u8> Deref for RankedGuard<'_, T, RANK> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T, const RANK: u8> DerefMut for RankedGuard<'_, T, RANK> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.data
    }
}

/// The thread holds, or waits for, the lock of this rank. Nothing in release builds.
struct Taken<const RANK: u8>;

#[cfg(not(debug_assertions))]
impl<const RANK: u8> Taken<RANK> {
    fn new() -> Self {
        Self
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// A bit for each rank.
    static TAKEN: std::cell::Cell<u8> = const { std::cell::Cell::new(0) };
}

#[cfg(debug_assertions)]
impl<const RANK: u8> Taken<RANK> {
    #[track_caller]
    fn new() -> Self {
        let taken = TAKEN.get();
        assert!(taken < 1 << RANK, "the lock of rank {RANK} is taken behind the ranks {taken:#b}");
        TAKEN.set(taken | 1 << RANK);
        Self
    }
}

#[cfg(debug_assertions)]
impl<const RANK: u8> Drop for Taken<RANK> {
    fn drop(&mut self) {
        TAKEN.set(TAKEN.get() & !(1 << RANK));
    }
}

#[cfg(test)]
mod tests {
    use super::{Ranked, rank};

    type Line = Ranked<(), { rank::LINE }>;
    type Guards = Ranked<(), { rank::GUARDS }>;

    #[test]
    fn locks_are_taken_in_the_order_of_their_ranks() {
        let (line, guards) = (Line::default(), Guards::default());
        for _ in 0..2 {
            let _both = (line.lock(), guards.lock());
        }
        // One after the other, in any order.
        drop(guards.lock());
        drop(line.lock());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "the lock of rank 1 is taken behind the ranks 0b100"]
    fn a_lock_that_is_taken_out_of_order_panics() {
        let (line, guards) = (Line::default(), Guards::default());
        let _guards = guards.lock();
        let _line = line.lock();
    }

    /// Another thread could take them the other way round.
    #[test]
    #[cfg(debug_assertions)]
    #[should_panic = "the lock of rank 1 is taken behind the ranks 0b10"]
    fn two_locks_of_one_rank_panic() {
        let (one, other) = (Line::default(), Line::default());
        let _one = one.lock();
        let _other = other.lock();
    }
}
