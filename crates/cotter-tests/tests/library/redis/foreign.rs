//! Keys of other programs where a lock has its own.

use super::setup::{backend, claim, client, crowd, take};
use cotter::backend::{Backend, Claim, Extension, Filter, Grant, Mode, Record};
use cotter::{Error, ErrorKind, Name};
use cotter_testkit::servers::{Redis, acl_rule};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

/// Two readers of one name, which has all keys of a shared name then.
async fn two_readers(backend: &Arc<dyn Backend>) -> [Grant; 2] {
    let reader = || Claim::new(Name::new("readers").unwrap(), Mode::Shared, TTL);
    [take(backend, &reader()).await, take(backend, &reader()).await]
}

/// An operator looks for what is wrong: one name must not hide all others.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_name_with_a_foreign_key_is_listed_among_the_others_and_named() {
    let server = Redis::start();
    let backend = backend(&server.url("")).await;
    for name in ["good", "queue"] {
        take(&backend, &claim(name, TTL)).await;
        crowd(&server, name, 2, Duration::ZERO, TTL);
    }
    two_readers(&backend).await;
    server.command(&["SET", "cotter:{queue}:q", "theirs"]);
    server.command(&["SET", "cotter:{readers}:r", "theirs"]);
    let page = backend.admin().unwrap().list(&Filter::held(), None).await.unwrap();
    let records: BTreeMap<&str, &Record> = page.records.iter().map(|r| (r.name.as_str(), r)).collect();
    assert_eq!(records.len(), 3, "{records:?}");
    let good = records["good"];
    assert!(good.waiters == Some(2) && good.problem.is_none(), "{good:?}");
    let queue = records["queue"];
    assert!(queue.waiters.is_none() && queue.holders.len() == 1, "what is known is shown: {queue:?}");
    for name in ["queue", "readers"] {
        let why = records[name].problem.as_deref().expect("it is named");
        assert!(why.contains("WRONGTYPE"), "{why}");
        let asked = backend.admin().unwrap().list(&Filter::exactly(&Name::new(name).unwrap()), None).await;
        let error = asked.unwrap_err();
        assert!(error.kind() == ErrorKind::ForeignKey && error.to_string().contains(name), "{error}");
    }
}

/// Whoever wants to lock it is told so; whoever looks must not be told that it is free.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_foreign_key_is_not_shown_as_a_free_lock() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    server.command(&["SET", "cotter:{text}", "theirs"]);
    server.command(&["LPUSH", "cotter:{list}", "theirs"]);
    for name in ["text", "list"] {
        for error in
            [client.mutex(name).try_lock().await.unwrap_err(), client.holder(name).await.unwrap_err()]
        {
            assert!(error.kind() == ErrorKind::ForeignKey && error.to_string().contains(name), "{error}");
        }
    }
    assert!(client.admin().list(Filter::held()).collect().await.unwrap().is_empty());
}

/// Whoever looks only at the lock's own key finds nothing wrong with it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn the_error_names_the_foreign_key() {
    let server = Redis::start();
    let (backend, client) = (backend(&server.url("")).await, client(&server.url(""), TTL).await);
    two_readers(&backend).await;
    crowd(&server, "waiters", 2, Duration::ZERO, TTL);
    for key in ["text", "queue}:q", "waiters}:w", "readers}:r", "readers}:h"] {
        let (name, key) = (key.split('}').next().unwrap(), format!("cotter:{{{}", key));
        let key = if key.contains('}') { key } else { key + "}" };
        server.command(&["SET", &key, "theirs"]);
        let error = client.rwlock(name).try_write().await.unwrap_err();
        assert!(error.kind() == ErrorKind::ForeignKey && error.to_string().contains(&key), "{key}: {error}");
        server.command(&["DEL", &key]);
    }
}

/// The type is right, so only a script that computes with the value finds out.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_foreign_value_of_the_right_type_is_named() {
    let server = Redis::start();
    let client = client(&server.url(""), TTL).await;
    server.command(&["ZADD", "cotter:{queue}:q", "1", "theirs"]);
    let error = client.mutex("queue").try_lock().await.unwrap_err();
    assert!(error.kind() == ErrorKind::ForeignKey && error.to_string().contains("cotter:{queue}"), "{error}");
}

/// Grants are extended together. What is wrong with one name must not end the leases of the others.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_name_that_cannot_be_extended_costs_no_other_its_lease() {
    let server = Redis::start();
    let backend = backend(&server.url("")).await;
    let [one, two] = two_readers(&backend).await;
    let (good, forbidden) =
        (take(&backend, &claim("good", TTL)).await, take(&backend, &claim("forbidden", TTL)).await);
    let refused = async |kind: ErrorKind, bad: &Grant| {
        let answers = backend.extend(&[&one, bad, &good], TTL * 2).await;
        let error: &Error = answers[1].as_ref().expect_err("it cannot be extended");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(matches!(answers[2], Ok(Extension::Extended { ttl: Some(_), .. })), "{answers:?}");
        answers.into_iter().next().unwrap()
    };
    server.command(&["SET", "cotter:{readers}:h", "theirs"]);
    let first = refused(ErrorKind::ForeignKey, &two).await;
    assert_eq!(first.unwrap_err().kind(), ErrorKind::ForeignKey, "it has the same name");
    server.command(&["DEL", "cotter:{readers}:h"]);
    let user = acl_rule("native")[2];
    let keys = ["ACL", "SETUSER", user, "resetkeys", "~cotter:{good}*", "~cotter:{readers}*"];
    assert_eq!(server.command(&keys), "OK");
    let _ = refused(ErrorKind::Denied, &forbidden).await;
}
