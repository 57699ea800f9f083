//! When to ask, where the store has no queue.
//!
//! There the lock goes to whoever asks at the right moment, and nobody is more likely to than the process that has just
//! given it back: its tasks would pass it on among themselves for ever. So a process asks often while the lock moves and
//! less often while it stands still, and once it has had the lock it rests until somebody else has had a chance.

use crate::{Moment, Name};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// So long after the beginning of a wait the lock is asked for more often than later.
const BRISK: Duration = Duration::from_secs(1);
/// Who has met others within this time rests after every stay.
const MEMORY: Duration = Duration::from_secs(1);
/// Who has met nobody rests after so long a stay, in case that somebody waits.
const STAY: Duration = Duration::from_millis(500);
/// How far a pause may be off its length, in both directions.
const JITTER: f64 = 0.25;

/// The pauses that one option gives: `retry`, for those who have waited for long.
#[derive(Debug, Clone, Copy)]
pub(in crate::redis) struct Pauses {
    first: Duration,
    /// The longest in the first second of a wait.
    brisk: Duration,
    retry: Duration,
}

impl Pauses {
    pub(in crate::redis) fn up_to(retry: Duration) -> Self {
        let first = (retry / 10).max(Duration::from_millis(5)).min(retry);
        let brisk = (retry * 2 / 5).max(first * 2).min(retry);
        Self { first, brisk, retry }
    }

    /// Long enough that everybody who waits for as long as this stay asks meanwhile.
    fn rest_after(&self, stay: Duration) -> Duration {
        let pause = if stay < BRISK { self.brisk } else { self.retry };
        pause.mul_f64(1.0 + JITTER)
    }
}

/// The pauses of one wait.
#[derive(Debug)]
pub(in crate::redis) struct Pace {
    pauses: Pauses,
    began: Moment,
    tries: u32,
    /// Whom the last try met.
    holder: Option<u64>,
}

impl Pace {
    pub(in crate::redis) fn new(pauses: Pauses, now: Moment) -> Self {
        Self { pauses, began: now, tries: 0, holder: None }
    }

    /// How long to pause after a try that met this holder. A lock that changes hands is worth another try soon.
    pub(in crate::redis) fn after_meeting(&mut self, holder: u64, now: Moment) -> Duration {
        if self.holder.replace(holder) != Some(holder) {
            self.tries = 0;
        }
        let length = if now.since(self.began) < BRISK {
            (self.pauses.first * 2_u32.pow(self.tries.min(8))).min(self.pauses.brisk)
        } else {
            self.pauses.retry
        };
        self.tries += 1;
        length.mul_f64(rand::random_range(1.0 - JITTER..1.0 + JITTER))
    }
}

/// The names that tasks of this process have waited for lately.
#[derive(Debug, Default)]
pub(in crate::redis) struct Rests {
    stays: Mutex<Stays>,
    /// Most releases are of names that nobody waits for: they need not look.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Stays {
    by_name: HashMap<Name, Stay>,
    /// Those that are over are forgotten when there are so many.
    sweep_at: usize,
}

/// How this process has had a name.
#[derive(Debug, Clone, Copy)]
struct Stay {
    /// Since when, with gaps too short for others.
    since: Option<Moment>,
    freed: Moment,
    /// When somebody else was last seen to have it.
    met: Option<Moment>,
}

impl Rests {
    /// Somebody else has it.
    pub(in crate::redis) fn met(&self, name: &Name, now: Moment) {
        self.with(name, now, |stay| (stay.since, stay.met) = (None, Some(now)));
    }

    /// A task of this process has it after a wait.
    pub(in crate::redis) fn got(&self, name: &Name, now: Moment) {
        self.with(name, now, |stay| _ = stay.since.get_or_insert(now));
    }

    /// This process has given it back.
    pub(in crate::redis) fn freed(&self, name: &Name, now: Moment) {
        if self.count.load(Ordering::Relaxed) > 0
            && let Some(stay) = self.lock().by_name.get_mut(name)
        {
            stay.freed = now;
        }
    }

    /// Until when to leave the name to others, for one who is about to wait for it.
    pub(in crate::redis) fn until(&self, name: &Name, pauses: &Pauses, now: Moment) -> Option<Moment> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut stays = self.lock();
        let stay = stays.by_name.get_mut(name)?;
        let length = stay.freed.since(stay.since?);
        let end = stay.freed + pauses.rest_after(length);
        let contended = stay.met.is_some_and(|met| now.since(met) < MEMORY);
        if end <= now {
            // They had their chance.
            stay.since = None;
        } else if contended || length >= STAY {
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
        let mut stay = Stay { since: None, freed: now, met: None };
        change(&mut stay);
        stays.by_name.insert(name.clone(), stay);
        self.count.store(stays.by_name.len(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Stays> {
        self.stays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stay {
    /// Whether a wait that begins now would still be affected.
    fn counts_at(&self, now: Moment) -> bool {
        let last = self.freed.max(self.met.unwrap_or(Moment::ZERO));
        now.since(last) < MEMORY
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
