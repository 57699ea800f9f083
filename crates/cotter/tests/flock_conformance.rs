//! The lock of flock(1) against the contract: all of it but what one lock for all names and a race of waiters cannot be.

use cotter::conformance::{CASES, Fixture, run};
use cotter::{Client, ErrorKind, Filter, LossCause, Name, Released, file};
use std::thread;
use tempfile::TempDir;

/// One path is one lock, so names are not apart; and nobody stands in a queue.
const OTHERWISE: &[&str] = &[
    "other_names_are_independent",
    "hostile_names_are_distinct",
    "names_that_begin_alike_are_independent",
    "long_names_that_differ_late_are_distinct",
    "order_of_arrival",
    "newcomer_does_not_pass_a_waiter",
];

fn store(place: &TempDir) -> file::Flock {
    file::Flock::at(place.path().join("lock")).tokens_in(place.path().join("tokens"))
}

fn place() -> TempDir {
    tempfile::tempdir().expect("a private place")
}

#[test]
fn every_case_but_those_of_names_and_of_order() {
    let known = |case: &&str| CASES.contains(case);
    assert!(OTHERWISE.iter().all(known), "a case has another name now");
    let here = CASES.iter().filter(|case| !OTHERWISE.contains(case));
    let running: Vec<_> = here
        .map(|case| {
            let place = place();
            let path = place.path().join("lock");
            let remove = move |_: &Name| std::fs::remove_file(&path).expect("it stands there");
            let fixture = move || Fixture::keeping(store(&place), place).removing(remove);
            (case, thread::spawn(move || run(case, fixture())))
        })
        .collect();
    assert!(running.len() > 40);
    let failed: Vec<_> =
        running.into_iter().filter_map(|(case, thread)| thread.join().is_err().then_some(case)).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test]
async fn all_names_are_one_lock() {
    let place = place();
    let client = Client::builder().backend(store(&place)).connect().await.unwrap();
    let other = Client::builder().backend(store(&place)).connect().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    assert!(other.mutex("b").try_lock().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { other.mutex("b").lock().await });
    let before = guard.token();
    guard.release().await.unwrap();
    assert!(waiting.await.unwrap().unwrap().token() > before);
}

/// What others lock from now on is another file.
#[tokio::test]
async fn a_deleted_file_is_noticed_by_the_release() {
    let place = place();
    let client = Client::builder().backend(store(&place)).connect().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let signal = guard.lost();
    std::fs::remove_file(place.path().join("lock")).unwrap();
    assert_eq!(guard.release().await.unwrap(), Released::AlreadyLost);
    assert_eq!(signal.await.cause, LossCause::Gone);
    let guard = client.mutex("a").lock().await.unwrap();
    std::fs::remove_file(place.path().join("lock")).unwrap();
    assert_eq!(guard.leave_for(std::time::Duration::from_secs(60)).await.unwrap(), Released::AlreadyLost);
}

#[tokio::test]
async fn notes_and_lists_are_refused_as_unsupported() {
    let place = place();
    let client = Client::builder().backend(store(&place)).connect().await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    let refused = [
        client.note("a").await.map(drop),
        guard.put_note(b"x".to_vec()).await.map(drop),
        client.list(Filter::prefix("")).next().await.map(drop),
        client.evict("a").await.map(drop),
    ];
    for (n, answer) in refused.into_iter().enumerate() {
        let error = answer.expect_err(&format!("the {n}th is refused"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{n}: {error}");
    }
}
