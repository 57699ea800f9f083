//! What the locks of a run are in.

use std::fmt;
use std::time::Duration;

/// What the locks are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// A store in memory, or a quorum of several.
    Members,
    /// A Redis server in memory, and the real client over a network that is simulated.
    #[cfg(feature = "redis-in-memory")]
    Redis(RedisMode),
}

/// How a Redis server is used.
#[cfg(feature = "redis-in-memory")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in the URL")]
pub enum RedisMode {
    Native,
    Plain,
    Redisson,
    RedissonFair,
    RedissonReadWrite,
    RedissonPermits,
}

#[cfg(feature = "redis-in-memory")]
const MODES: [(RedisMode, &str, &str); 6] = [
    (RedisMode::Native, "redis", ""),
    (RedisMode::Plain, "redis-plain", "mode=plain"),
    (RedisMode::Redisson, "redisson", "mode=redisson"),
    (RedisMode::RedissonFair, "redisson-fair", "mode=redisson&recipe=fair"),
    (RedisMode::RedissonReadWrite, "redisson-rwlock", "mode=redisson&recipe=rwlock"),
    (RedisMode::RedissonPermits, "redisson-permits", "mode=redisson&recipe=permits"),
];

/// Bytes that are late arrive within this time.
#[cfg(feature = "redis-in-memory")]
const LATE: Duration = Duration::from_millis(600);
/// The longest pause before a connection is opened again.
#[cfg(feature = "redis-in-memory")]
const RECONNECTED: Duration = Duration::from_millis(1_250);

#[cfg(feature = "redis-in-memory")]
impl RedisMode {
    /// The options of a URL.
    pub(super) fn options(self) -> &'static str {
        MODES.iter().find(|(mode, ..)| *mode == self).map_or("", |(.., options)| options)
    }

    /// How this is derived: `docs/evidence.md`.
    fn longest_idle(self, lease: Duration) -> Duration {
        let seconds = Duration::from_secs_f64;
        let poll = (lease / 3).clamp(seconds(0.5), seconds(5.0));
        match self {
            // One who is gone and whose place was not given up, another one who got the lock and does not say so, and one poll.
            Self::Native => (poll * 3).max(seconds(2.0)) + lease.min(seconds(2.0)) + poll,
            // What is left behind ends with its lease. Who has held the lock leaves it to others for half a second.
            Self::Plain => LATE + lease + seconds(0.5) + seconds(0.05) + RECONNECTED,
            // The first in line is waited for, and a message may be lost.
            _ => LATE + lease + seconds(1.5) + seconds(5.0),
        }
    }
}

impl Store {
    /// All of them, by name.
    #[must_use]
    pub fn all() -> Vec<(String, Self)> {
        let all = std::iter::once(("quorum".to_owned(), Self::Members));
        #[cfg(feature = "redis-in-memory")]
        let all = all.chain(MODES.iter().map(|(mode, name, _)| ((*name).to_owned(), Self::Redis(*mode))));
        all.collect()
    }

    /// The store of this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().into_iter().find(|(name, _)| name == text).map(|(_, store)| store)
    }

    /// Whether the tokens of different processes are in order: in `plain`, each process has its own.
    pub(super) fn orders_tokens(self) -> bool {
        match self {
            Self::Members => true,
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => mode != RedisMode::Plain,
        }
    }

    /// Whether nothing that is left behind is waited for as long as a long lease.
    pub(super) fn heals_itself(self) -> bool {
        match self {
            Self::Members => false,
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => mode == RedisMode::Native,
        }
    }

    /// For how long a name can be waited for that nobody holds, with this lease, from when nothing goes wrong any more.
    #[cfg_attr(not(feature = "redis-in-memory"), allow(unused_variables))]
    pub(super) fn longest_idle(self, lease: Duration) -> Duration {
        match self {
            Self::Members => Duration::from_secs(10),
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => mode.longest_idle(lease),
        }
    }

    /// Whether names can be shared.
    pub(super) fn has_readers(self) -> bool {
        match self {
            Self::Members => true,
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => matches!(mode, RedisMode::Native | RedisMode::RedissonReadWrite),
        }
    }

    /// Whether names have permits, if there are so many members.
    pub(super) fn has_permits(self, members: usize) -> bool {
        match self {
            Self::Members => members == 1,
            #[cfg(feature = "redis-in-memory")]
            Self::Redis(mode) => matches!(mode, RedisMode::Native | RedisMode::RedissonPermits),
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = Self::all();
        f.write_str(all.iter().find(|(_, store)| store == self).map_or("", |(name, _)| name))
    }
}
