//! Names where others were met: there, a script that can only take or free a name that nobody else wants is a round trip for nothing.

use crate::Name;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicBool, Ordering};

/// Names that fall into one place are treated alike, which costs them round trips and nothing else.
const PLACES: usize = 1024;

/// Remembers where others were met, in a fixed amount of memory.
#[derive(Debug)]
pub(super) struct Met {
    places: Box<[AtomicBool]>,
    /// The same in each run: nobody gains by names that fall into one place.
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Default for Met {
    fn default() -> Self {
        let places = std::iter::repeat_with(AtomicBool::default).take(PLACES).collect();
        Self { places, hasher: BuildHasherDefault::default() }
    }
}

impl Met {
    /// Whether others were met at this name lately.
    pub(super) fn others(&self, name: &Name) -> bool {
        self.place(name).load(Ordering::Relaxed)
    }

    /// Others were met there, or nobody was.
    pub(super) fn note(&self, name: &Name, others: bool) {
        // Mostly it says so already, and other threads read it.
        if self.others(name) != others {
            self.place(name).store(others, Ordering::Relaxed);
        }
    }

    fn place(&self, name: &Name) -> &AtomicBool {
        let hash = self.hasher.hash_one(name);
        &self.places[hash as usize % PLACES]
    }
}
