//! Futures that are polled once and then kept: nobody waits for them, and nothing is left behind.

use cotter::{Client, ErrorKind, Lease, Owner, Released, Result};
use cotter_testkit::servers::Redis;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::time::timeout;

const TTL: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_secs(10);

async fn client(server: &Redis) -> Client {
    Client::builder().lease(Lease::renewed(TTL)).connect(server.url("")).await.unwrap()
}

/// Polls once, and no more. The server stands still meanwhile, or its answer could be there already.
fn begin<F: Future>(server: &Redis, future: Pin<&mut F>) {
    server.stop();
    let is_pending = future.poll(&mut Context::from_waker(Waker::noop())).is_pending();
    server.go_on();
    assert!(is_pending, "it takes a round trip");
}

async fn soon<T>(future: impl Future<Output = Result<T>>) -> T {
    timeout(SOON, future).await.expect("it waits for a future that nobody polls").unwrap()
}

/// As in a `select!` loop, whose other branch tries the same lock.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_try_waits_for_no_attempt_and_no_release() {
    let server = Redis::start();
    let client = client(&server).await;
    let mut attempt = pin!(client.mutex("a").lock());
    begin(&server, attempt.as_mut());
    assert!(soon(client.mutex("a").try_lock()).await.is_none(), "the other one was first");
    let mut release = pin!(soon(attempt).await.release());
    begin(&server, release.as_mut());
    let guard = soon(client.mutex("a").try_lock()).await;
    guard.expect("the server has freed it").finish().await.unwrap();
    assert_eq!(soon(release).await, Released::Yes);
}

/// The task has its answer, and has not looked at it yet.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_is_granted_while_the_client_is_closed_is_given_back() {
    let server = Redis::start();
    let (closed, other) = (client(&server).await, client(&server).await);
    let mut attempt = pin!(closed.mutex("a").lock());
    begin(&server, attempt.as_mut());
    let until_held = async |held: bool| {
        while other.holder("a").await.unwrap().is_some() != held {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(SOON, until_held(true)).await.expect("it is granted");
    closed.close(Duration::from_millis(50)).await.unwrap();
    if let Ok(guard) = attempt.await {
        assert!(!guard.is_valid(), "nobody renews it");
    }
    timeout(SOON, until_held(false)).await.expect("it stays locked until its lease ends");
}

/// They end as the last guard does: nobody is inside when the lock passes on.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn nobody_re_enters_a_lock_that_passes_on() {
    let server = Redis::start();
    let (client, me) = (client(&server).await, Owner::new());
    let mut downgrade = pin!(client.rwlock("a").owner(&me).write().await.unwrap().downgrade());
    begin(&server, downgrade.as_mut());
    assert!(client.mutex("a").owner(&me).try_lock().await.unwrap().is_none(), "it is becoming a reader");
    soon(downgrade).await.finish().await.unwrap();
    let mut ticket = pin!(client.mutex("b").owner(&me).lock().await.unwrap().into_ticket(TTL));
    begin(&server, ticket.as_mut());
    assert!(client.mutex("b").owner(&me).try_lock().await.unwrap().is_none(), "it is becoming a ticket");
    client.resume(&soon(ticket).await).await.unwrap().finish().await.unwrap();
    let twice = [
        client.mutex("c").owner(&me).lock().await.unwrap(),
        client.mutex("c").owner(&me).lock().await.unwrap(),
    ];
    let [outer, inner] = twice;
    assert_eq!(inner.into_ticket(TTL).await.unwrap_err().kind(), ErrorKind::Misuse);
    outer.finish().await.unwrap();
}
