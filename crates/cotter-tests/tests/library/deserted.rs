//! Whoever leaves while its store cannot be reached, with less time than the outage takes: its place in the queue, or what the store
//! keeps of its lease, would outlast it.

use cotter::{Client, Lease};
use cotter_testkit::bare::client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Loss, Proxy};
use cotter_testkit::timing::happens;
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

/// An extension is carried out and its answer lost, as is everything that follows: the lock is given back all the same once its
/// server can be reached, although its holder could not rely on the longer lease.
pub(crate) async fn what_was_extended_unheard_is_given_back(
    direct: &str,
    through: (&Proxy, &str),
    extended: &[u8],
) {
    let (proxy, url) = through;
    let one = Client::builder().lease(Lease::fixed(SHORT * 4)).connect(url).await.unwrap();
    let other = client(direct, TTL).await;
    for released in [true, false] {
        let guard = one.mutex("a").lock().await.unwrap();
        proxy.lose_reply(extended, Loss::Cut);
        let answer = guard.extend(TTL).await;
        assert!(proxy.has_lost() && answer.is_err(), "{answer:?}");
        proxy.refuse(true);
        proxy.cut();
        match released {
            true => drop(guard),
            // It ends for its holder when the lease does that it knows of.
            false => drop(happens("it is told", guard.lost()).await),
        }
        sleep(SHORT * 8).await;
        proxy.refuse(false);
        let next = other.mutex("a").try_lock_for(SOON).await.unwrap();
        demand(next.is_some(), Kind::LeftBehind, format!("it is kept for {TTL:?}; released: {released}"));
        next.unwrap().finish().await.unwrap();
    }
}
