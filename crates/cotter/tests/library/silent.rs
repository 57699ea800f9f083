//! A store that accepts requests and never answers.

use cotter::backend::{
    Acquired, Admin, Backend, Claim, Connect, Cursor, EvictOrder, Extension, Grant, Host, Info, Leave,
    NoteAt, Notes, Page, Release, Until, async_trait,
};
use cotter::{Client, Error, ErrorKind, Eviction, Filter, Finding, Name, Note, Result};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
struct Silent;

#[derive(Debug)]
struct Connection(Info);

#[async_trait]
impl Connect for Silent {
    async fn connect(&self, _: &Host) -> Result<Arc<dyn Backend>> {
        let mut info = Info::new("silent", "a store");
        let abilities = &mut info.capabilities;
        (abilities.notes, abilities.swap, abilities.permits) = (true, true, true);
        Ok(Arc::new(Connection(info)))
    }
}

fn down() -> Error {
    Error::new(ErrorKind::Unavailable, "it is down")
}

#[async_trait]
impl Backend for Connection {
    fn info(&self) -> &Info {
        &self.0
    }

    async fn acquire(&self, _: &Claim, _: Until) -> Result<Acquired> {
        pending().await
    }

    async fn extend(&self, _: &[&Grant], _: Duration) -> Vec<Result<Extension>> {
        pending().await
    }

    async fn release(&self, _: &Claim, _: Leave) -> Result<Release> {
        pending().await
    }

    async fn set_limit(&self, _: &Name, _: u32) -> Result<()> {
        Err(down())
    }

    async fn close(&self) {}

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}

#[async_trait]
impl Notes for Connection {
    async fn load(&self, _: &Name, _: &str) -> Result<Option<Note>> {
        pending().await
    }

    async fn store(&self, _: &Grant, _: NoteAt<'_>, _: &[u8]) -> Result<Option<u64>> {
        pending().await
    }

    async fn swap(&self, _: &Name, _: &str, _: u64, _: &[u8]) -> Result<Option<u64>> {
        pending().await
    }

    async fn changed(&self, _: &Name, _: &str, _: u64, _: Until) -> Result<Option<Note>> {
        pending().await
    }
}

#[async_trait]
impl Admin for Connection {
    async fn list(&self, _: &Filter, _: Option<&Cursor>) -> Result<Page> {
        Err(down())
    }

    async fn evict(&self, _: &Name, _: EvictOrder) -> Result<Eviction> {
        Err(down())
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        Err(down())
    }
}

async fn client() -> Client {
    Client::builder().backend(Silent).connect().await.unwrap()
}

/// The outcome of a call that must not last.
async fn soon<T>(call: impl Future<Output = Result<T>>) -> Error {
    let outcome = tokio::time::timeout(Duration::from_secs(20), call).await;
    outcome.expect("it lasts longer than it may").err().expect("nothing was answered")
}

fn says_which(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(error.name().map(Name::as_str), Some("a"), "{error}");
}

#[tokio::test]
async fn waits_for_notes_and_latches_end_with_their_time() {
    let (client, within) = (client().await, Duration::from_millis(10));
    says_which(&soon(client.latch("a").wait_for(within)).await);
    says_which(&soon(client.note_changed("a", "key", 0, within)).await);
}

#[tokio::test]
async fn an_error_names_the_lock_that_it_is_about() {
    let client = client().await;
    says_which(&soon(client.holder("a")).await);
    says_which(&soon(client.evict("a")).await);
    says_which(&soon(client.semaphore("a", 1).set_limit(2)).await);
}
