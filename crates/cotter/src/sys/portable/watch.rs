//! No events of the file system: a task that waits for a change has to look for it.

use std::path::Path;
use std::sync::Arc;
use tokio::sync::Notify;

/// A watcher that cannot be made.
#[derive(Debug)]
pub(crate) enum Watcher {}

/// A watch that cannot be had.
#[derive(Debug)]
pub(crate) enum Watch {}

impl Watcher {
    /// Always an error.
    pub(crate) fn start() -> std::io::Result<Arc<Self>> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn watch(self: &Arc<Self>, _directory: &Path, _woken: &Arc<Notify>) -> Option<Watch> {
        match **self {}
    }

    #[cfg(feature = "sqlite")]
    pub(crate) fn watch_writes(self: &Arc<Self>, _directory: &Path, _woken: &Arc<Notify>) -> Option<Watch> {
        match **self {}
    }

    pub(crate) fn end(&self) {
        match *self {}
    }
}
