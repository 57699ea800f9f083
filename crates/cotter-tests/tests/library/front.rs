//! Readers at the front of a queue, in stores where each waiter takes the lock when it asks: whichever of them asks first is the
//! next one. Those that are woken in another order than that of the row need no second round, and wait for no dead reader.

use cotter::backend::{Backend, Claim, Filter, Leave, Mode, Until};
use cotter_testkit::bare::{claim, take};
use cotter_testkit::history::{Kind, demand};
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(30);

fn reader() -> Claim {
    let mut reader = claim("front", TTL);
    reader.mode = Mode::Shared;
    reader
}

/// One request, whose answer is a grant or none.
async fn gets(backend: &Arc<dyn Backend>, claim: &Claim) -> bool {
    backend.acquire(claim, Until::Now).await.unwrap().granted().is_some()
}

/// Takes a place in the queue, and leaves it to the requests that follow.
async fn stand(backend: &Arc<dyn Backend>, claim: &Claim, position: u32) {
    let (store, waiter) = (backend.clone(), claim.clone());
    let waiting = tokio::spawn(async move { store.acquire(&waiter, Until::Forever).await });
    let (admin, filter) = (backend.admin().unwrap(), Filter::exactly(&claim.name));
    while admin.list(&filter, None).await.unwrap().records[0].waiters < Some(position) {
        assert!(!waiting.is_finished(), "it is held");
        tokio::task::yield_now().await;
    }
    waiting.abort();
    let _ = waiting.await;
}

/// Three readers, a writer and a fourth reader wait for a writer. All but the first, who is dead, ask once more, from behind.
async fn whichever_reader_asks_first_is_next(backend: Arc<dyn Backend>) {
    let (holder, writer, late) = (claim("front", TTL), claim("front", TTL), reader());
    let early = [reader(), reader(), reader()];
    take(&backend, &holder).await;
    for (waiter, position) in early.iter().chain([&writer, &late]).zip(1..) {
        stand(&backend, waiter, position).await;
    }
    backend.release(&holder, Leave::used(1)).await.unwrap();
    for (waiter, what) in [(&late, "the reader behind it"), (&writer, "the writer")] {
        demand(!gets(&backend, waiter).await, Kind::LostPlace, format!("{what} came later"));
    }
    for waiter in early[1..].iter().rev() {
        demand(gets(&backend, waiter).await, Kind::StuckWaiter, "readers wait for a reader");
    }
    demand(!gets(&backend, &reader()).await, Kind::LostPlace, "a newcomer passes a writer");
    demand(!gets(&backend, &late).await, Kind::LostPlace, "a reader passes a writer");
    for held in &early {
        backend.release(held, Leave::used(1)).await.unwrap();
    }
    demand(gets(&backend, &writer).await, Kind::StuckWaiter, "it is the writer's turn");
    demand(!gets(&backend, &late).await, Kind::Overlap, "the writer holds it");
    backend.release(&writer, Leave::used(1)).await.unwrap();
    demand(gets(&backend, &late).await, Kind::StuckWaiter, "the last one is alone");
}

#[cfg(feature = "mysql")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mariadbd"]
async fn whichever_reader_asks_first_is_next_on_mysql() {
    let server = cotter_testkit::servers::Mariadb::migrated();
    whichever_reader_asks_first_is_next(crate::mysql::setup::backend(&server.url("")).await).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn whichever_reader_asks_first_is_next_on_sqlite() {
    use cotter::backend::{Connect, Host};
    let dir = tempfile::tempdir().unwrap();
    let store = cotter::sqlite::Store::at(dir.path().join("locks.db"));
    cotter::Client::builder().migrate_store(store.clone()).await.unwrap();
    // Nobody loses a place to a busy machine.
    let clock = std::sync::Arc::new(cotter::ManualClock::new());
    let backend = store.connect(&Host::without_engine(clock)).await.unwrap();
    whichever_reader_asks_first_is_next(backend).await;
}
