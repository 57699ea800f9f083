//! A store that does not answer, or is down.

use cotter::{Client, Error, ErrorKind, Name, Result, memory};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use std::time::Duration;

async fn client(faults: &Faults) -> Client {
    Client::builder().connect_to(Faulty::new(memory::Store::new(), faults)).await.unwrap()
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
    let (faults, within) = (Faults::seeded(0), Duration::from_millis(10));
    let client = client(&faults).await;
    faults.block(Call::Note);
    says_which(&soon(client.latch("a").wait_for(within)).await);
    says_which(&soon(client.note_changed("a", "key", 0, within)).await);
}

#[tokio::test]
async fn an_error_names_the_lock_that_it_is_about() {
    let faults = Faults::seeded(0);
    let client = client(&faults).await;
    let writer = client.rwlock("a").write().await.unwrap();
    faults.set(Plan { down: true, ..Plan::default() });
    says_which(&soon(writer.downgrade()).await);
    says_which(&soon(client.holder("a")).await);
    says_which(&soon(client.admin().evict("a")).await);
    says_which(&soon(client.semaphore("a", 1).set_limit(2)).await);
}
