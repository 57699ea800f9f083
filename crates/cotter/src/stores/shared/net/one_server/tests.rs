use super::{OTHERS, one_server};
use crate::{Error, ErrorKind, Result};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SOON: Duration = Duration::from_millis(10);
const NEVER: Duration = Duration::from_secs(3600);

/// What an address answers, after how long.
type Answer = (Duration, Result<(&'static str, Option<String>)>);

async fn found(answers: &[Answer]) -> Result<&'static str> {
    let addresses = (0..answers.len()).collect();
    one_server("name", addresses, |address: usize| {
        let (after, answer) = answers[address].clone();
        async move {
            sleep(after).await;
            answer
        }
    })
    .await
}

fn server(name: &'static str, identity: &str) -> Result<(&'static str, Option<String>)> {
    Ok((name, Some(identity.to_owned())))
}

fn replica() -> Result<(&'static str, Option<String>)> {
    Err(Error::new(ErrorKind::Unavailable, "this server is a replica"))
}

#[tokio::test(start_paused = true)]
async fn the_one_that_accepts_writes_is_found_wherever_it_stands() {
    for at in 0..3 {
        let answers: Vec<_> = (0..3)
            .map(|n| if n == at { (SOON * 3, server("master", "a")) } else { (SOON, replica()) })
            .collect();
        assert_eq!(found(&answers).await.unwrap(), "master");
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_accept_writes_are_an_error() {
    for slower in [SOON, SOON * 2, OTHERS] {
        let e = found(&[(SOON, server("one", "a")), (slower, server("other", "b"))]).await;
        let e = e.expect_err("violation[overlap]: each of the two servers grants the lock");
        assert!(e.to_string().contains("two different servers that accept writes, 0 and 1"), "{e}");
        assert!(e.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn one_server_with_two_addresses_is_no_error() {
    let answers = [(SOON, server("one", "a")), (SOON * 2, server("the same", "a"))];
    assert_eq!(found(&answers).await.unwrap(), "one");
    let nameless = [(SOON, Ok(("one", None))), (SOON * 2, server("other", "b"))];
    assert_eq!(found(&nameless).await.unwrap(), "one");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_leads_nowhere_holds_nobody_up_for_long() {
    let end = Instant::now() + SOON + OTHERS;
    assert_eq!(found(&[(NEVER, replica()), (SOON, server("one", "a"))]).await.unwrap(), "one");
    assert_eq!(Instant::now(), end);
}

#[tokio::test(start_paused = true)]
async fn what_has_to_be_mended_is_told_first() {
    let denied = Err(Error::new(ErrorKind::Denied, "wrong password"));
    let e = found(&[(SOON, replica()), (SOON, denied), (SOON, replica())]).await.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Denied);
    let e = found(&[(SOON, replica()), (SOON, replica())]).await.unwrap_err();
    assert_eq!(
        e.with_backend("redis").to_string(),
        "redis at 0, one of 2 addresses of name: unavailable: this server is a replica"
    );
    assert_eq!(found(&[]).await.unwrap_err().to_string(), "unavailable: name has no address");
}
