//! Names of several masters.

use super::{PATIENT, TTL, connect};
use crate::redis::setup::{USED, backend, claim, queued, take};
use cotter::backend::{Extension, Filter, Release};
use cotter::{Client, Eviction, Name};
use cotter_testkit::servers::{Redis, RedisCluster};
use cotter_testkit::timing::{eventually, happens};
use std::collections::BTreeSet;

/// Enough for several pages on each master.
const MANY: usize = 40;

async fn listed(client: &Client) -> BTreeSet<String> {
    let records = client.admin().list(Filter::held()).collect().await.unwrap();
    records.into_iter().map(|record| record.name.to_string()).collect()
}

/// Names with braces too, and as long as a name may be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn locks_of_all_masters_are_listed_renewed_and_evicted() {
    let cluster = RedisCluster::start(PATIENT);
    let client = connect(&cluster, TTL, "").await;
    let mut names: Vec<String> = (0..MANY).map(|number| format!("name {number}")).collect();
    names.extend(["{", "}", "{}", "}a{b}", "a{b}c{d}", "{a", "%7B"].map(str::to_owned));
    names.extend(["{", "}", "\u{1F512}"].map(|sign| sign.repeat(Name::MAX_BYTES / sign.len())));
    let mut held = Vec::new();
    for name in &names {
        held.push(client.mutex(name).lock().await.unwrap());
    }
    for master in &cluster.nodes[..3] {
        assert_ne!(master.command(&["DBSIZE"]), "0", "each master has some of the names");
    }
    assert_eq!(listed(&client).await, names.iter().cloned().collect());
    for name in &names {
        let holder = client.holder(name).await.unwrap().expect("it is held");
        assert_eq!(holder.holders.len(), 1, "{name}");
    }
    assert!(matches!(client.admin().evict(&names[0]).await.unwrap(), Eviction::Evicted { .. }));
    for guard in held {
        let _ = guard.finish().await;
    }
    assert_eq!(listed(&client).await, BTreeSet::new());
}

/// One call renews locks of all slots, in the order of the grants, with a script for each slot.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn locks_of_all_masters_are_renewed_with_one_call() {
    let cluster = RedisCluster::start(PATIENT);
    for mode in ["", "mode=plain", "mode=getset"] {
        let backend = backend(&cluster.url(mode)).await;
        let claims: Vec<_> = (0..MANY).map(|number| claim(&format!("{mode} {number}"), TTL)).collect();
        let mut grants = Vec::new();
        for claim in &claims {
            grants.push(take(&backend, claim).await);
        }
        assert_eq!(backend.release(&claims[1], USED).await.unwrap(), Release::Freed, "{mode}");
        let masters = &cluster.nodes[..3];
        masters.iter().for_each(|master| _ = master.command(&["CONFIG", "RESETSTAT"]));
        let answers = backend.extend(&grants.iter().collect::<Vec<_>>(), 2 * TTL).await;
        assert_eq!(answers.len(), MANY);
        let slots: BTreeSet<_> = claims.iter().map(|claim| cluster.slot(&claim.name)).collect();
        let scripts: usize = masters.iter().map(Redis::scripts).sum();
        // In native mode, what is lost takes another one.
        assert!((slots.len()..=slots.len() + 1).contains(&scripts), "{mode}: {scripts} for {}", slots.len());
        for (number, answer) in answers.iter().enumerate() {
            match answer {
                Ok(Extension::Extended { ttl: Some(ttl), .. }) => {
                    assert!(number != 1 && *ttl > TTL, "{number}")
                }
                Ok(Extension::Lost(_)) => assert_eq!(number, 1, "{mode}"),
                other => panic!("{mode} {number}: {other:?}"),
            }
        }
    }
}

/// The channel of a note is heard on every node; the note is on one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_note_is_seen_after_its_slot_has_moved() {
    let cluster = RedisCluster::start(PATIENT);
    let (one, other) = (connect(&cluster, TTL, "").await, connect(&cluster, TTL, "").await);
    let first = one.swap_note("a", "k", 0, "1").await.unwrap().expect("there was none");
    let changed = tokio::spawn(async move { other.note_changed("a", "k", first, 10 * TTL).await });
    let slot = cluster.slot("a");
    let from = cluster.master_of(slot, 0);
    cluster.move_slot(slot, from, (from + 1) % 3);
    assert!(one.swap_note("a", "k", first, "2").await.unwrap().is_some(), "it came along");
    let seen = happens("it is seen", changed).await.unwrap().unwrap();
    assert_eq!(seen.expect("it changed").bytes, b"2");
}

/// A client that listens on one master is not reached by what another one hands over, and has to listen there too. A place without
/// a channel is right as well: whoever is slow to subscribe asks again instead.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs redis-server"]
async fn a_waiter_listens_to_the_master_of_its_name() {
    let cluster = RedisCluster::start(PATIENT);
    let (one, other) = (connect(&cluster, TTL, "").await, connect(&cluster, TTL, "").await);
    // Of three slots on three masters.
    for name in ["a", "b", "e"] {
        let held = one.mutex(name).lock().await.unwrap();
        let waiting = tokio::spawn(other.mutex(name).lock());
        let master = &cluster.nodes[cluster.master_of(cluster.slot(name), 0)];
        eventually("it waits", || queued(master, name) == 1).await;
        let place = master.command(&["HVALS", &format!("cotter:{{{name}}}:w")]);
        let channel = place.split_whitespace().find(|word| word.contains("cotter:wake:"));
        let heard =
            channel.is_none_or(|channel| !master.command(&["PUBSUB", "CHANNELS", channel]).is_empty());
        assert!(heard, "violation[slow-hand-over]: nobody listens at the master of {name}: {place}");
        held.finish().await.unwrap();
        happens("it is served", waiting).await.unwrap().unwrap().finish().await.unwrap();
    }
}
