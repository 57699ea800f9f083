//! Compare-and-set on the notes of a quorum: what members promise, and what a majority keeps.

use super::setup::{Members, PREFIX, acquire};
use cotter::backend::{Backend, Connect, Host, Member, NoteAt, Promise, Proposal};
use cotter::{ErrorKind, Name, memory, redis};
use cotter_testkit::bare::{clock, enlist};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3600);

fn name() -> Name {
    Name::new("jobs").unwrap()
}

fn proposal(number: u64, origin: u64) -> Proposal {
    Proposal::new(number, origin, vec![origin + 7, 1], format!("value {origin}\0").into_bytes())
}

async fn connect(store: impl Connect) -> Arc<dyn Backend> {
    store.connect(&Host::without_engine(clock())).await.unwrap()
}

async fn redis_member(server: &Redis, longest: Duration) -> Arc<dyn Backend> {
    let store = redis::Store::from_url(server.url(&format!("prefix={PREFIX}"))).unwrap();
    connect(store.with_votes(longest)).await
}

async fn prepare(member: &Arc<dyn Backend>, number: u64) -> Promise {
    let acceptor = member.member().and_then(Member::acceptor).expect("it is one");
    acceptor.prepare(&name(), "k", number).await.unwrap()
}

async fn accept(member: &Arc<dyn Backend>, proposal: &Proposal) -> bool {
    let acceptor = member.member().and_then(Member::acceptor).expect("it is one");
    acceptor.accept(&name(), "k", proposal).await.unwrap()
}

async fn a_promise_is_kept(member: Arc<dyn Backend>) {
    assert_eq!(prepare(&member, 3).await, Promise::Given(None));
    assert_eq!(prepare(&member, 3).await, Promise::Refused(3), "who has promised a number is asked twice");
    assert_eq!(prepare(&member, 2).await, Promise::Refused(3));
    let accepted = accept(&member, &proposal(2, 2)).await;
    demand(!accepted, Kind::LostWrite, "a member accepted a smaller number than it had promised");
    for attempt in 0..2 {
        assert!(accept(&member, &proposal(3, 3)).await, "attempt {attempt}");
    }
    assert_eq!(prepare(&member, 7).await, Promise::Given(Some(proposal(3, 3))));
    // The same value once more, under a number that was promised to nobody.
    assert!(accept(&member, &proposal(9, 3)).await);
    assert_eq!(prepare(&member, 8).await, Promise::Refused(9));
    assert_eq!(prepare(&member, 10).await, Promise::Given(Some(proposal(9, 3))));
    let (note, number) = member.member().unwrap().dated(&name(), "k").await.unwrap().expect("a note");
    assert_eq!((note.bytes, note.token.get(), note.revision, number), (proposal(9, 3).bytes, 0, 3, 9));
}

#[tokio::test]
async fn memory_keeps_its_promises() {
    a_promise_is_kept(connect(memory::Store::new()).await).await;
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn redis_keeps_its_promises() {
    let server = Redis::start();
    enlist(&server, PREFIX, HOUR.as_secs());
    a_promise_is_kept(redis_member(&server, HOUR).await).await;
}

/// It may have forgotten what it promised.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_member_that_restarts_promises_nothing_for_a_while() {
    let mut server = Redis::start();
    enlist(&server, PREFIX, HOUR.as_secs());
    let member = redis_member(&server, HOUR).await;
    assert_eq!(prepare(&member, 1).await, Promise::Given(None));
    server.restart();
    let member = redis_member(&server, HOUR).await;
    let Promise::Abstains(left) = prepare(&member, 2).await else { panic!("it promised") };
    assert!(left > HOUR / 2, "{left:?}");
    let accepted = accept(&member, &proposal(1, 1)).await;
    demand(!accepted, Kind::LostWrite, "a member that may have forgotten a promise accepted a value");
}

/// A writer has died after one member had its value. Whoever sees that value makes sure that everybody does.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_one_reader_has_seen_stays() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    let first = redis_member(&members.servers[0], HOUR).await;
    assert!(accept(&first, &proposal(5, 5)).await);
    members.part(2, true);
    let reader = members.client().await.unwrap();
    let seen = reader.notes().unwrap().load(&name(), "k").await.unwrap().expect("the first member has it");
    assert_eq!((seen.bytes, seen.revision), (proposal(5, 5).bytes, 5));
    members.part(2, false);
    members.part(0, true);
    let other = members.client().await.unwrap();
    let note = other.notes().unwrap().load(&name(), "k").await.unwrap();
    demand(note.is_some_and(|n| n.revision == 5), Kind::LostWrite, "a note that was seen is gone");
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_swap_needs_a_majority() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    let notes = client.notes().unwrap();
    members.part(2, true);
    let first = notes.swap(&name(), "k", 0, b"one").await.unwrap().expect("there is no note");
    members.part(1, true);
    let error = notes.swap(&name(), "k", first, b"two").await.expect_err("one of three is left");
    assert!(error.kind() == ErrorKind::NoQuorum && !error.outcome_unknown(), "{error}");
    members.part(1, false);
    let note = members.client().await.unwrap().notes().unwrap().load(&name(), "k").await.unwrap();
    assert_eq!(note.map(|n| (n.bytes, n.revision)), Some((b"one".to_vec(), first)));
}

/// Its token orders what a holder writes, and nothing orders that and a swap.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn what_a_holder_has_written_is_not_swapped() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    let notes = client.notes().unwrap();
    let grant = acquire(&client, "jobs").await;
    let at = NoteAt::new("k", grant.number, 1);
    let seen = notes.store(&grant, at, b"held").await.unwrap().expect("it is held");
    for seen in [0, seen] {
        let error = notes.swap(&name(), "k", seen, b"x").await.expect_err("a holder has written it");
        assert!(
            error.kind() == ErrorKind::Unsupported && error.to_string().contains("another key"),
            "{error}"
        );
    }
    assert_eq!(notes.load(&name(), "k").await.unwrap().map(|n| n.bytes), Some(b"held".to_vec()));
}

/// A writer reached two of three. Whoever reads the later note from one of them gives it to the others first.
#[tokio::test]
#[ignore = "needs redis-server"]
async fn a_note_that_members_disagree_on_is_written_back() {
    let members = Members::voting(3, HOUR, TIMEOUT);
    let client = members.client().await.unwrap();
    let notes = client.notes().unwrap();
    let grant = acquire(&client, "jobs").await;
    let write = async |sequence, bytes: &[u8]| {
        let stored = notes.store(&grant, NoteAt::new("k", grant.number, sequence), bytes).await.unwrap();
        stored.expect("it is held");
    };
    write(1, b"old").await;
    members.part(2, true);
    write(2, b"new").await;
    members.part(2, false);
    for away in [0, 1] {
        members.part(away, true);
        let reader = members.client().await.unwrap();
        let note = reader.notes().unwrap().load(&name(), "k").await.unwrap().expect("a note");
        demand(note.bytes == b"new", Kind::LostWrite, format!("an older note without member {away}"));
        members.part(away, false);
    }
    let third = redis_member(&members.servers[2], HOUR).await;
    let (note, sequence) = third.member().unwrap().dated(&name(), "k").await.unwrap().expect("written back");
    assert_eq!((note.bytes.as_slice(), note.token.get(), sequence), (b"new".as_slice(), grant.number, 2));
}
