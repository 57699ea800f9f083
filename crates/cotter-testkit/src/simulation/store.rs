//! What the locks of a run are in.

use std::fmt;

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

#[cfg(feature = "redis-in-memory")]
impl RedisMode {
    /// The options of a URL.
    pub(super) fn options(self) -> &'static str {
        MODES.iter().find(|(mode, ..)| *mode == self).map_or("", |(.., options)| options)
    }
}

impl Store {
    /// All of them, by name.
    #[must_use]
    pub fn all() -> Vec<(String, Self)> {
        let mut all = vec![("quorum".to_owned(), Self::Members)];
        #[cfg(feature = "redis-in-memory")]
        all.extend(MODES.iter().map(|(mode, name, _)| ((*name).to_owned(), Self::Redis(*mode))));
        all
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
