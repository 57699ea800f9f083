//! The history of a run, and the check of whether it was right.
//!
//! Every process writes [events](Event) with [`Recorder`]; [`History::of`] makes holds and waits of them, and
//! [`check`] looks for violations, each of its own [`Kind`].
//!
//! | file | concept |
//! |---|---|
//! | `event` | what is recorded |
//! | `recorder` | where it is recorded |
//! | `tail` | read while it is being recorded |
//! | `life` | when a process could run |
//! | `interval` | holds and waits, made of events |
//! | `overlap` | who believed to hold at once |
//! | `unheard` | holds of sessions that were ended |
//! | `inherited` | readers with the grant of a task that had left |
//! | `tokens` | unique, and rising in real time |
//! | `turns` | order of arrival, idle and stuck waiters |
//! | `loss` | losses that were told late |
//! | `violation` | the kinds of violations, and what each says something about |
//! | `void` | runs in which too little happened |

mod event;
mod inherited;
mod interval;
mod life;
mod loss;
mod overlap;
mod recorder;
mod tail;
mod tokens;
mod turns;
mod unheard;
mod violation;
mod void;

pub use event::{Event, Use, What};
pub use interval::{Ended, History, Hold, Wait, WaitEnded};
pub use life::Life;
pub use recorder::{Recorder, read_all};
pub use tail::Tail;
pub use turns::{Slice, slices};
pub use violation::{Class, Kind, Violation, demand, violation};
pub use void::{Happened, check_void, contended};

use crate::now;
use crate::timing::Busy;
use std::time::{Duration, Instant};

/// The tolerances of a checker. Those in real time, `idle` and `loss_margin`, are as wide as the machine was slow at the time, where
/// it was [watched](crate::timing::watch_the_machine).
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Two who arrive closer together than this may be served in either order.
    pub place_slack: Duration,
    /// The time for which a waiter may be idle while the lock is free.
    pub idle: Duration,
    /// A loss may be told so long after the deadline.
    pub loss_margin: Duration,
    /// A grant may be on its way for so long, while its process runs, after the task had left for which it was asked: a reader, or
    /// holder of permits, of the same process may have it.
    pub inherited: Duration,
    /// A holder whose session was [ended](History::ended) may believe in its lock for so long while its process runs: where a lock
    /// lives with a session, the server frees it first and tells its holder afterwards.
    pub unheard: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            place_slack: ms(100),
            idle: ms(100),
            loss_margin: ms(50),
            inherited: ms(2_000),
            unheard: Duration::ZERO,
        }
    }
}

/// Everything that is wrong with a history.
pub fn check(history: &History, limits: &Limits) -> Vec<Violation> {
    let mut found = overlap::check(history, nanos(limits.unheard));
    found.extend(tokens::check(history, limits));
    found.extend(turns::check(history, limits));
    found.extend(loss::check(history, limits));
    found
}

/// What an idle machine does within the limit, in nanoseconds, takes no longer than this on one that was as busy as this one then.
fn allowed(limit: Duration, from: u64, to: u64) -> u64 {
    let moment = |at| Instant::now().checked_sub(Duration::from_nanos(now().saturating_sub(at)));
    let busy = moment(from).zip(moment(to)).and_then(|(from, to)| Busy::between(from, to));
    nanos(busy.map_or(limit, |busy| busy.allowed(limit)))
}

fn nanos(d: Duration) -> u64 {
    u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
