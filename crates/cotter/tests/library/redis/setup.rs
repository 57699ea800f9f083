//! What these tests share.

use cotter::backend::{Backend, Leave, Until};
pub(crate) use cotter_testkit::bare::{backend, claim, client, clock, crowd, eventually, queued, take};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The lock was used, and nobody waits for a token to be kept.
pub(crate) const USED: Leave = Leave::used(1);

/// Waits in a task that gives it back at once; answers with the token.
pub(crate) fn pass_through(backend: &Arc<dyn Backend>, name: &str, ttl: Duration) -> JoinHandle<u64> {
    let (backend, claim) = (backend.clone(), claim(name, ttl));
    tokio::spawn(async move {
        let grant = backend.acquire(&claim, Until::Forever).await.unwrap().granted().unwrap();
        backend.release(&claim, USED).await.unwrap();
        grant.number
    })
}
