//! How often members have to be asked until they agree on a token.

use super::setup::{Members, PREFIX, TTL, acquire, attempt, release};
use cotter::backend::{Backend, Claim, Connect, EvictOrder, Grant, Host, Leave};
use cotter::{Mode, memory, redis};
use cotter_testkit::bare::{claim, clock, enlist};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::collections::HashSet;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const TIMEOUT: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3600);

/// One vote and one release: counters of new names begin at the same number.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_new_name_costs_one_round_trip() {
    const NAMES: usize = 100;
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    let before: Vec<_> = (0..3).map(|member| members.servers[member].scripts()).collect();
    for number in 0..NAMES {
        release(&client, &acquire(&client, &format!("new {number}")).await).await;
    }
    for (member, before) in before.into_iter().enumerate() {
        let run = members.servers[member].scripts() - before;
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

/// Two readers ask at the same time, and the first one is to get the number that the second one has. It gets one of its own, which
/// is not given back when the second one fails elsewhere and leaves: before the first one is released, or after that.
async fn a_number_is_given_to_one_reader(member: Arc<dyn Backend>) {
    for first_leaves_first in [false, true] {
        let (first, second) = (take(&member, &reader()).await, take(&member, &reader()).await);
        let votes = member.member().expect("it is one");
        let raised = votes.raise(&first, second.number).await.unwrap().expect("it is held");
        let text = format!("{} was given to two readers", raised.number);
        demand(raised.number > second.number, Kind::RepeatedToken, text);
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
    a_number_that_a_reader_has_had_is_given_to_nobody(member).await;
}

async fn a_number_that_a_reader_has_had_is_given_to_nobody(member: Arc<dyn Backend>) {
    let votes = member.member().expect("it is one");
    let (first, second) = (take(&member, &reader()).await, take(&member, &reader()).await);
    assert!(member.release(&second.claim, Leave::used(1)).await.is_ok());
    let raised = votes.raise(&first, second.number).await.unwrap().expect("it is held");
    let text = format!("{} was given to a reader after another one", raised.number);
    demand(raised.number > second.number, Kind::RepeatedToken, text);
    // What nobody has had is given as it is asked for, also to who comes back.
    let third = take(&member, &reader()).await;
    let wanted = third.number + 5;
    for _ in 0..2 {
        let raised = votes.raise(&first, wanted).await.unwrap().expect("it is held");
        assert_eq!(raised.number, wanted);
    }
    let order = EvictOrder::new();
    let _ = member.admin().expect("it has names").evict(&first.claim.name, order).await.unwrap();
    let pardoned = votes.raise(&third, wanted + 5).await.unwrap();
    demand(pardoned.is_none(), Kind::UsedAfterLoss, "an evicted reader was raised");
}

async fn memory() -> Arc<dyn Backend> {
    memory::Store::new().connect(&Host::without_engine(clock())).await.unwrap()
}

async fn redis(server: &Redis) -> Arc<dyn Backend> {
    enlist(server, PREFIX, HOUR.as_secs());
    let store = redis::Store::from_url(server.url(&format!("prefix={PREFIX}"))).unwrap().with_votes(HOUR);
    store.connect(&Host::without_engine(clock())).await.unwrap()
}

#[tokio::test]
async fn memory_gives_a_number_to_one_reader() {
    a_number_is_given_to_one_reader(memory().await).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn redis_gives_a_number_to_one_reader() {
    let server = Redis::start();
    a_number_is_given_to_one_reader(redis(&server).await).await;
}

/// Six clients whose requests arrive at each member in another order.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn readers_that_ask_at_once_share_no_token() {
    const READS: usize = 300;
    let members = Members::voting(3, HOUR, Duration::from_secs(2));
    let (mut readers, before) = (JoinSet::new(), members.servers[0].scripts());
    for _ in 0..6 {
        let client = members.client().await.unwrap();
        readers.spawn(async move {
            let mut reads = Vec::new();
            for _ in 0..READS {
                let start = Instant::now();
                let grant = attempt(&client, &reader()).await.unwrap().expect("nobody writes");
                reads.push((grant.number, start.elapsed()));
                release(&client, &grant).await;
            }
            reads
        });
    }
    let reads: Vec<_> = readers.join_all().await.into_iter().flatten().collect();
    let (tokens, mut times): (HashSet<_>, Vec<_>) = reads.into_iter().unzip();
    times.sort_unstable();
    let rounds = (members.servers[0].scripts() - before) as f64 / times.len() as f64;
    let figures = format!(
        "{} reads, {rounds:.2} scripts each at a member, median {:?}, 99th percentile {:?}, worst {:?}",
        times.len(),
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times[times.len() - 1]
    );
    let _ = writeln!(std::io::stdout(), "{figures}");
    let text = format!("{} tokens for {figures}", tokens.len());
    demand(tokens.len() == times.len(), Kind::RepeatedToken, text);
}
