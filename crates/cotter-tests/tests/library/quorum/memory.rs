//! Members that have forgotten what they granted.

use super::setup::{Members, PREFIX, acquire, attempt, release};
use cotter::backend::{Backend, Connect, Host};
use cotter::{ErrorKind, redis};
use cotter_testkit::bare::{claim, clock, enlist, take};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, eventually};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);
const TTL: Duration = LONGEST;

/// Asks again and again, until shortly before the lease of the holder ends.
async fn nobody_else_gets_it(other: &Arc<dyn Backend>, until: Instant) {
    while Instant::now() + Duration::from_millis(100) < until {
        let granted = attempt(other, &claim("a", TTL)).await.ok().flatten();
        let left = until - Instant::now();
        demand(
            granted.is_none(),
            Kind::Overlap,
            format!("a second holder, {left:?} before the first lease ends"),
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A lock with a bare majority, one of whose members forgets it, while the others were not asked.
async fn one_of_its_majority_forgets(of: usize, forget: impl FnOnce(&mut Redis)) {
    let mut members = Members::voting(of, LONGEST, TIMEOUT);
    let bare = of / 2 + 1;
    (bare..of).for_each(|member| members.part(member, true));
    let client = members.client().await.unwrap();
    let held = attempt(&client, &claim("a", TTL)).await.unwrap().expect("it is free");
    let until = Instant::now() + TTL;
    forget(&mut members.servers[bare - 1]);
    (bare..of).for_each(|member| members.part(member, false));
    let other = members.client().await.unwrap();
    nobody_else_gets_it(&other, until).await;
    let next = acquire(&other, "a").await;
    assert!(next.number > held.number, "{} after {}", next.number, held.number);
}

/// Redlock's hole: a lock at A and B, then B restarts without its memory, and B and C would grant it again.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_restarts_gives_nobody_a_second_lock() {
    one_of_its_majority_forgets(3, Redis::restart).await;
    one_of_its_majority_forgets(5, Redis::restart).await;
}

/// The same if all keys of a server are deleted while it runs.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_is_wiped_gives_nobody_a_second_lock() {
    let wipe = |server: &mut Redis| _ = server.command(&["FLUSHALL"]);
    one_of_its_majority_forgets(3, wipe).await;
    one_of_its_majority_forgets(5, wipe).await;
}

/// The same if only the marker and the lock are deleted, as an eviction may do.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_loses_its_marker_gives_nobody_a_second_lock() {
    let evict = |server: &mut Redis| {
        let (lock, marker) = (format!("{PREFIX}:{{a}}"), format!("{PREFIX}:member"));
        server.command(&["DEL", &lock, &marker]);
    };
    one_of_its_majority_forgets(3, evict).await;
}

/// A member has a replica of its own, which is promoted while it lags, and is then followed by the member itself: its process was
/// never restarted, and the copy that it has now says which run of it has voted.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_gets_an_old_copy_of_itself_gives_nobody_a_second_lock() {
    // Longer than a server needs to copy another one.
    const LEASE: Duration = Duration::from_secs(8);
    let members = Members::voting(3, LEASE, TIMEOUT);
    let (member, replica) = (&members.servers[1], Redis::start());
    let client = members.client().await.unwrap();
    for server in [member, &replica] {
        server.command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
    }
    replica.follow(member);
    // That alone would make it abstain.
    enlist(member, PREFIX, LEASE.as_secs());
    members.part(2, true);
    release(&client, &acquire(&client, "a").await).await;
    let marker = member.command(&["GET", &format!("{PREFIX}:member")]);
    eventually("the replica has the marker", || {
        replica.command(&["GET", &format!("{PREFIX}:member")]) == marker
    })
    .await;
    replica.promote();
    let held = attempt(&client, &claim("a", LEASE)).await.unwrap().expect("it is free");
    let until = Instant::now() + LEASE;
    member.follow(&replica);
    member.promote();
    assert!(!members.holds(1, "a"), "it has forgotten the lock");
    assert!(Instant::now() + LEASE / 4 < until, "there is no time left to take it again");
    members.part(2, false);
    let other = members.client().await.unwrap();
    nobody_else_gets_it(&other, until).await;
    let next = acquire(&other, "a").await;
    assert!(next.number > held.number, "{} after {}", next.number, held.number);
}

/// Two members remember an early state: one was cut off, the other was restored from a copy.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_is_restored_from_a_copy_repeats_no_token() {
    let mut members = Members::voting(3, LONGEST, TIMEOUT);
    let client = members.client().await.unwrap();
    release(&client, &acquire(&client, "a").await).await;
    members.servers[0].command(&["SAVE"]);
    members.part(2, true);
    let mut last = 0;
    for _ in 0..5 {
        let held = acquire(&client, "a").await;
        last = held.number;
        release(&client, &held).await;
    }
    members.servers[0].restart();
    members.part(1, true);
    members.part(2, false);
    let other = members.client().await.unwrap();
    let next = acquire(&other, "a").await;
    demand(next.number > last, Kind::TokenOrder, format!("{} after {last}", next.number));
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn new_members_say_why_they_do_not_vote_and_vote_in_the_end() {
    let servers = (0..3).map(|_| Redis::start()).collect();
    let members = Members::of(servers, LONGEST, TIMEOUT);
    let client = members.client().await.unwrap();
    let error = attempt(&client, &claim("a", TTL)).await.expect_err("they may have forgotten something");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::NoQuorum, true), "{error}");
    assert!(error.to_string().contains("0 of 3 members vote, and 2 are needed"), "{error}");
    assert!(error.to_string().contains("cotter doctor --init"), "{error}");
    let start = Stopwatch::start();
    let held = acquire(&client, "a").await;
    start.at_most(LONGEST + Duration::from_millis(500), "they vote after the longest lease");
    release(&client, &held).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_can_be_told_that_there_is_nothing_to_remember() {
    let servers: Vec<_> = (0..3).map(|_| Redis::start()).collect();
    let members = Members::of(servers, LONGEST, TIMEOUT);
    let client = members.client().await.unwrap();
    for server in &members.servers {
        enlist(server, PREFIX, LONGEST.as_secs());
    }
    let held = attempt(&client, &claim("a", TTL)).await.unwrap().expect("they vote");
    release(&client, &held).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_lease_that_would_outlive_the_abstinence_is_refused() {
    let members = Members::voting(3, LONGEST, TIMEOUT);
    let client = members.client().await.unwrap();
    let error = attempt(&client, &claim("a", LONGEST * 2)).await.expect_err("it is too long");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidInput, false), "{error}");
    assert!(error.to_string().contains("max_ttl="), "{error}");
    let held = acquire(&client, "a").await;
    let error = client.extend(&[&held], LONGEST * 2).await.remove(0).expect_err("it is too long");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidInput, false), "{error}");
    assert!(error.to_string().contains("max_ttl="), "{error}");
    client.extend(&[&held], LONGEST).await.remove(0).expect("it is still held");
}

/// In each mode that can be a member.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_extends_no_lease_beyond_its_abstinence() {
    let server = Redis::start();
    for mode in ["", "mode=plain"] {
        let store = redis::Store::from_url(server.url(mode)).unwrap().with_votes(LONGEST);
        let member = store.connect(&Host::without_engine(clock())).await.unwrap();
        let claim = claim(&format!("a{mode}"), TTL);
        let held = take(&member, &claim).await;
        let error = member.extend(&[&held], LONGEST * 2).await.remove(0).expect_err("it is too long");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{mode}: {error}");
        member.extend(&[&held], LONGEST).await.remove(0).expect("it is still held");
    }
}

/// With all members, one may jump. Tokens go on from the largest.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn one_clock_that_jumps_by_an_hour_frees_nobody() {
    let servers: Vec<_> = (0..3).map(|_| Redis::builder().skewed().start()).collect();
    servers.iter().for_each(|server| enlist(server, PREFIX, LONGEST.as_secs()));
    let members = Members::of(servers, LONGEST, TIMEOUT);
    let (client, other) = (members.client().await.unwrap(), members.client().await.unwrap());
    let held = acquire(&client, "a").await;
    for hour in [3600, -3600, 0] {
        members.servers[0].step_clock(hour);
        assert!(
            attempt(&other, &claim("a", TTL)).await.unwrap().is_none(),
            "a clock was stepped by {hour} s"
        );
        client.extend(&[&held], TTL).await.remove(0).unwrap();
    }
    release(&client, &held).await;
    let mut last = held.number;
    for hour in [3600, -3600, 3600] {
        members.servers[1].step_clock(hour);
        let next = acquire(&other, "a").await;
        assert!(next.number > last, "{} after {last}", next.number);
        last = next.number;
        release(&other, &next).await;
    }
}
