//! A semaphore whose limit is changed by a process with tasks that wait, while the answer to that takes its time.

use cotter::{Client, memory};
use cotter_testkit::faulty::{Call, Faults, Faulty};
use std::time::Duration;

#[tokio::test]
async fn a_task_that_is_refused_before_the_change_is_answered_goes_on_under_the_new_limit() {
    let faults = Faults::seeded(0);
    let store = Faulty::new(memory::Store::new(), &faults);
    let client = Client::builder().connect_to(store).await.unwrap();
    let ours = client.semaphore("a", 1);
    let held = ours.acquire().await.unwrap();
    let (mut first, mut second) = (ours.acquire(), ours.acquire());
    for op in [&mut first, &mut second] {
        assert!(tokio::time::timeout(Duration::ZERO, op).await.is_err(), "it waits");
    }
    // One of them stands in the store's queue, where the new limit finds it. On its way there it would be refused.
    while client.holder("a").await.unwrap().and_then(|record| record.waiters) != Some(1) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    faults.hold_answers(Call::Change);
    let change = tokio::spawn(ours.set_limit(3));
    let before = faults.calls(Call::Acquire);
    let first = first.await.expect("the store has raised the limit");
    // The second one asks with the old limit, and is refused.
    while faults.calls(Call::Acquire) == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    faults.open();
    change.await.unwrap().unwrap();
    let second = second.await.expect("it waited before the change");
    drop((held, first, second));
}
