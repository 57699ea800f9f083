//! How the tasks of a run use a name.

use crate::history::Use;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The use of one name by all who use it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Usage {
    /// One at a time.
    Mutex,
    /// Many that read, or one that writes.
    RwLock {
        /// The share of those that write.
        writers: f64,
    },
    /// So many at a time.
    Semaphore {
        /// The limit.
        of: u32,
        /// The most permits that one takes.
        most: u32,
    },
}

impl Usage {
    /// How the next one uses it.
    pub fn choose(self, rng: &mut impl RngExt) -> Use {
        match self {
            Self::Mutex => Use::Exclusive,
            Self::RwLock { writers } if rng.random_bool(writers) => Use::Exclusive,
            Self::RwLock { .. } => Use::Shared,
            Self::Semaphore { of, most } => Use::Permits { take: rng.random_range(1..=most), of },
        }
    }

    /// How it has to be held so that nobody else holds it.
    pub fn all(self) -> Use {
        match self {
            Self::Mutex | Self::RwLock { .. } => Use::Exclusive,
            Self::Semaphore { of, .. } => Use::Permits { take: of, of },
        }
    }
}
