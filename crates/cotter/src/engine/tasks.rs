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
            biased;
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

#[cfg(test)]
mod tests {
    use crate::backend::{Backend, Connect, Host};
    use crate::{Client, Result, stores::memory};
    use cotter_testkit::timing::{Stopwatch, until};
    use std::sync::{Arc, Weak};
    use std::time::Duration;

    /// A store with a task that never ends by itself, and that lives as long as the token.
    #[derive(Debug)]
    struct Keeping(Weak<()>);

    #[async_trait::async_trait]
    impl Connect for Keeping {
        async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
            let token = self.0.upgrade();
            host.spawn(async move {
                let _token = token;
                std::future::pending::<()>().await;
            });
            memory::Store::new().connect(host).await
        }
    }

    fn client() -> (Client, Weak<()>) {
        let token = Arc::new(());
        let client = Client::builder().connect_to(Keeping(Arc::downgrade(&token))).wait().unwrap();
        (client, Arc::downgrade(&token))
    }

    fn ends(task: &Weak<()>) {
        until("the task ends with its client", || task.strong_count() == 0);
    }

    #[test]
    fn a_task_ends_with_a_client_that_is_dropped() {
        let (client, task) = client();
        assert_eq!(task.strong_count(), 1, "it runs");
        drop(client);
        ends(&task);
    }

    #[test]
    fn close_waits_for_a_task_no_longer_than_its_grace() {
        let (client, task) = client();
        let start = Stopwatch::start();
        client.close(Duration::from_secs(1)).wait().unwrap();
        start.at_least(Duration::from_millis(900), "it waits for the task");
        start.at_most(Duration::from_secs(5), "no longer than its grace");
        ends(&task);
    }
}
