//! What callers are told when the lock cannot be had: without a database, and without waiting.

use super::*;
use axum::body::Body;
use axum::http::Request;
use cotter::memory::{Faults, Store};
use tower::ServiceExt;

/// Locks in memory, on the time of the test.
async fn client(store: &Store) -> Client {
    let builder = Client::builder().in_this_runtime().give_up(Duration::from_secs(2));
    builder.connect_to(store.clone()).await.expect("a store in memory")
}

async fn pay(locks: Client) -> Response {
    let db = PgPool::connect_lazy("postgres://localhost/nowhere").expect("a URL");
    let request = Request::post("/orders/7/pay").body(Body::empty()).expect("a request");
    router(db, locks).oneshot(request).await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn an_order_that_another_replica_pays_is_a_conflict() {
    let store = Store::new();
    let guard = client(&store).await.mutex("order:7").lock().await.expect("it is free");
    assert_eq!(pay(client(&store).await).await.status(), StatusCode::CONFLICT);
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_is_told_to_try_again() {
    let faults = Faults::new();
    let locks = client(&Store::with_faults(&faults)).await;
    faults.set_down(true);
    let answer = pay(locks).await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.headers().contains_key(header::RETRY_AFTER));
}
