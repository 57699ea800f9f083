//! Taking a lock away at all members.

use super::setup::{Members, PREFIX, acquire, attempt, release};
use cotter::backend::{Backend, EvictOrder, Filter, Grant};
use cotter::{Eviction, Name};
use cotter_testkit::bare::claim;
use std::sync::Arc;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
/// Longer than any test takes.
const TTL: Duration = Duration::from_secs(600);

/// What a member has of the name; nothing if it has never seen it.
fn state(members: &Members, member: usize) -> String {
    members.servers[member].command(&["GET", &format!("{PREFIX}:{{a}}")])
}

/// The first token of the holder that a member has.
fn token(members: &Members, member: usize) -> u64 {
    state(members, member)[38..54].parse().unwrap()
}

/// Holds the name once, so that each member knows it. Two of them are enough for a grant, and the third may have seen nothing.
async fn known_to_all(members: &Members, client: &Arc<dyn Backend>) {
    for _ in 0..100 {
        release(client, &acquire(client, "a").await).await;
        if (0..3).all(|member| !state(members, member).is_empty()) {
            return;
        }
    }
    panic!("a member sees nothing");
}

/// A grant for which the last member counts less. Whether it is raised depends on whose votes come first.
async fn granted_with_one_behind(members: &Members, client: &Arc<dyn Backend>) -> Grant {
    let last = (0..3).map(|member| token(members, member)).max().unwrap();
    for _ in 0..100 {
        for (member, last) in [(0, last), (1, last), (2, last - 10)] {
            counts_from(members, member, last);
        }
        let grant = attempt(client, &claim("a", TTL)).await.unwrap().expect("it is free");
        if members.holds(2, "a") && token(members, 2) < grant.number {
            return grant;
        }
        release(client, &grant).await;
    }
    panic!("it is raised each time");
}

/// A member that has missed grants counts less than the others. Nobody needs its counter, so it is not raised.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_holder_is_evicted_under_its_token_wherever_it_has_another() {
    let members = Members::voting(3, HOUR, Duration::from_secs(5));
    let client = members.client().await.unwrap();
    known_to_all(&members, &client).await;
    let grant = granted_with_one_behind(&members, &client).await;
    let (admin, name) = (client.admin().unwrap(), Name::new("a").unwrap());
    let page = admin.list(&Filter::exactly(&name), None).await.unwrap();
    assert_eq!(page.records[0].holders[0].token, grant.number.into());
    let order = EvictOrder::new().only(grant.number.into()).at_once();
    let evicted = admin.evict(&name, order).await.unwrap();
    assert_eq!(evicted, Eviction::Evicted { token: grant.number.into() });
    for member in 0..3 {
        assert!(!members.holds(member, "a"), "member {member} keeps it");
    }
}

/// Changes the last token that a member has given, of a name that is free.
fn counts_from(members: &Members, member: usize, last: u64) {
    let (state, key) = (state(members, member), format!("{PREFIX}:{{a}}"));
    let changed = format!("{}{last:016}{}", &state[..38], &state[54..]);
    members.servers[member].command(&["SET", &key, &changed]);
}
