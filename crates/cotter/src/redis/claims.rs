//! Maps by claim id.

use crate::backend::ClaimId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What is known of claims.
pub(super) type ByClaim<T> = HashMap<ClaimId, T, BuildHasherDefault<Bits>>;

/// A claim id is a random number of our own: its bits are as good as their hash.
#[derive(Debug, Default)]
pub(super) struct Bits(u64);

impl Hasher for Bits {
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
