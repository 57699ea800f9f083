//! The identity of a file.

use rustix::fs::{Stat, stat};
use std::path::Path;

/// Which file it is, whatever its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

impl FileId {
    #[allow(clippy::unnecessary_cast, reason = "the types of the fields differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { dev: stat.st_dev as u64, ino: stat.st_ino as u64 }
    }

    /// Whether this file is still at the path. If not, other processes lock another one.
    pub(crate) fn is_at(self, path: &Path) -> bool {
        stat(path).is_ok_and(|s| Self::of(&s) == self)
    }
}
