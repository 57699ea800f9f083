//! Which of Redisson's locks a name is.

use crate::Result;
use crate::backend::Mode;
use crate::error::config;

/// A lock of Redisson; the option `recipe=` of a URL with `mode=redisson`. Two of them do not exclude each other on the same name, or
/// not in every respect, so that a client uses one of them.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recipe {
    /// `RLock` (`recipe=lock`). The counter of tokens ends some time after the last lock, unless a client of Redisson has begun it.
    #[default]
    Lock,
    /// `RFencedLock` (`recipe=fenced`): an `RLock` whose counter of tokens stays, as Redisson expects it.
    Fenced,
    /// `RFairLock` (`recipe=fair`): an `RLock` whose waiters are served in order of arrival.
    Fair,
    /// `RReadWriteLock` (`recipe=rwlock`): an exclusive lock is a write lock, a shared one a read lock.
    RwLock,
    /// `RPermitExpirableSemaphore` (`recipe=permits`). An exclusive lock is the permit of a semaphore of one.
    Permits,
}

impl Recipe {
    pub(in crate::stores::redis) fn parse(value: &str) -> Result<Self> {
        match value {
            "lock" => Ok(Self::Lock),
            "fenced" => Ok(Self::Fenced),
            "fair" => Ok(Self::Fair),
            "rwlock" => Ok(Self::RwLock),
            "permits" => Ok(Self::Permits),
            _ => {
                let recipes = "lock, fenced, fair, rwlock and permits";
                Err(config(format!("unknown recipe={value}; the recipes are {recipes}")))
            }
        }
    }

    /// The name of the store in errors.
    pub(super) const fn variant(self) -> &'static str {
        match self {
            Self::Lock | Self::Fenced | Self::Fair => {
                "redis in mode=redisson (recipe=rwlock has shared locks, recipe=permits has semaphores)"
            }
            Self::RwLock => "redis in mode=redisson (recipe=permits has semaphores)",
            Self::Permits => "redis in mode=redisson (recipe=rwlock has shared locks)",
        }
    }

    /// What a hash has in its field `mode` while it is held so; `""` if it has no such field.
    pub(super) const fn mode(self) -> &'static str {
        match self {
            Self::Lock | Self::Fenced | Self::Fair | Self::Permits => "",
            Self::RwLock => "write",
        }
    }

    /// What a release publishes: one waiter of Redisson is woken in each process, or all of them.
    pub(super) const fn message(self, mode: Mode) -> &'static str {
        match (self, mode) {
            (Self::RwLock, Mode::Exclusive) => "1",
            _ => "0",
        }
    }
}
