//! Every duration that the engine uses, and its purpose.

use crate::backend::Backoff;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

// Leases and their renewal.

/// The share of a lease after which it is renewed: one third, so that two renewals can fail.
pub(crate) const RENEWAL_SHARE: u32 = 3;
/// A renewal without an answer is repeated after this share of the lease, within [`RENEWAL_RETRY`].
pub(crate) const RENEWAL_RETRY_SHARE: u32 = 12;
/// The shortest and the longest pause before a renewal is repeated.
pub(crate) const RENEWAL_RETRY: (Duration, Duration) = (MS, SECOND);
/// Renewals that fall due within this share of their lease are sent together.
pub(crate) const RENEWAL_GRID_SHARE: u32 = 128;
/// A lease that a store granted for less than the ttl is renewed after this time: longer holds need the rest.
pub(crate) const CONFIRM_AFTER: Duration = Duration::from_millis(100);
/// A renewed lease with this much left can be used at once; with less it is renewed first.
pub(crate) const USABLE_LEASE: Duration = SECOND;

// Turns within a process.

/// The time for which a lock passes from task to task here before other processes get their turn.
pub(crate) const TURN_SLICE: Duration = Duration::from_millis(5);
/// The time that a task has to take the lock it was given, before the next task gets it.
pub(crate) const TAKE_WITHIN: Duration = Duration::from_millis(10);

// Waiting for answers.

/// An answer that comes this late after the end of a wait still counts.
pub(crate) const LATE_ANSWER: Duration = Duration::from_millis(20);
/// Every request gets this long for its answer, however short the wait.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(100);
/// A wait for a note ends without an answer when this much time has passed after its end: the last look is still answered by a
/// store that is slow.
pub(crate) const LAST_LOOK: Duration = SECOND;
/// A request whose caller is gone is kept for this long; its driver may have died with its runtime.
pub(crate) const ABANDONED_REQUEST: Duration = Duration::from_secs(2);
/// The limits of the interval at which a silent store is checked, a share of `give_up`.
pub(crate) const HEARTBEAT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The heartbeats in the time after which an acquisition gives up.
pub(crate) const HEARTBEATS: u32 = 6;
/// An answer this recent shows that the store is available now.
pub(crate) const RECENT_ANSWER: Duration = Duration::from_millis(100);
/// An outage is over when the store answers this long after the last failure.
pub(crate) const CALM: Duration = SECOND;
/// After a failure, a runtime is given no connection of its own for this long.
pub(crate) const RECONNECT_PAUSE: Duration = SECOND;

// Repeating what failed.

/// Pauses between attempts to acquire.
pub(crate) const fn acquire_backoff() -> Backoff {
    Backoff::new(Duration::from_millis(10), SECOND).with_jitter(0.25)
}

/// Pauses between attempts to release.
pub(crate) const fn release_backoff() -> Backoff {
    Backoff::new(Duration::from_millis(10), SECOND)
}

/// Pauses before an unknown outcome is undone again, so that a request that lands late is undone within seconds.
pub(crate) const UNDO_PAUSES: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(10)];

/// Pauses after that, while the store does not answer and something may be left. Those that wait are undone at once when
/// it has answered one of them.
pub(crate) const UNDO_PAUSE_IN_SILENCE: Duration = Duration::from_secs(5);

/// The longest pause after a failure behind which the store has answered something else: where every other answer is lost, several
/// attempts fail in a row, and what is left in a session would stand in the way of others for as long as the pauses have become.
pub(crate) const UNDO_PAUSE_AMONG_ANSWERS: Duration = SECOND;

/// So many claims may be unsettled in an outage. Each keeps half a kilobyte and sends a release every few seconds, so no others
/// are added before the store answers.
pub(crate) const MAX_UNSETTLED: usize = 4_096;

/// Pauses between attempts to change a note that others change too.
pub(crate) const fn swap_backoff() -> Backoff {
    Backoff::new(MS, Duration::from_millis(50)).with_jitter(0.5)
}

// Watching.

/// A waiter for a latch loads its note at least this often, in case it was deleted in the store.
pub(crate) const LATCH_POLL: Duration = Duration::from_secs(5);

/// A watch of an election looks at least this often: a leadership can end without a change of its note.
pub(crate) const LEADER_POLL: Duration = Duration::from_secs(5);
/// The same while the leader lives as long as its process or session, whose end has no date.
pub(crate) const LEADER_POLL_WITHOUT_LEASE: Duration = SECOND;
/// A new leader that has said nothing is reported after this: its first note follows the lock by a round trip.
pub(crate) const LEADER_WORD: Duration = Duration::from_millis(250);
/// The shortest interval, at the end of a lease that is not renewed.
pub(crate) const LEADER_POLL_MIN: Duration = Duration::from_millis(20);

// The end of a client.

/// Releases get this long at the end of `close`, however short its grace.
pub(crate) const LAST_RELEASES: Duration = Duration::from_millis(500);
/// A guard that ends with its work waits this long for the answer to its release.
pub(crate) const LAST_ANSWER: Duration = Duration::from_secs(2);
/// How often `close` looks whether all guards are gone.
pub(crate) const CLOSE_LOOK: Duration = Duration::from_millis(5);
/// How often a wait for background work looks for work that ended with a dropped runtime.
pub(crate) const BACKGROUND_LOOK: Duration = Duration::from_millis(20);
