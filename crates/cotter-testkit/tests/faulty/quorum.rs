//! A quorum of stores in memory, fault by fault.

use cotter::backend::{Backend, Claim, Connect, Found, Grant, Host, Leave, Until};
use cotter::{Client, Lease, Mode, Name, memory, quorum};
use cotter_testkit::bare::clock;
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::happens;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{advance, sleep};

const TTL: Duration = Duration::from_secs(20);

/// Three members behind links that can be cut.
struct World {
    members: Vec<memory::Store>,
    links: Vec<Faults>,
}

impl World {
    fn new() -> Self {
        let members = (0..3).map(|_| memory::Store::new()).collect();
        Self { members, links: (0..3).map(Faults::seeded).collect() }
    }

    async fn client(&self) -> Arc<dyn Backend> {
        self.store().connect(&Host::without_engine(clock())).await.unwrap()
    }

    /// Each request and each answer takes this long.
    fn delay(&self, trip: Duration) {
        let plan = Plan { before: trip, after: trip, ..Plan::default() };
        self.links.iter().for_each(|link| link.set(plan));
    }

    fn store(&self) -> quorum::Store {
        let seats = self.members.iter().zip(&self.links).map(|(m, link)| Faulty::new(m.clone(), link));
        quorum::Store::new(seats).unwrap()
    }

    fn cut(&self, member: usize, down: bool) {
        self.links[member].set(Plan { down, ..Plan::default() });
    }
}

fn claim() -> Claim {
    Claim::new(Name::new("a").unwrap(), Mode::Exclusive, TTL)
}

/// Members that were silent are asked again after a while, so it may take some attempts.
async fn acquire(backend: &Arc<dyn Backend>) -> Grant {
    let until = Until::Moment(clock().now() + TTL);
    backend.acquire(&claim(), until).await.unwrap().granted().expect("it is free")
}

async fn release(backend: &Arc<dyn Backend>, grant: &Grant) {
    let released = backend.release(&grant.claim, Leave::used(1)).await.unwrap();
    assert_eq!(released.found(), Found::Held);
}

/// A member that was cut off counts from where it was; the others have gone on without it.
#[tokio::test]
async fn a_member_that_lags_gives_no_smaller_token() {
    let (world, mut last) = (World::new(), 0);
    let client = world.client().await;
    // All of them have counters that do not begin at the clock any more.
    release(&client, &acquire(&client).await).await;
    for round in 0..9 {
        let lagging = round / 3;
        world.cut(lagging, true);
        let grant = acquire(&client).await;
        let text = format!("{} after {last} without member {lagging}", grant.number);
        demand(grant.number > last, Kind::TokenOrder, text);
        last = grant.number;
        release(&client, &grant).await;
        world.cut(lagging, false);
    }
}

/// The engine repeats a release that was not answered, and does not know any more how many turns were used.
#[tokio::test]
async fn a_release_that_is_repeated_takes_no_used_token_back() {
    let world = World::new();
    let client = world.client().await;
    let held = acquire(&client).await;
    (1..3).for_each(|member| world.cut(member, true));
    let error = client.release(&held.claim, Leave::used(1)).await.expect_err("a majority is silent");
    assert!(error.outcome_unknown(), "{error}");
    (1..3).for_each(|member| world.cut(member, false));
    let _ = client.release(&held.claim, Leave::default()).await;
    world.cut(0, true);
    let next = acquire(&client).await;
    let text = format!("{} was given twice", held.number);
    demand(next.number != held.number, Kind::RepeatedToken, text);
    demand(next.number > held.number, Kind::TokenOrder, format!("{} after {}", next.number, held.number));
}

/// A member that has answered is not asked again, and its answer counts.
#[tokio::test]
async fn a_release_that_is_repeated_counts_all_answers() {
    let world = World::new();
    let client = world.client().await;
    let held = acquire(&client).await;
    (1..3).for_each(|member| world.cut(member, true));
    for attempt in 0..2 {
        let error = client.release(&held.claim, Leave::used(1)).await.expect_err("a majority is silent");
        assert!(error.to_string().contains("1 of 3 members have answered"), "attempt {attempt}: {error}");
    }
    world.cut(1, false);
    // It counts as silent for a moment, and nobody waits for its answer.
    let released = async {
        loop {
            match client.release(&held.claim, Leave::used(1)).await {
                Ok(released) => break released,
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    };
    let released = happens("two of three have released it", released).await;
    assert_eq!(released.found(), Found::Held);
}

#[tokio::test]
async fn a_grant_tells_how_many_members_stand_by_it() {
    let world = World::new();
    let client = world.client().await;
    let grant = acquire(&client).await;
    let votes = grant.votes.clone().expect("a quorum has granted it");
    assert_eq!((votes.given(), votes.of()), (3, 3));
    world.cut(1, true);
    client.extend(&[&grant], TTL).await.remove(0).unwrap();
    assert_eq!((votes.given(), votes.of()), (2, 3), "one does not answer");
    release(&client, &grant).await;
    let bare = acquire(&client).await.votes.expect("a quorum has granted it");
    assert_eq!(bare.to_string(), "2 of 3");
}

/// Six readers whose requests arrive at each member in another order: each has a token that no other one has or has had, and
/// none of them has to ask so often that it looks like a failure.
#[tokio::test(start_paused = true)]
async fn readers_that_ask_at_once_share_no_token() {
    const READS: usize = 100;
    let (world, given) = (World::new(), Arc::new(Mutex::new(HashSet::new())));
    world.delay(Duration::from_millis(2));
    let mut readers = JoinSet::new();
    for _ in 0..6 {
        let client = Client::builder().in_this_runtime().connect_to(world.store()).await.unwrap();
        let given = given.clone();
        readers.spawn(async move {
            for _ in 0..READS {
                let guard = client.rwlock("a").try_read().await.unwrap().expect("nobody writes");
                let token = guard.token().get();
                demand(
                    given.lock().unwrap().insert(token),
                    Kind::RepeatedToken,
                    format!("{token} was given twice"),
                );
                sleep(Duration::from_millis(1)).await;
                guard.finish().await.unwrap();
            }
        });
    }
    while let Some(done) = readers.join_next().await {
        done.unwrap();
    }
}

/// Members begin to count at the same number, unless a full second lies between the moments at which they are asked.
#[tokio::test]
async fn a_new_name_needs_no_second_phase() {
    const NAMES: usize = 200;
    let world = World::new();
    let client = world.client().await;
    for number in 0..NAMES {
        let name = Name::new(format!("new {number}")).unwrap();
        let claim = Claim::new(name, Mode::Exclusive, TTL);
        let grant = client.acquire(&claim, Until::Now).await.unwrap().granted().expect("it is free");
        release(&client, &grant).await;
    }
    let raised: usize = world.links.iter().map(|link| link.calls(Call::Raise)).sum();
    assert!(raised < NAMES / 10, "{NAMES} new names had {raised} requests to raise a counter");
}

/// Waiters are told when a name is free, and ask by themselves only in case that nobody tells them.
#[tokio::test(start_paused = true)]
async fn a_long_wait_asks_less_and_less_often() {
    let world = World::new();
    let connect = || Client::builder().in_this_runtime().connect_to(world.store());
    let (holder, waiter) = (connect().await.unwrap(), connect().await.unwrap());
    let guard = holder.mutex("a").lock().await.unwrap();
    let before = world.links[0].calls(Call::Acquire);
    let waited = waiter.mutex("a").try_lock_for(Duration::from_secs(120)).await.unwrap();
    assert!(waited.is_none());
    let asked = world.links[0].calls(Call::Acquire) - before;
    assert!((400..900).contains(&asked), "asked {asked} times");
    guard.finish().await.unwrap();
}

/// A task that blocks keeps its runtime from reading what the members have answered, until after their time is over.
#[tokio::test(start_paused = true)]
async fn a_runtime_that_is_late_takes_no_member_for_silent() {
    let (world, ttl) = (World::new(), Duration::from_secs(1));
    world.delay(Duration::from_millis(2));
    let client = Client::builder().lease(Lease::renewed(ttl)).in_this_runtime();
    let client = client.connect_to(world.store()).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    for round in 0..5 {
        // A renewal is under way.
        let before = world.links[0].calls(Call::Extend);
        while world.links[0].calls(Call::Extend) == before {
            sleep(Duration::from_millis(1)).await;
            assert!(guard.is_valid(), "round {round}: {:?}", guard.check());
        }
        advance(ttl / 5).await;
    }
    guard.finish().await.unwrap();
}

/// All links are slow for a moment: no reason to send renewals without waiting for the answers, for as long as members that are
/// silent are left alone.
#[tokio::test(start_paused = true)]
async fn a_hiccup_of_all_links_costs_one_renewal() {
    let (world, ttl) = (World::new(), Duration::from_secs(1));
    let client = Client::builder().lease(Lease::renewed(ttl)).in_this_runtime();
    let client = client.connect_to(world.store()).await.unwrap();
    let guard = client.mutex("a").lock().await.unwrap();
    world.delay(Duration::from_millis(400));
    sleep(ttl / 2).await;
    world.delay(Duration::from_millis(2));
    sleep(ttl).await;
    assert!(guard.is_valid(), "{:?}", guard.check());
    guard.finish().await.unwrap();
}
