//! How often members have to be asked until they agree on a token.

use super::setup::{Members, PREFIX, TTL, acquire, release};
use cotter::backend::{Backend, Claim, Connect, Grant, Host, Leave};
use cotter::{Mode, memory, redis};
use cotter_testkit::bare::{claim, clock, enlist};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3600);

/// The scripts that a member has run.
fn scripts(members: &Members, member: usize) -> usize {
    let stats = members.servers[member].command(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let calls = line.and_then(|line| line.split(',').next()).expect("it has run some");
    calls.parse().unwrap()
}

/// One vote and one release: counters of new names begin at the same number.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_new_name_costs_one_round_trip() {
    const NAMES: usize = 100;
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    let before: Vec<_> = (0..3).map(|member| scripts(&members, member)).collect();
    for number in 0..NAMES {
        release(&client, &acquire(&client, &format!("new {number}")).await).await;
    }
    for (member, before) in before.into_iter().enumerate() {
        let run = scripts(&members, member) - before;
        // Names that are new just when a second ends are the exception.
        assert!(run <= 2 * NAMES + NAMES / 5, "member {member} ran {run} scripts for {NAMES} names");
    }
    let state = members.servers[0].command(&["GET", &format!("{PREFIX}:{{new 0}}")]);
    assert_eq!(state.get(48..54), Some("000000"), "it began at a full second: {state}");
}

fn reader() -> Claim {
    let mut claim = claim("a", TTL);
    claim.mode = Mode::Shared;
    claim
}

async fn take(member: &Arc<dyn Backend>, claim: &Claim) -> Grant {
    let vote = member.member().expect("it is one").take(claim, 0).await.unwrap();
    vote.granted().expect("there is room")
}

/// Two readers ask at the same time. The first one is raised to the number that the second one has, who fails elsewhere and
/// gives its number back: before the first one is released, or after that.
async fn a_number_that_one_reader_was_raised_to_is_not_given_back(member: Arc<dyn Backend>) {
    for first_leaves_first in [false, true] {
        let (first, second) = (take(&member, &reader()).await, take(&member, &reader()).await);
        let votes = member.member().expect("it is one");
        let raised = votes.raise(&first, second.number).await.unwrap().expect("it is held");
        assert!(raised.number >= second.number);
        let mut leaving = [(&second, 0), (&raised, 1)];
        if first_leaves_first {
            leaving.reverse();
        }
        for (grant, used) in leaving {
            assert!(member.release(&grant.claim, Leave::used(used)).await.is_ok());
        }
        let writer = take(&member, &claim("a", TTL)).await;
        let text = format!("{} after {}", writer.number, raised.number);
        demand(writer.number > raised.number, Kind::RepeatedToken, text);
        assert!(member.release(&writer.claim, Leave::used(1)).await.is_ok());
    }
}

#[tokio::test]
async fn memory_gives_back_no_number_of_another_reader() {
    let store = memory::Store::new();
    let member = store.connect(&Host::without_engine(clock())).await.unwrap();
    a_number_that_one_reader_was_raised_to_is_not_given_back(member).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn redis_gives_back_no_number_of_another_reader() {
    let server = Redis::start();
    enlist(&server, PREFIX, HOUR.as_secs());
    let store = redis::Store::from_url(server.url(&format!("prefix={PREFIX}"))).unwrap().with_votes(HOUR);
    let member = store.connect(&Host::without_engine(clock())).await.unwrap();
    a_number_that_one_reader_was_raised_to_is_not_given_back(member).await;
}
