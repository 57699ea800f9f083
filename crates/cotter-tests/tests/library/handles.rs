//! The handles and guards that users hold: how they end, what they can do, and what they let through.

use cotter::backend::EvictOrder;
use cotter::{
    Client, ErrorKind, Filter, Guard, Lease, LossCause, ManualClock, Name, Owner, Released, memory,
};
use std::time::Duration;

const S: Duration = Duration::from_secs(1);
const NOW: EvictOrder = EvictOrder::new().at_once();

fn pair() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let connect = || Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap();
    (clock.clone(), connect(), connect())
}

#[test]
fn finish_is_fine_while_the_lock_was_held() {
    let (_, one, other) = pair();
    let me = Owner::new();
    let mutex = one.mutex("a").owner(&me);
    let (outer, inner) = (mutex.lock().wait().unwrap(), mutex.lock().wait().unwrap());
    inner.finish().wait().unwrap();
    assert!(outer.is_valid() && other.mutex("a").try_lock().wait().unwrap().is_none());
    outer.finish().wait().unwrap();
    drop(other.mutex("a").try_lock().wait().unwrap().expect("free"));
}

#[test]
fn finish_says_how_the_lock_was_lost() {
    let (clock, one, other) = pair();
    let expired = one.mutex("a").lease(Lease::fixed(S)).lock().wait().unwrap();
    let token = expired.token();
    clock.advance(S);
    let error = expired.finish().wait().unwrap_err();
    let lost = error.lost().expect("a loss");
    assert_eq!((error.kind(), lost.cause, lost.token), (ErrorKind::Lost, LossCause::Expired, token));
    // Nobody here has heard of it before the store is asked.
    let evicted = one.mutex("b").lock().wait().unwrap();
    drop(other.admin().evict_with("b", NOW).wait().unwrap());
    let error = evicted.finish().wait().unwrap_err();
    assert_eq!(error.lost().expect("a loss").cause, LossCause::Evicted);
}

#[test]
fn finish_is_carried_out_even_if_it_is_never_polled() {
    let (_, one, other) = pair();
    drop(one.mutex("a").lock().wait().unwrap().finish());
    drop(other.mutex("a").try_lock().wait().unwrap().expect("given back"));
}

#[test]
fn readers_and_writers_end_like_other_guards() {
    let (clock, one, other) = pair();
    let lock = one.rwlock("a");
    lock.read().wait().unwrap().finish().wait().unwrap();
    assert_eq!(lock.read().wait().unwrap().release().wait().unwrap(), Released::Yes);
    assert_eq!(lock.write().wait().unwrap().keep_for(S).wait().unwrap(), Released::Yes);
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    clock.advance(S);
    let writer = other.rwlock("a").lease(Lease::fixed(S)).write().wait().unwrap();
    writer.extend(S * 9).wait().unwrap();
    clock.advance(S * 2);
    writer.check().unwrap();
    writer.downgrade().wait().unwrap().finish().wait().unwrap();
}

#[tokio::test]
async fn work_runs_under_shared_and_exclusive_locks() {
    let lock = Client::connect("memory:").await.unwrap().rwlock("a");
    let modes = async |guard: &Guard| guard.mode();
    assert_ne!(lock.with_read(modes).await.unwrap(), lock.with_write(modes).await.unwrap());
    let spawned = tokio::spawn(async move { lock.with_write(async |guard| guard.token()).await });
    spawned.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_bounded_with_runs_nothing_while_the_lock_is_busy() {
    let store = memory::Store::new();
    let one = Client::builder().connect_to(store.clone()).await.unwrap();
    let other = Client::builder().connect_to(store).await.unwrap();
    let guard = one.mutex("a").lock().await.unwrap();
    for wait in [Duration::ZERO, S / 50] {
        let ran = other.mutex("a").try_with_for(wait, async |_| panic!("it is busy")).await.unwrap();
        assert!(ran.is_none());
    }
    guard.finish().await.unwrap();
    assert_eq!(other.mutex("a").try_with_for(S, async |_| 7).await.unwrap(), Some(7));
    let work = async |_: &Guard| one.admin().evict_with("a", NOW).await.map(drop);
    assert_eq!(other.mutex("a").try_with_for(S, work).await.unwrap_err().kind(), ErrorKind::Lost);
}

#[test]
fn handles_and_guards_say_what_they_are_for() {
    let (_, one, _) = pair();
    assert_eq!(one.mutex("a").name().unwrap(), &Name::new("a").unwrap());
    assert_eq!(one.rwlock("a").name().unwrap().as_str(), "a");
    assert_eq!(one.mutex("").name().unwrap_err().kind(), ErrorKind::InvalidName);
    let lease = Lease::fixed(S);
    assert_eq!(one.mutex("a").lease(lease).lock().wait().unwrap().lease(), lease);
}

#[test]
fn blocking_code_can_list() {
    let (_, one, _) = pair();
    let _guards: Vec<_> = ["a", "b", "c"].map(|name| one.mutex(name).lock().wait().unwrap()).into();
    let mut records = one.admin().list(Filter::held());
    assert_eq!(records.blocking_next().unwrap().expect("the first").name.as_str(), "a");
    let rest = records.collect().wait().unwrap();
    assert_eq!(rest.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
}

#[tokio::test]
async fn blocking_code_in_a_task_is_misuse() {
    let mut records = Client::connect("memory:").await.unwrap().admin().list(Filter::held());
    assert_eq!(records.blocking_next().unwrap_err().kind(), ErrorKind::Misuse);
}
