//! How busy the machine is: what happens meanwhile to a thread that sleeps and computes.
//!
//! One thread of the process does nothing else. It sleeps for moments of a known length and notes by how much it woke late; now and
//! then it computes for a known amount of processor time and notes how long that took. A whole round costs a fortieth of a core.

use rustix::time::{ClockId, clock_gettime};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(10);
const PAUSES: u32 = 40;
/// More than a thread that has slept may run at one go while others want to.
const WORK: Duration = Duration::from_millis(10);
/// The rounds before an interval that tell about its beginning, so that a short one is not judged by a single round.
const BEFORE: Duration = Duration::from_secs(1);
/// A machine that is slower than this cannot tell anything about time, and a wider bound would hold for everything.
const MOST: f64 = 10.0;

/// How busy the machine was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// By how much one who slept woke late, in all.
    pub late: Duration,
    /// How many times as long as on an idle machine it took to compute something: from 1 to 10.
    pub stretch: f64,
}

#[derive(Debug)]
struct Round {
    begin: Instant,
    end: Instant,
    late: Duration,
    took: Duration,
    worked: Duration,
}

static ROUNDS: LazyLock<Mutex<Vec<Round>>> = LazyLock::new(|| {
    thread::Builder::new().name("how busy".into()).spawn(watch).expect("a thread starts");
    Mutex::default()
});

impl Busy {
    /// From then until now. Returns when the round that is under way is over, so that a delay that lasts is seen as well.
    #[must_use]
    pub fn since(begin: Instant) -> Self {
        let end = Instant::now();
        loop {
            let rounds = ROUNDS.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(last) = rounds.last().filter(|round| round.end >= end)
                && let Some(busy) = Self::of(&rounds, begin, last.end)
            {
                return busy;
            }
            drop(rounds);
            thread::sleep(PAUSE);
        }
    }

    /// Between two moments in the past. Nobody knows, if nobody [watched](super::watch_the_machine) then.
    #[must_use]
    pub fn between(begin: Instant, end: Instant) -> Option<Self> {
        Self::of(&ROUNDS.lock().unwrap_or_else(PoisonError::into_inner), begin, end)
    }

    fn of(rounds: &[Round], begin: Instant, end: Instant) -> Option<Self> {
        // That in which it ended counts as a whole.
        let rounds = &rounds[..rounds.partition_point(|round| round.begin < end)];
        let since = |begin| &rounds[rounds.partition_point(|round| round.end < begin)..];
        let near = since(begin.checked_sub(BEFORE).unwrap_or(begin));
        if near.is_empty() {
            return None;
        }
        let [took, worked] = near
            .iter()
            .fold([Duration::ZERO; 2], |[took, worked], round| [took + round.took, worked + round.worked]);
        let stretch = took.as_secs_f64() / worked.as_secs_f64();
        let late = since(begin).iter().map(|round| round.late).sum();
        Some(Self { late, stretch: stretch.clamp(1.0, MOST) })
    }

    /// What an idle machine does within the limit is done within this on a machine that is so busy: all that is computed takes as
    /// many times as long, and whoever sleeps wakes late.
    #[must_use]
    pub fn allowed(&self, limit: Duration) -> Duration {
        limit.mul_f64(self.stretch) + self.late
    }
}

/// From now on it is known how busy the machine is.
pub fn watch_the_machine() {
    LazyLock::force(&ROUNDS);
}

fn watch() {
    loop {
        let (start, mut late) = (Instant::now(), Duration::ZERO);
        for _ in 0..PAUSES {
            let begin = Instant::now();
            thread::sleep(PAUSE);
            late += begin.elapsed().saturating_sub(PAUSE);
        }
        let (begin, used) = (Instant::now(), processor_time());
        while processor_time() - used < WORK {
            std::hint::spin_loop();
        }
        let worked = processor_time() - used;
        let end = Instant::now();
        let round = Round { begin: start, end, late, took: end - begin, worked };
        ROUNDS.lock().unwrap_or_else(PoisonError::into_inner).push(round);
    }
}

/// Of this thread.
fn processor_time() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.cast_unsigned(), u32::try_from(t.tv_nsec).expect("below a second"))
}
