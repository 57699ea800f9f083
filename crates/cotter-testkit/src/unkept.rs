//! A store that keeps no name for those who have released it: their process has to do that.

use crate::altered::{Alteration, AlteredStore};
use cotter::backend::{Connect, Info};

/// Connects to another store, and does not have it keep names.
pub type Unkept = AlteredStore<NoKeeping>;

impl Unkept {
    /// This store without the ability to keep names.
    pub fn new(inner: impl Connect) -> Self {
        Self::of(inner, NoKeeping)
    }
}

/// The ability to keep names is taken away.
#[derive(Debug, Clone)]
pub struct NoKeeping;

impl Alteration for NoKeeping {
    fn info(&self, info: &mut Info) {
        info.capabilities.keep_for = false;
    }
}
