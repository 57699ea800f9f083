//! Maps keyed by claim id.

use super::ClaimId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by claim id. This process generates the ids at random, so their bits serve as their hash.
pub(crate) type ByClaim<T> = HashMap<ClaimId, T, BuildHasherDefault<IdBits>>;

/// A hasher that returns the low bits of a claim id unchanged.
#[derive(Debug, Default)]
pub(crate) struct IdBits(u64);

impl Hasher for IdBits {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, bits: u128) {
        self.0 = bits as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
