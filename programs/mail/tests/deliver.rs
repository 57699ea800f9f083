//! What a worker does when time passes, locks are lost and the store goes down: in memory, and in no time.

use cotter::memory::{Faults, Store};
use cotter::{Client, ErrorKind, LossCause, Name};
use mail::deliver;
use std::time::Duration;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_secs(3600);

/// As another process would have it: on the same store, and on the time of the test.
async fn client(store: &Store) -> Client {
    let builder = Client::builder().in_this_runtime();
    builder.connect_to(store.clone()).await.expect("a store in memory")
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_takes_an_hour_is_sent_under_one_lock() {
    let store = Store::new();
    let (one, other) = (client(&store).await, client(&store).await);
    let long = tokio::spawn(async move { deliver(&one, "7", async |_| sleep(HOUR).await).await });
    sleep(HOUR / 2).await;
    let sent = deliver(&other, "7", async |_| unreachable!("somebody writes to them")).await;
    assert!(!sent.expect("the store answers"));
    assert!(deliver(&other, "8", async |_| {}).await.expect("the store answers"));
    assert!(long.await.expect("no panic").expect("it was renewed all the time"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_stops_where_it_is_when_the_store_has_lost_its_data() {
    let store = Store::new();
    let locks = client(&store).await;
    let sending = tokio::spawn(async move { deliver(&locks, "7", async |_| sleep(HOUR).await).await });
    sleep(Duration::from_secs(1)).await;
    store.forget(&Name::new("customer:7").expect("a good name"));
    let error = sending.await.expect("no panic").expect_err("others may write now");
    assert_eq!(error.lost().expect("it says why").cause, LossCause::Gone);
}

#[tokio::test(start_paused = true)]
async fn an_outage_that_is_shorter_than_the_lease_costs_nothing() {
    let faults = Faults::new();
    let locks = client(&Store::with_faults(&faults)).await;
    let sending = tokio::spawn(async move { deliver(&locks, "7", async |_| sleep(HOUR).await).await });
    sleep(Duration::from_secs(60)).await;
    faults.set_down(true);
    sleep(Duration::from_secs(15)).await;
    faults.set_down(false);
    assert!(sending.await.expect("no panic").expect("it was renewed in time"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_store_is_down() {
    let faults = Faults::new();
    let locks = client(&Store::with_faults(&faults)).await;
    faults.set_down(true);
    let error = deliver(&locks, "7", async |_| unreachable!("it has no lock")).await;
    assert_eq!(error.expect_err("it is down").kind(), ErrorKind::Unavailable);
    faults.set_down(false);
    assert!(deliver(&locks, "7", async |_| {}).await.expect("it is back"));
}
