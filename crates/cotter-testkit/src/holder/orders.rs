//! The orders of a holder.

use crate::Usage;
use crate::resource::Resource;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// The orders of one holder process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Orders {
    /// The store.
    pub url: String,
    /// Its number in the history.
    pub process: u32,
    /// Where it records.
    pub log: PathBuf,
    /// Where the guarded resources are.
    pub resources: PathBuf,
    /// The locks that it takes, one at a time and at random.
    pub names: Vec<String>,
    /// How each of them is used, in the same order; the rest are mutexes.
    pub usages: Vec<Usage>,
    /// How many tasks do so.
    pub tasks: usize,
    /// Tells its random numbers from those of others.
    pub seed: u64,
    /// Whether its tasks pass the lock on among themselves.
    pub local_turns: bool,
    /// The ttl of its leases.
    pub ttl_ms: u64,
    /// How its tasks behave.
    pub habits: Habits,
    /// The longest work inside a lock.
    pub work_us: u64,
}

/// How the tasks of a holder behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Habits {
    /// They wait, work, and give back: always in the same way.
    Steady,
    /// They also only try, give up waiting, are cancelled, and drop their guards.
    Erratic,
}

impl Orders {
    /// How this name is used.
    pub fn usage_of(&self, which: usize) -> Usage {
        self.usages.get(which).copied().unwrap_or(Usage::Mutex)
    }

    /// The resources of a name: one that checks tokens, one that does not.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn resources_of(&self, name: &str) -> io::Result<[Resource; 2]> {
        let at = |kind: &str| self.resources.join(format!("{name}.{kind}"));
        Ok([Resource::open(&at("checked"), true)?, Resource::open(&at("unchecked"), false)?])
    }
}
