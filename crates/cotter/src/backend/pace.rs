//! The pauses between attempts, where the store has no queue.
//!
//! There, a free lock goes to the client that tries at the right moment, most likely to the process that has just released
//! it: its tasks could pass the lock on among themselves forever. So a process tries often while the lock changes hands and
//! less often while it does not, and after it has held the lock it rests, to give other processes a chance.

use crate::sync::lock;
use crate::{Moment, Name};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The first part of a wait, in which attempts are made more often than later.
const BRISK_TIME: Duration = Duration::from_secs(1);
/// A process that has met another holder within this time rests after each stay.
const CONTENTION_MEMORY: Duration = Duration::from_secs(1);
/// A process that has met no other holder rests after a stay of this length, in case that somebody waits.
const MAX_STAY: Duration = Duration::from_millis(500);
/// The share by which a pause is made longer or shorter at random.
pub(crate) const JITTER: f64 = 0.25;

/// The pauses that follow from the option `retry`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pauses {
    first: Duration,
    /// The longest pause in the first part of a wait.
    brisk: Duration,
    /// The pause in the rest of a wait.
    retry: Duration,
}

impl Pauses {
    pub(crate) fn up_to(retry: Duration) -> Self {
        let first = (retry / 10).max(Duration::from_millis(5)).min(retry);
        let brisk = (retry * 2 / 5).max(first * 2).min(retry);
        Self { first, brisk, retry }
    }

    /// A rest in which every process that has waited since the beginning of the stay makes an attempt.
    fn rest_after(&self, stay: Duration) -> Duration {
        let pause = if stay < BRISK_TIME { self.brisk } else { self.retry };
        pause.mul_f64(1.0 + JITTER)
    }
}

/// The pace of one wait.
#[derive(Debug)]
pub(crate) struct Pace {
    pauses: Pauses,
    began: Moment,
    tries: u32,
    /// The holder that the last attempt met.
    holder: Option<u64>,
}

impl Pace {
    pub(crate) fn new(pauses: Pauses, now: Moment) -> Self {
        Self { pauses, began: now, tries: 0, holder: None }
    }

    /// How long the wait has lasted.
    pub(crate) fn waited(&self, now: Moment) -> Duration {
        now.since(self.began)
    }

    /// The pause after an attempt that met this holder. If the lock changes hands, another attempt soon may succeed.
    pub(crate) fn after_meeting(&mut self, holder: u64, now: Moment) -> Duration {
        if self.holder.replace(holder) != Some(holder) {
            self.tries = 0;
        }
        let length = if self.waited(now) < BRISK_TIME {
            (self.pauses.first * 2_u32.pow(self.tries.min(8))).min(self.pauses.brisk)
        } else {
            self.pauses.retry
        };
        self.tries += 1;
        length.mul_f64(crate::random::between(1.0 - JITTER, 1.0 + JITTER))
    }
}

/// The names for which tasks of this process have waited lately, and when to leave them to others.
#[derive(Debug, Default)]
pub(crate) struct Rests {
    stays: Mutex<Stays>,
    /// The number of names. It is mostly 0, and then a release need not take the lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Stays {
    by_name: HashMap<Name, Stay>,
    /// When there are this many names, those that are no longer needed are forgotten.
    sweep_at: usize,
}

/// The stay of one name in this process.
#[derive(Debug, Clone, Copy)]
struct Stay {
    /// When it began. Gaps that are too short for others to use do not end it.
    since: Option<Moment>,
    /// When the lock was last released here.
    freed: Moment,
    /// Whether a task of this process that has waited holds it now.
    is_held: bool,
    /// When somebody else was last seen to hold it.
    met: Option<Moment>,
}

impl Rests {
    /// Somebody else holds the lock: another process, or a task of this one that waits for itself. In that case the stay goes
    /// on.
    pub(crate) fn met(&self, name: &Name, now: Moment) {
        self.with(name, now, |stay| {
            stay.met = Some(now);
            if !stay.is_held {
                stay.since = None;
            }
        });
    }

    /// A task of this process has acquired the lock after a wait.
    pub(crate) fn got(&self, name: &Name, now: Moment) {
        self.with(name, now, |stay| {
            stay.is_held = true;
            stay.since.get_or_insert(now);
        });
    }

    /// A task of this process has released the lock.
    pub(crate) fn freed(&self, name: &Name, now: Moment) {
        if self.count.load(Ordering::Relaxed) > 0
            && let Some(stay) = self.lock().by_name.get_mut(name)
        {
            (stay.freed, stay.is_held) = (now, false);
        }
    }

    /// Until when to leave the lock to other processes, for a wait that begins now.
    pub(crate) fn until(&self, name: &Name, pauses: &Pauses, now: Moment) -> Option<Moment> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut stays = self.lock();
        let stay = stays.by_name.get_mut(name)?;
        let length = stay.freed.since(stay.since?);
        let end = stay.freed + pauses.rest_after(length);
        let contended = stay.met.is_some_and(|met| now.since(met) < CONTENTION_MEMORY);
        if end <= now {
            // The others have had their chance.
            stay.since = None;
        } else if contended || length >= MAX_STAY {
            stay.since = None;
            return Some(end);
        }
        None
    }

    fn with(&self, name: &Name, now: Moment, change: impl FnOnce(&mut Stay)) {
        let mut stays = self.lock();
        if let Some(stay) = stays.by_name.get_mut(name) {
            return change(stay);
        }
        if stays.by_name.len() >= stays.sweep_at {
            stays.by_name.retain(|_, stay| stay.counts_at(now));
            stays.sweep_at = (stays.by_name.len() * 2).max(64);
        }
        let mut stay = Stay { since: None, freed: now, is_held: false, met: None };
        change(&mut stay);
        stays.by_name.insert(name.clone(), stay);
        self.count.store(stays.by_name.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Stays> {
        lock(&self.stays)
    }
}

impl Stay {
    /// Whether this still affects a wait that begins now.
    fn counts_at(&self, now: Moment) -> bool {
        let last = self.freed.max(self.met.unwrap_or(Moment::ZERO));
        now.since(last) < CONTENTION_MEMORY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn pauses() -> Pauses {
        Pauses::up_to(50 * MS)
    }

    fn at(ms: u32) -> Moment {
        Moment::ZERO + Duration::from_secs(100) + MS * ms
    }

    fn near(pause: Duration, length: Duration) -> bool {
        pause >= length.mul_f64(0.75) && pause <= length.mul_f64(1.25)
    }

    #[test]
    fn pauses_grow_while_the_holder_stays_the_same() {
        let mut pace = Pace::new(pauses(), at(0));
        for length in [5, 10, 20, 20] {
            assert!(near(pace.after_meeting(1, at(0)), MS * length));
        }
        assert!(near(pace.after_meeting(2, at(100)), MS * 5), "the lock moves");
        assert!(near(pace.after_meeting(3, at(1500)), MS * 50), "it does not move for us");
        let mut short = Pace::new(Pauses::up_to(2 * MS), at(0));
        (0..4).for_each(|_| assert!(near(short.after_meeting(1, at(0)), MS * 2)));
    }

    #[test]
    fn who_meets_nobody_rests_only_after_a_long_stay() {
        let (rests, name) = (Rests::default(), Name::new("a").unwrap());
        for ms in (0..500).step_by(5) {
            assert_eq!(rests.until(&name, &pauses(), at(ms)), None, "at {ms}");
            rests.got(&name, at(ms));
            rests.freed(&name, at(ms + 5));
        }
        assert_eq!(rests.until(&name, &pauses(), at(500)), Some(at(525)));
        assert_eq!(rests.until(&name, &pauses(), at(525)), None, "once");
    }

    #[test]
    fn who_has_met_others_rests_after_every_stay() {
        let (rests, name) = (Rests::default(), Name::new("a").unwrap());
        rests.met(&name, at(0));
        for ms in [10, 90, 900] {
            rests.got(&name, at(ms));
            rests.freed(&name, at(ms + 5));
            assert_eq!(rests.until(&name, &pauses(), at(ms + 5)), Some(at(ms + 30)));
        }
        rests.got(&name, at(1200));
        rests.freed(&name, at(1205));
        assert_eq!(rests.until(&name, &pauses(), at(1205)), None, "that was long ago");
    }

    /// Several tasks of one process ask the store, each for itself.
    #[test]
    fn whoever_is_met_by_its_own_process_rests_too() {
        let (rests, name) = (Rests::default(), Name::new("a").unwrap());
        rests.got(&name, at(0));
        rests.met(&name, at(2));
        rests.freed(&name, at(5));
        assert_eq!(rests.until(&name, &pauses(), at(5)), Some(at(30)));
    }

    #[test]
    fn a_gap_that_others_can_use_ends_a_stay() {
        let (rests, name) = (Rests::default(), Name::new("a").unwrap());
        rests.got(&name, at(0));
        rests.freed(&name, at(2000));
        assert_eq!(rests.until(&name, &pauses(), at(3000)), None);
        rests.got(&name, at(3000));
        rests.freed(&name, at(3005));
        assert_eq!(rests.until(&name, &pauses(), at(3005)), None);
    }

    #[test]
    fn names_that_are_not_waited_for_any_more_are_forgotten() {
        let rests = Rests::default();
        for i in 0..100_000 {
            rests.met(&Name::new(format!("a{i}")).unwrap(), at(i));
        }
        assert!(rests.lock().by_name.len() < 5_000);
    }
}
