//! The paths of the files of one name.

use super::directory::Directory;
use super::names::encode;
use super::permits::Permits;
use super::readers::Readers;
use super::tickets::Queue;
use crate::Name;
use std::path::PathBuf;

/// The suffix of lock files.
pub(super) const LOCK: &str = ".lock";
/// The suffix of queues.
pub(super) const QUEUE: &str = ".queue";
/// The suffix of directories with records of readers.
const READERS: &str = ".readers";
/// The suffix of directories with permits.
const PERMITS: &str = ".permits";

/// The directory with the notes of all names.
pub(super) const NOTES: &str = "notes";
/// The file that the writers of the notes of one name lock.
pub(super) const NOTE_GATE: &str = ".gate";

/// The paths of the files of one name.
#[derive(Debug, Clone)]
pub(super) struct LockPaths {
    pub(super) lock: PathBuf,
    pub(super) queue: Queue,
    pub(super) readers: Readers,
    pub(super) permits: Permits,
}

impl LockPaths {
    /// The gate's own file, on systems where it has one.
    pub(super) fn gate(&self) -> PathBuf {
        self.lock.with_extension("gate")
    }

    pub(super) fn of(directory: &Directory, name: &Name) -> Self {
        let file = encode(name);
        let lock = directory.path.join(format!("{file}{LOCK}"));
        let queue = directory.path.join(format!("{file}{QUEUE}"));
        let readers = directory.path.join(format!("{file}{READERS}"));
        let permits = directory.path.join(format!("{file}{PERMITS}"));
        let access = directory.access;
        let queue = Queue { directory: queue, access };
        let readers = Readers { directory: readers, access };
        Self { lock, queue, readers, permits: Permits { directory: permits, access } }
    }
}
