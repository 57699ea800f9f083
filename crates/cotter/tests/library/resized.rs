//! A semaphore whose limit is changed by a process with tasks that wait, and a store whose answer to that takes its time.

use cotter::backend::{
    Acquired, Backend, Claim, Connect, Extension, Grant, Host, Info, Leave, Release, Until, async_trait,
};
use cotter::{Client, ErrorKind, Name, Result, memory};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A store in memory. It has changed a limit before it says so.
#[derive(Debug, Clone)]
struct Slow {
    store: memory::Store,
    /// Whether changes of limits are answered.
    answers: watch::Sender<bool>,
    /// How many requests were refused because of their limit.
    refused: watch::Sender<u32>,
}

#[derive(Debug)]
struct Connection {
    inner: Arc<dyn Backend>,
    slow: Slow,
}

#[async_trait]
impl Connect for Slow {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(Connection { inner: self.store.connect(host).await?, slow: self.clone() }))
    }
}

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        self.inner.info()
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Acquired> {
        let answer = self.inner.acquire(claim, until).await;
        if answer.as_ref().is_err_and(|e| e.kind() == ErrorKind::LimitMismatch) {
            self.slow.refused.send_modify(|n| *n += 1);
        }
        answer
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        self.inner.extend(grants, ttl).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.inner.release(claim, leave).await
    }

    async fn set_limit(&self, name: &Name, of: u32) -> Result<()> {
        self.inner.set_limit(name, of).await?;
        let _ = self.slow.answers.subscribe().wait_for(|answers| *answers).await;
        Ok(())
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

#[tokio::test]
async fn a_task_that_is_refused_before_the_change_is_answered_goes_on_under_the_new_limit() {
    let store = memory::Store::new();
    let slow = Slow { store, answers: watch::Sender::new(false), refused: watch::Sender::new(0) };
    let client = Client::builder().backend(slow.clone()).connect().await.unwrap();
    let ours = client.semaphore("a", 1);
    let held = ours.acquire().await.unwrap();
    let (mut first, mut second) = (ours.acquire(), ours.acquire());
    for op in [&mut first, &mut second] {
        assert!(tokio::time::timeout(Duration::ZERO, op).await.is_err(), "it waits");
    }
    let change = tokio::spawn(ours.set_limit(3));
    let first = first.await.expect("the store has raised the limit");
    slow.refused.subscribe().wait_for(|&refused| refused == 1).await.unwrap();
    slow.answers.send_replace(true);
    change.await.unwrap().unwrap();
    let second = second.await.expect("it waited before the change");
    drop((held, first, second));
}
