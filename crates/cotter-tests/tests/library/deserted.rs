//! A waiter that leaves while its store cannot be reached, with a lease that is shorter than the outage: its place in the queue
//! would outlast it, and be served once more.

use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Proxy;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const TTL: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);
/// The engine releases again at most this long after the end of an outage; a busy machine needs some more.
const SOON: Duration = Duration::from_secs(12);

/// `queued`: how many are in the queue of the name "a".
pub(crate) async fn leaves_the_queue_after_the_outage(
    direct: &str,
    through: (&Proxy, &str),
    queued: impl Fn() -> usize,
) {
    let (proxy, url) = through;
    let (holder, other) = (client(direct, TTL).await, client(url, SHORT).await);
    let guard = holder.mutex("a").lock().await.unwrap();
    for outage in [SHORT * 3, SHORT * 12] {
        let waiting = tokio::spawn(other.mutex("a").lock());
        until(|| queued() == 1).await;
        proxy.refuse(true);
        proxy.cut();
        waiting.abort();
        sleep(outage).await;
        demand(queued() == 1, Kind::LeftBehind, "its place is kept while it may come back".to_owned());
        proxy.refuse(false);
        until(|| queued() == 0).await;
        demand(
            queued() == 0,
            Kind::LeftBehind,
            format!("it left {outage:?} before the end, and keeps its place"),
        );
    }
    guard.finish().await.unwrap();
}

async fn until(there: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !there() && Instant::now() < end {
        sleep(Duration::from_millis(20)).await;
    }
}
