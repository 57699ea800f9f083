//! What a callback may do, and what comes of it.

use super::*;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::time::sleep;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

/// An error with a cause, as clients for HTTP have them.
#[derive(Debug)]
struct Refused(io::Error);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the vault is\nsealed")
    }
}

impl StdError for Refused {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

async fn error(callback: &Callback) -> String {
    let error = callback.ask(SHORT, "hunter2").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.is_retryable(), "{error:?}");
    assert!(
        !format!("{error} {error:?}").contains("hunter2") && !error.to_string().contains('\n'),
        "{error:?}"
    );
    error.to_string()
}

#[tokio::test]
async fn it_may_wait_block_and_start_tasks() {
    let callback = Callback::new(async || {
        sleep(Duration::from_millis(1)).await;
        std::thread::sleep(Duration::from_millis(1));
        let task = tokio::spawn(async { "secret".to_owned() });
        task.await
    });
    for _ in 0..3 {
        assert_eq!(callback.ask(LONG, "").await.unwrap(), "secret");
    }
    assert!(!callback.is_awaited());
}

#[tokio::test]
async fn what_goes_wrong_is_told_without_the_password() {
    let refused = || Refused(io::Error::other("token hunter2 has expired"));
    let fails = Callback::new(async move || Err::<String, _>(refused()));
    let said = error(&fails).await;
    assert!(said.contains("with_password_from has failed: the vault is sealed: token *** has"), "{said}");
    let empty = Callback::new(async || Ok::<_, Error>(String::new()));
    assert!(error(&empty).await.contains("has returned an empty password"));
    let panics = Callback::new(async || -> Result<String> { panic!("hunter2") });
    assert!(error(&panics).await.contains("panicked"));
    let long = Callback::new(async || Err::<String, _>("x".repeat(10_000)));
    assert!(error(&long).await.len() < 1_000);
}

/// The future of one that takes too long is dropped.
#[tokio::test]
async fn whoever_is_late_is_not_waited_for() {
    struct Told(Arc<AtomicBool>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let told = dropped.clone();
    let hangs = Callback::new(async move || {
        let _told = Told(told.clone());
        std::future::pending::<Result<String>>().await
    });
    assert!(error(&hangs).await.contains("has not answered within 200ms"));
    while !dropped.load(Ordering::Acquire) {
        sleep(Duration::from_millis(1)).await;
    }
}

/// Those that never return are no more than so many; others are asked as soon as one of them does.
#[tokio::test]
async fn calls_that_do_not_return_are_limited() {
    let (stuck, entered) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let (theirs, count) = (stuck.clone(), entered.clone());
    let blocks = Callback::new(async move || {
        count.fetch_add(1, Ordering::AcqRel);
        while theirs.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok::<_, Error>("secret".to_owned())
    });
    for _ in 0..CALLS + 2 {
        let asked = blocks.ask(Duration::from_millis(20), "").await;
        assert!(asked.unwrap_err().to_string().contains("has not answered"));
    }
    assert!(entered.load(Ordering::Acquire) <= CALLS);
    stuck.store(false, Ordering::Release);
    assert_eq!(blocks.ask(LONG, "").await.unwrap(), "secret");
}
