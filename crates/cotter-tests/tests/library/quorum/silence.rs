//! Members that are gone or silent.

use super::setup::{Members, TTL, acquire, attempt, release};
use cotter::backend::{Extension, Found, Leave, Until};
use cotter::{Client, ErrorKind, memory, quorum};
use cotter_testkit::bare::claim;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Loss;
use cotter_testkit::skewed::{Skew, Skewed};
use cotter_testkit::timing::{FAR, Stopwatch, eventually, happens};
use std::time::{Duration, Instant, SystemTime};

const TIMEOUT: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_minority_that_is_down_changes_nothing() {
    let mut members = Members::voting(5, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    let held = acquire(&client, "a").await;
    members.servers[1].kill();
    members.servers[4].kill();
    let extended = client.extend(&[&held], TTL).await.remove(0).unwrap();
    assert!(matches!(extended, Extension::Extended { ttl: Some(TTL), .. }), "{extended:?}");
    let other = members.client().await.unwrap();
    assert!(attempt(&other, &claim("a", TTL)).await.unwrap().is_none());
    assert_eq!(release(&client, &held).await.found(), Found::Held);
    let next = acquire(&other, "a").await;
    assert!(next.number > held.number);
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn without_a_majority_the_error_says_so_in_time_and_nothing_is_left() {
    let members = Members::voting(5, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    for member in [0, 2, 3] {
        members.servers[member].stop();
    }
    for name in ["a", "b"] {
        let start = Stopwatch::start();
        let error = attempt(&client, &claim(name, TTL)).await.expect_err("two of five are no quorum");
        start.at_most(2 * TIMEOUT, "the error comes in time");
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::NoQuorum, true), "{error}");
        assert!(error.to_string().contains("2 of 5 members have answered, and 3 are needed"), "{error}");
        assert!(!members.holds(1, name) && !members.holds(4, name), "{name} is left at a survivor");
    }
    [0, 2, 3].iter().for_each(|member| members.servers[*member].go_on());
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_majority_that_is_gone_is_told_when_connecting() {
    let mut members = Members::voting(3, HOUR, TIMEOUT);
    members.servers[0].kill();
    members.servers[2].kill();
    let error = members.client().await.expect_err("nothing can be locked");
    assert_eq!(error.kind(), ErrorKind::NoQuorum, "{error}");
    assert!(error.to_string().contains("only 1 of 3 members can be reached, and 2 are needed"), "{error}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_silent_member_costs_its_time_limit_once() {
    let members = Members::voting(5, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "a").await).await;
    members.part(3, true);
    let cycle = async |name: &str| release(&client, &acquire(&client, name).await).await;
    let start = Stopwatch::start();
    cycle("a").await;
    start.at_most(2 * TIMEOUT, "the first cycle");
    let start = Stopwatch::start();
    for _ in 0..20 {
        cycle("a").await;
    }
    start.at_most(4 * TIMEOUT, "20 cycles");
}

/// However long a member may take, a lease must not be spent on waiting for it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_silent_member_costs_no_more_than_a_twentieth_of_the_lease() {
    let members = Members::voting(3, HOUR, Duration::from_secs(20));
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    members.part(1, true);
    members.part(2, true);
    let (start, lease) = (Stopwatch::start(), Duration::from_secs(4));
    let error = attempt(&client, &claim("a", lease)).await.expect_err("one of three is no quorum");
    assert_eq!(error.kind(), ErrorKind::NoQuorum, "{error}");
    start.at_least(lease / 20, "the members have time to answer");
    start.at_most(lease / 4, "they have no more than a part of the lease");
}

/// An even number is allowed, and survives no more than the odd one below it.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn four_members_survive_the_loss_of_one() {
    let mut members = Members::voting(4, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    members.servers[3].kill();
    release(&client, &acquire(&client, "a").await).await;
    members.servers[0].kill();
    let error = attempt(&client, &claim("a", TTL)).await.expect_err("two of four are no majority");
    assert!(error.to_string().contains("2 of 4 members have answered, and 3 are needed"), "{error}");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_comes_back_is_asked_again() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    members.part(2, true);
    let client = members.client().await.unwrap();
    let held = acquire(&client, "a").await;
    assert!(!members.holds(2, "a"));
    members.part(2, false);
    let end = Instant::now() + Duration::from_secs(20);
    while !members.holds(2, "a") {
        assert!(Instant::now() < end, "the third member is never asked for its vote");
        client.extend(&[&held], TTL).await.remove(0).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It counts: the lock outlives one of those that it began with.
    members.part(0, true);
    let extended = client.extend(&[&held], TTL).await.remove(0).unwrap();
    assert!(matches!(extended, Extension::Extended { .. }), "{extended:?}");
}

/// A request that arrives after its release, at a member that nobody waited for, locks nothing.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn members_that_nobody_waited_for_are_released_too() {
    // A time limit of its own: an attempt that runs out of time is made again, and the next one is not held back.
    let members = Members::voting(3, HOUR, 8 * TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    let kept = members.proxies[1].keep_request(b"cotter:quorum:{a}");
    let held = attempt(&client, &claim("a", TTL)).await.unwrap().expect("it is free");
    assert!(members.holds(0, "a") && !members.holds(1, "a"));
    assert_eq!(release(&client, &held).await.found(), Found::Held);
    kept.let_go();
    // It takes the name and gives it back: its counter tells.
    eventually("the late request arrives", || {
        !members.servers[1].command(&["GET", "cotter:quorum:{a}"]).is_empty()
    })
    .await;
    let end = Instant::now() + FAR;
    while members.holds(1, "a") {
        demand(Instant::now() < end, Kind::LeftBehind, "member 2 has granted what nobody holds");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn one_server_under_two_addresses_is_refused() {
    let mut members = Members::voting(3, HOUR, TIMEOUT);
    members.proxies[2] = cotter_testkit::servers::Proxy::start(members.servers[0].port());
    let error = members.client().await.expect_err("it would have two votes");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.to_string().contains("is the same server as member"), "{error}");
}

/// A member that is slower than the others, but not silent, has no votes at first. It takes its time once for all locks
/// that are renewed together.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs redis-server"]
async fn a_slow_member_takes_its_time_once_for_all_locks() {
    const SLOW: Duration = Duration::from_millis(20);
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "warm").await).await;
    members.proxies[2].delay_replies(SLOW);
    let mut grants = Vec::new();
    for n in 0..32 {
        grants.push(attempt(&client, &claim(&format!("n{n}"), TTL)).await.unwrap().expect("it is free"));
    }
    let votes = |n: usize| grants[n].votes.as_ref().unwrap().given();
    assert!((0..32).any(|n| votes(n) == 2), "it is not slow enough to be left out");
    // Its answers to those requests are on their way.
    tokio::time::sleep(SLOW * 40).await;
    let all: Vec<_> = grants.iter().collect();
    let start = Stopwatch::start();
    let extended = client.extend(&all, TTL).await;
    start.at_most(SLOW * 16, format!("renewing {} locks", all.len()));
    assert!(extended.iter().all(|e| matches!(e, Ok(Extension::Extended { .. }))), "{extended:?}");
    assert!((0..32).all(|n| votes(n) == 3), "it has no vote for some of them");
}

/// Each clock may be the wrong one: an hour fast or an hour slow.
#[tokio::test]
async fn one_wrong_clock_does_not_move_the_time() {
    for (wrong, hours) in (0..3).flat_map(|wrong| [(wrong, -1), (wrong, 1)]) {
        let skews: [Skew; 3] = Default::default();
        skews[wrong].set_millis(hours * 3_600_000);
        let members = skews.iter().map(|skew| Skewed::new(memory::Store::new(), skew));
        let store = quorum::Store::new(members).unwrap();
        let client = Client::builder().connect_to(store).await.unwrap();
        let (time, now) = (client.time().await.unwrap().unwrap(), SystemTime::now());
        let off = now.duration_since(time).unwrap_or_else(|e| e.duration());
        assert!(
            off < Duration::from_secs(60),
            "member {wrong} is {hours} h ahead, the quorum off by {off:?}"
        );
    }
}

/// The member has voted, but its answer and the release are lost. While the claim still waits, the vote is taken back: it kept the
/// name for a lease otherwise, and several waiters have left a majority of such votes, so that all of them waited for nobody.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_waiter_takes_back_a_vote_that_it_did_not_hear_of() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    let (holder, waiter) = (members.client().await.unwrap(), members.client().await.unwrap());
    // One member is free, and votes for everybody who asks.
    members.proxies[2].refuse(true);
    members.proxies[2].cut();
    let held = attempt(&holder, &claim("a", TTL)).await.unwrap().expect("a majority is there");
    members.proxies[2].refuse(false);
    let wanted = claim("a", TTL);
    let (asking, claim) = (waiter.clone(), wanted.clone());
    let waiting = tokio::spawn(async move { asking.acquire(&claim, Until::Forever).await });
    // An answer that is late is followed by the release at once, which may arrive before the connection is cut.
    let lost = async {
        loop {
            eventually("it asks", || members.holds(2, "a")).await;
            members.proxies[2].refuse(true);
            members.proxies[2].lose_reply(b"\r\ng", Loss::Cut);
            eventually("it asks once more", || members.proxies[2].has_lost()).await;
            tokio::time::sleep(4 * TIMEOUT).await;
            let holds = members.holds(2, "a");
            members.proxies[2].refuse(false);
            if holds {
                return;
            }
        }
    };
    happens("a vote is left behind", lost).await;
    // Votes of later attempts come and go.
    let taken_back = eventually("the vote was taken back", || !members.holds(2, "a"));
    let in_time = tokio::time::timeout(TTL / 2, taken_back).await.is_ok();
    demand(in_time, Kind::IdleWaiter, "a vote that nobody uses stays for a lease");
    waiting.abort();
    waiter.release(&wanted, Leave::default()).await.unwrap();
    release(&holder, &held).await;
}
