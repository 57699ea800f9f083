//! The notes of a group that list jobs: ten thousand of them do not fit into one note.

use sha2::{Digest, Sha256};

/// The shard of a job, the same for all lists.
pub(crate) fn of(job: &str) -> u8 {
    Sha256::digest(job)[0]
}

/// All shards.
pub(super) fn all() -> impl Iterator<Item = u8> {
    0..=u8::MAX
}

/// The key of a shard of this list.
pub(super) fn key(list: &str, shard: u8) -> String {
    format!("{list}-{shard:02x}")
}
