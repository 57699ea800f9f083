//! What stands for the broken lock in a build without Redis: nobody has one.

use crate::store::Store;
use cotter::Name;
use cotter_console::Failure;
use std::time::Duration;

#[derive(Clone)]
pub(super) enum CheckThenDel {}

pub(super) enum ShortLock {}

impl CheckThenDel {
    #[allow(clippy::unused_async)]
    pub(super) async fn open(_: &Name, _: Duration, _: &dyn Store) -> Result<Self, Failure> {
        Err(Failure::usage(
            "--lock check-then-del demonstrates a mistake on Redis: build cotter with the feature `redis`",
        ))
    }

    pub(super) async fn acquire(&self, _: u32) -> Result<ShortLock, Failure> {
        match *self {}
    }
}

impl ShortLock {
    pub(super) fn is_late(&self) -> bool {
        match *self {}
    }

    pub(super) async fn release(self) -> Result<Option<u32>, Failure> {
        match self {}
    }
}
