//! Readers and writers of one name, for stores with shared locks.

use super::fixture::{Fixture, TTL, give, is_busy, refused, settle, take, used, wait_in_task};
use super::leases::{extend, its_end, short};
use crate::backend::{
    Backend, Capabilities, Claim, EvictOrder, Extension, Filter, Found, Grant, Mode, NoteAt, Until,
};
use crate::{Eviction, LossCause};
use std::sync::Arc;
use std::time::Duration;

/// Connects twice. Returns `None` if the store has no shared locks, after checking that it refuses them.
async fn connect(f: &Fixture) -> Option<[Arc<dyn Backend>; 2]> {
    let backends = [f.connect().await, f.connect().await];
    if !backends[0].info().capabilities.shared {
        refused(backends[0].acquire(&reader(f), Until::Now).await);
        return None;
    }
    Some(backends)
}

/// The same for a store with a queue: elsewhere, who comes later may be served first.
async fn connect_in_order(f: &Fixture) -> Option<[Arc<dyn Backend>; 2]> {
    connect(f).await.filter(|backends| backends[0].info().capabilities.ordered)
}

fn reader(f: &Fixture) -> Claim {
    f.claim_as("a", Mode::Shared)
}

pub(super) async fn readers_that_waited_together_enter_together(f: &Fixture) {
    let Some([one, other]) = connect_in_order(f).await else { return };
    let (writer, mut waiting) = (f.claim("a"), Vec::new());
    take(&one, &writer).await;
    for i in 0..4 {
        waiting.push(wait_in_task(if i % 2 == 0 { &one } else { &other }, &reader(f), f.soon()));
        f.queued(&one, waiting.len()).await;
    }
    let last = wait_in_task(&other, &f.claim("a"), f.soon());
    f.queued(&one, 5).await;
    let late = reader(f);
    let behind = wait_in_task(&one, &late, f.soon());
    f.queued(&one, 6).await;
    give(&one, &writer).await;
    // None of them is released before all of them have entered.
    let mut entered: Vec<Grant> = Vec::new();
    for task in waiting {
        entered.push(task.await.expect("no panic").expect("they enter together"));
    }
    let mut numbers: Vec<u64> = entered.iter().map(|g| g.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 4, "each has a token of its own");
    assert!(!last.is_finished() && !behind.is_finished(), "the writer waits, and so does who came later");
    for (i, grant) in entered.iter().enumerate() {
        give(if i % 2 == 0 { &one } else { &other }, &grant.claim).await;
    }
    let writer = last.await.expect("no panic").expect("it is the writer's turn");
    assert!(writer.number > numbers[3] && !behind.is_finished());
    give(&other, &writer.claim).await;
    assert!(behind.await.expect("no panic").is_some());
}

/// Somebody always reads, and yet a writer does not wait for longer than those who were there before it.
pub(super) async fn readers_that_come_and_go_do_not_starve_a_writer(f: &Fixture) {
    let Some([one, other]) = connect_in_order(f).await else { return };
    let mut reading = Vec::new();
    for i in 0..20 {
        let backend = if i % 2 == 0 { one.clone() } else { other.clone() };
        // Ten turns of twenty readers take their time on a busy machine; the writer's are what counts.
        let (first, until) = (reader(f), Until::Moment(f.now() + TTL * 4));
        reading.push(tokio::spawn(async move {
            for _ in 0..10 {
                let claim = first.renewed();
                let granted = backend.acquire(&claim, until).await.expect("answers").granted();
                let grant = granted.expect("a reader has its turn");
                tokio::time::sleep(Duration::from_millis(5)).await;
                give(&backend, &claim).await;
                drop(grant);
            }
        }));
    }
    settle().await;
    for _ in 0..3 {
        let claim = f.claim("a");
        let granted = one.acquire(&claim, f.soon()).await.expect("answers").granted();
        granted.expect("the writer has its turn");
        give(&one, &claim).await;
    }
    for task in reading {
        task.await.expect("no panic");
    }
}

pub(super) async fn who_gives_up_lets_the_readers_behind_it_enter(f: &Fixture) {
    let Some([one, other]) = connect_in_order(f).await else { return };
    let held = reader(f);
    take(&one, &held).await;
    let writer = f.claim("a");
    let asked = wait_in_task(&other, &writer, f.soon());
    f.queued(&one, 1).await;
    let behind = wait_in_task(&one, &reader(f), f.soon());
    f.queued(&one, 2).await;
    assert!(!behind.is_finished());
    asked.abort();
    let _ = asked.await;
    let _ = other.release(&writer, used(0)).await.expect("answers");
    assert!(behind.await.expect("no panic").is_some(), "the writer is gone");
}

pub(super) async fn a_killed_reader_costs_its_ttl(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    if !one.info().capabilities.leases {
        return;
    }
    let (mut killed, alive) = (reader(f), reader(f));
    killed.ttl = short(&one);
    let (dead, held) = (take(&one, &killed).await, take(&other, &alive).await);
    let writer = wait_in_task(&other, &f.claim("a"), f.soon());
    f.queued(&one, 1).await;
    give(&other, &alive).await;
    writer.await.expect("no panic").expect("the lease of the other one has ended");
    for grant in [&dead, &held] {
        assert!(matches!(extend(&one, grant, TTL).await, Extension::Lost(LossCause::Gone)));
    }
}

/// The end of one lease says nothing about the others.
pub(super) async fn a_reader_whose_lease_ends_frees_nobody_else(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    if !one.info().capabilities.leases {
        return;
    }
    let mut brief = reader(f);
    brief.ttl = short(&one);
    let held = take(&other, &reader(f)).await;
    let gone = take(&one, &brief).await;
    its_end(&one).await;
    is_busy(&one, &f.claim("a")).await;
    take(&one, &reader(f)).await;
    assert!(matches!(extend(&one, &gone, TTL).await, Extension::Lost(_)));
    assert!(matches!(extend(&other, &held, TTL).await, Extension::Extended { .. }));
}

pub(super) async fn both_kinds_are_extended_together(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    let mut grants = Vec::new();
    for i in 0..6 {
        let mode = if i % 2 == 0 { Mode::Shared } else { Mode::Exclusive };
        grants.push(take(&one, &f.claim_as(&format!("name {i}"), mode)).await);
    }
    give(&one, &grants[2].claim).await;
    let asked: Vec<&Grant> = grants.iter().collect();
    for (i, answer) in other.extend(&asked, TTL).await.into_iter().enumerate() {
        let extended = matches!(answer.expect("answers"), Extension::Extended { .. });
        // Where a grant lives with a process, another one has nothing to say about it.
        assert!(extended == (i != 2) || !one.info().capabilities.leases, "{i}");
    }
}

pub(super) async fn a_reader_can_leave_the_lock_kept(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    if !one.info().capabilities.keep_for {
        return;
    }
    let held = reader(f);
    take(&one, &held).await;
    let leave = used(1).keeping(Some(Duration::from_secs(1)));
    assert_eq!(one.release(&held, leave).await.expect("answers").found(), Found::Held);
    is_busy(&other, &f.claim("a")).await;
    let beside = reader(f);
    take(&other, &beside).await;
    give(&other, &beside).await;
    let writer = wait_in_task(&other, &f.claim("a"), f.soon());
    writer.await.expect("no panic").expect("the kept lease has ended");
}

pub(super) async fn readers_are_shown_and_evicted(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    let Capabilities { leases, records, .. } = one.info().capabilities;
    let Some(admin) = other.admin().filter(|_| leases && records) else { return };
    for now in [false, true] {
        let grants =
            [take(&one, &reader(f)).await, take(&one, &reader(f)).await, take(&one, &reader(f)).await];
        let shown = admin.list(&Filter::exactly(&f.name("a")), None).await.expect("answers").records;
        let tokens: Vec<u64> = shown[0].holders.iter().map(|h| h.token.get()).collect();
        assert_eq!(tokens, grants.each_ref().map(|g| g.number));
        assert!(shown[0].holders.iter().all(|h| h.mode == Mode::Shared && h.label.contains("conformance")));
        let order = if now { EvictOrder::new().at_once() } else { EvictOrder::new() };
        let name = f.name("a");
        let evicted = admin.evict(&name, order.only(grants[1].number.into())).await.expect("answers");
        assert_eq!(evicted, Eviction::Evicted { token: grants[1].number.into() });
        let told = async |i: usize| {
            matches!(extend(&one, &grants[i], TTL).await, Extension::Lost(LossCause::Evicted))
        };
        assert!(told(1).await && !told(0).await && !told(2).await, "only one of them");
        is_busy(&one, &f.claim("a")).await;
        assert!(matches!(admin.evict(&name, order).await.expect("answers"), Eviction::Evicted { .. }));
        assert!(told(0).await && told(1).await && told(2).await, "all of them");
        for grant in &grants {
            let found = one.release(&grant.claim, used(1)).await.expect("answers").found();
            let expected = if now { Found::Evicted } else { Found::Held };
            assert_eq!(found, expected);
        }
        let writer = f.claim("a");
        take(&one, &writer).await;
        give(&one, &writer).await;
    }
}

pub(super) async fn a_reader_writes_notes(f: &Fixture) {
    let Some([one, _]) = connect(f).await else { return };
    let Some(notes) = one.notes() else { return };
    let (older, newer) = (take(&one, &reader(f)).await, take(&one, &reader(f)).await);
    let store = async |grant: &Grant, sequence, bytes| {
        notes.store(grant, NoteAt::new("", grant.number, sequence), bytes).await.expect("answers")
    };
    store(&older, 1, b"older").await.expect("it holds");
    store(&newer, 1, b"newer").await.expect("it holds");
    assert!(store(&older, 2, b"stale").await.is_none(), "a larger token has written");
    give(&one, &newer.claim).await;
    assert!(store(&newer, 2, b"late").await.is_none(), "it was released");
    let kept = notes.load(&f.name("a"), "").await.expect("answers").expect("it stays");
    assert_eq!(kept.bytes, b"newer");
}

/// The writer may have used some of its turns: as a reader it names the token that it has used last.
pub(super) async fn a_downgraded_lock_is_extended_and_released(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    if !one.info().capabilities.downgrade {
        return;
    }
    let mut writer = f.claim("a");
    writer.turns = 10;
    let block = take(&one, &writer).await;
    let waiting = wait_in_task(&other, &f.claim("a"), f.soon());
    f.queued(&one, 1).await;
    let shared = one.downgrade(&block).await.expect("it is held");
    let last = block.number + u64::from(block.turns) - 1;
    assert!((block.number..=last).contains(&shared.number));
    for number in [block.number, last] {
        let reader = Grant { number, ..shared.clone() };
        assert!(matches!(extend(&one, &reader, TTL).await, Extension::Extended { .. }), "{number}");
    }
    is_busy(&other, &reader(f)).await;
    give(&one, &shared.claim).await;
    let next = waiting.await.expect("no panic").expect("a writer is never admitted beside a reader");
    assert!(next.number > last);
}

pub(super) async fn a_readers_grant_passes_to_another_claim(f: &Fixture) {
    let Some([one, other]) = connect(f).await else { return };
    if !one.info().capabilities.tickets {
        return;
    }
    let (from, to) = (reader(f), reader(f));
    let first = take(&one, &from).await;
    for _ in 0..2 {
        let passed = other.adopt(&from, &to).await.expect("answers").expect("it holds");
        assert_eq!((passed.claim.id, passed.number), (to.id, first.number));
        assert!(matches!(extend(&other, &passed, TTL).await, Extension::Extended { .. }));
    }
    assert!(matches!(extend(&one, &first, TTL).await, Extension::Lost(_)));
    assert_ne!(one.release(&from, used(1)).await.expect("answers").found(), Found::Held);
    is_busy(&one, &f.claim("a")).await;
    give(&other, &to).await;
    assert!(other.adopt(&from, &to).await.expect("answers").is_none());
    take(&one, &f.claim("a")).await;
}
