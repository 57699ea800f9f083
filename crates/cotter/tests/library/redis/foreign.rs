//! Keys of other programs where a lock has its own.

use super::setup::{backend, claim, client, crowd, take};
use cotter::backend::{Claim, Filter, Mode, Record};
use cotter::{ErrorKind, Name};
use cotter_testkit::servers::Redis;
use std::collections::BTreeMap;
use std::time::Duration;

const TTL: Duration = Duration::from_secs(20);

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
    for label in ["one", "two"] {
        let mut shared = Claim::new(Name::new("readers").unwrap(), Mode::Shared, TTL);
        shared.label = label.into();
        take(&backend, &shared).await;
    }
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
    assert!(client.list(Filter::held()).collect().await.unwrap().is_empty());
}
