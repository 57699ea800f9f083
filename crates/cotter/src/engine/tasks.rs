//! Tasks that a backend runs on the engine, such as keeping a session alive or reading a wake-up channel.

use crate::backend::Spawn;
use crate::sync::lock;
use crate::{Clock, Moment};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The tasks of one client.
pub(crate) struct Tasks {
    handle: Handle,
    running: Mutex<JoinSet<()>>,
}

impl Tasks {
    pub(crate) fn new(handle: Handle) -> Arc<Self> {
        Arc::new(Self { handle, running: Mutex::default() })
    }

    /// Waits for all of them until `end`, then aborts the rest.
    pub(crate) async fn finish(&self, clock: &Arc<dyn Clock>, end: Moment) {
        let mut running = std::mem::take(&mut *self.running());
        tokio::select! {
            () = async { while running.join_next().await.is_some() {} } => {}
            () = clock.sleep_until(end) => {}
        }
    }

    fn running(&self) -> MutexGuard<'_, JoinSet<()>> {
        lock(&self.running)
    }
}

impl Spawn for Tasks {
    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        let mut running = self.running();
        while running.try_join_next().is_some() {}
        running.spawn_on(task, &self.handle);
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &self.running().len()).finish_non_exhaustive()
    }
}

/// Ends the tasks with their client: a backend that holds its own host would keep them alive for ever.
#[derive(Debug)]
pub(crate) struct EndsTasks(pub(crate) Arc<Tasks>);

impl Drop for EndsTasks {
    fn drop(&mut self) {
        drop(std::mem::take(&mut *self.0.running()));
    }
}
