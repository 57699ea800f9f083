//! Locks that pass from one process to another as tickets.

use cotter::backend::{Connect, EvictOrder};
use cotter::{
    Client, Error, ErrorKind, Fence, Guard, Lease, LossCause, ManualClock, Owner, Released, Ticket, memory,
};
use cotter_testkit::generous::Unheard;
use cotter_testkit::timing::FAR;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

/// Two processes that share a store.
fn world() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let connect = || Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap();
    (clock.clone(), connect(), connect())
}

fn is_free(client: &Client, name: &str) -> bool {
    client.mutex(name).try_lock().wait().unwrap().is_some()
}

fn lost(error: &Error) -> Option<LossCause> {
    error.lost().map(|lost| lost.cause)
}

#[test]
fn a_ticket_is_resumed_once_and_renewed_from_then_on() {
    let (clock, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    let (signal, token) = (guard.lost(), guard.token());
    let text = guard.into_ticket(S * 60).wait().unwrap().to_string();
    assert_eq!(signal.wait_for(FAR).expect("the guard has ended").cause, LossCause::Released);
    let ticket: Ticket = text.parse().unwrap();
    assert_eq!((ticket.name().as_str(), ticket.token()), ("a", token));
    clock.advance(S * 55);
    assert!(
        !is_free(&one, "a") && !is_free(&other, "a"),
        "violation[overlap]: the ticket has five seconds left"
    );
    let resumed = other.resume(&ticket).wait().unwrap();
    assert_eq!((resumed.token(), resumed.name().as_str()), (token, "a"));
    clock.advance(S * 300);
    assert!(resumed.is_valid() && !is_free(&one, "a"), "violation[overlap]: it is renewed");
    for client in [&one, &other] {
        let error = client.resume(&ticket).wait().unwrap_err();
        assert_eq!(lost(&error), Some(LossCause::Gone), "violation[overlap]: {error}");
    }
    assert_eq!(resumed.release().wait().unwrap(), Released::Yes);
    assert!(is_free(&one, "a"));
}

/// Both calls say why: an operator's eviction is no fault of the store.
#[test]
fn the_ticket_of_an_evicted_lock_says_so() {
    let (_, one, other) = world();
    // Without `at_once` the name stays taken until the lease ends, or somebody gives it back.
    for (order, released) in
        [(EvictOrder::new(), Released::Yes), (EvictOrder::new().at_once(), Released::AlreadyLost)]
    {
        let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
        drop(other.admin().evict_with("a", order).wait().unwrap());
        assert_eq!(lost(&other.resume(&ticket).wait().unwrap_err()), Some(LossCause::Evicted));
        assert_eq!(
            lost(&other.admin().extend_ticket(&ticket, S).wait().unwrap_err()),
            Some(LossCause::Evicted)
        );
        assert_eq!(other.admin().release_ticket(&ticket).wait().unwrap(), released);
    }
}

/// The first waiter has asked for itself alone, the second for a block of turns. The third, with the second token of that
/// block, becomes a ticket: the resource has seen its token.
#[test]
fn the_token_never_falls() {
    let (clock, one, other) = world();
    let (fence, (tell, told)) = (Fence::new(), std::sync::mpsc::channel());
    let held = other.mutex("a").lock().wait().unwrap();
    for _ in 0..4 {
        let (mutex, tell) = (one.mutex("a"), tell.clone());
        std::thread::spawn(move || tell.send(mutex.lock().wait().unwrap()));
    }
    std::thread::sleep(Duration::from_millis(200));
    let next = || told.recv_timeout(S * 20).expect("violation[stuck-waiter]: it is passed on");
    held.finish().wait().unwrap();
    let first = next();
    // A block is not longer than the clock has moved on since the last token.
    clock.advance(S);
    first.finish().wait().unwrap();
    next().finish().wait().unwrap();
    let guard = next();
    fence.admit(&guard).unwrap();
    let resumed = other.resume(&guard.into_ticket(S * 60).wait().unwrap()).wait().unwrap();
    assert!(fence.admit(&resumed).is_ok(), "violation[token-order]: {resumed:?}");
    drop(resumed);
    fence.admit(&next()).unwrap();
}

/// Three tasks take turns under one block of tokens; the last of them becomes a ticket, and the clock stands still.
#[test]
fn a_released_ticket_gives_back_no_token_that_was_used() {
    let (clock, one, other) = world();
    gives_back_no_used_token(&clock, &one, &other);
}

pub(crate) fn gives_back_no_used_token(clock: &ManualClock, one: &Client, other: &Client) {
    let (tell, told) = std::sync::mpsc::channel();
    let held = other.mutex("a").lock().wait().unwrap();
    for _ in 0..4 {
        let (mutex, tell) = (one.mutex("a"), tell.clone());
        std::thread::spawn(move || tell.send(mutex.lock().wait().unwrap()));
    }
    std::thread::sleep(Duration::from_millis(200));
    let next = || told.recv_timeout(S * 20).expect("violation[stuck-waiter]: it is passed on");
    held.finish().wait().unwrap();
    let first = next();
    clock.advance(S);
    first.finish().wait().unwrap();
    next().finish().wait().unwrap();
    let ticket = next().into_ticket(S * 60).wait().unwrap();
    assert_eq!(other.admin().release_ticket(&ticket).wait().unwrap(), Released::Yes);
    let token = next().token();
    assert!(token > ticket.token(), "violation[repeated-token]: {token:?} after {:?}", ticket.token());
}

#[test]
fn an_adoption_that_is_undone_gives_back_no_token() {
    an_undone_adoption_gives_back_none(&ManualClock::new(), memory::Store::new());
}

/// The answer to the adoption is lost, so it is undone: the token of the guard before stays used.
pub(crate) fn an_undone_adoption_gives_back_none(clock: &ManualClock, store: impl Connect + Clone) {
    let builder = || Client::builder().clock(clock.clone());
    let one = builder().connect_to(store.clone()).wait().unwrap();
    let deaf = builder().connect_to(Unheard::new(store)).wait().unwrap();
    let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    deaf.resume(&ticket).wait().unwrap_err();
    let next = one.mutex("a").try_lock_for(S * 20).wait().unwrap().expect("violation[left-behind]");
    assert!(next.token() > ticket.token(), "violation[repeated-token]: {:?} twice", next.token());
}

/// The third task has the second token of the block, and the store knows the first.
#[test]
fn a_record_owns_all_tokens_of_its_block() {
    let (clock, one, other) = world();
    let (tell, told) = std::sync::mpsc::channel();
    let held = other.mutex("a").lock().wait().unwrap();
    for _ in 0..3 {
        let (mutex, tell) = (one.mutex("a"), tell.clone());
        std::thread::spawn(move || tell.send(mutex.lock().wait().unwrap()));
    }
    std::thread::sleep(Duration::from_millis(200));
    let next = || told.recv_timeout(S * 20).expect("violation[stuck-waiter]: it is passed on");
    held.finish().wait().unwrap();
    let first = next();
    clock.advance(S);
    let before = first.token();
    first.finish().wait().unwrap();
    next().finish().wait().unwrap();
    let guard = next();
    guard.put_note("here").wait().unwrap();
    let (note, record) =
        (other.note("a").wait().unwrap().unwrap(), other.holder("a").wait().unwrap().unwrap());
    let holder = &record.holders[0];
    assert!(holder.token < guard.token(), "it is not the first of its block");
    assert!(holder.owns(note.token) && holder.owns(guard.token()), "{holder:?} wrote {note:?}");
    assert!(!holder.owns(before), "{holder:?}");
    guard.finish().wait().unwrap();
}

#[test]
fn a_ticket_ends_with_its_time() {
    let (clock, one, other) = world();
    let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    clock.advance(S * 59);
    other.admin().extend_ticket(&ticket, S * 60).wait().unwrap();
    clock.advance(S * 59);
    assert!(!is_free(&one, "a"));
    clock.advance(S);
    let next = one.mutex("a").try_lock().wait().unwrap().expect("violation[left-behind]: its time is over");
    assert_eq!(lost(&other.resume(&ticket).wait().unwrap_err()), Some(LossCause::Gone));
    assert_eq!(lost(&other.admin().extend_ticket(&ticket, S).wait().unwrap_err()), Some(LossCause::Gone));
    assert_eq!(other.admin().release_ticket(&ticket).wait().unwrap(), Released::AlreadyLost);
    assert!(next.is_valid() && !is_free(&other, "a"), "violation[overlap]: the ticket freed the next holder");
}

#[test]
fn a_ticket_can_be_released() {
    let (_, one, other) = world();
    let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    assert_eq!(other.admin().release_ticket(&ticket).wait().unwrap(), Released::Yes);
    assert!(is_free(&one, "a"), "violation[left-behind]");
    assert_eq!(other.admin().release_ticket(&ticket).wait().unwrap(), Released::AlreadyLost);
}

/// They wait for the store, like every other process, and for its next holder.
#[test]
fn tasks_that_wait_here_go_on_waiting() {
    let (_, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    let (mutex, (tell, told)) = (one.mutex("a"), std::sync::mpsc::channel());
    std::thread::spawn(move || tell.send(mutex.lock().wait().unwrap()).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    let ticket = guard.into_ticket(S * 60).wait().unwrap();
    assert!(told.recv_timeout(Duration::from_millis(100)).is_err(), "violation[overlap]: it is still held");
    let resumed = other.resume(&ticket).wait().unwrap();
    assert!(told.recv_timeout(Duration::from_millis(100)).is_err(), "violation[overlap]: it is held again");
    resumed.finish().wait().unwrap();
    drop(told.recv_timeout(S * 10).expect("violation[stuck-waiter]: it is free"));
}

#[test]
fn a_resumption_that_nobody_waits_for_is_undone() {
    let (_, one, other) = world();
    let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    let mut resuming = Box::pin(other.resume(&ticket));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = resuming.as_mut().poll(&mut context);
    drop(resuming);
    drop(one.mutex("a").try_lock_for(S * 20).wait().unwrap().expect("violation[left-behind]"));
}

#[test]
fn readers_and_permits_become_tickets_too() {
    let (_, one, other) = world();
    let (reader, beside) = (one.rwlock("a").read().wait().unwrap(), one.rwlock("a").read().wait().unwrap());
    let ticket = Guard::from(reader).into_ticket(S * 60).wait().unwrap();
    drop(beside);
    assert!(!is_free(&other, "a"), "violation[overlap]: the reader with the ticket");
    drop(other.resume(&ticket).wait().unwrap());
    drop(one.mutex("a").try_lock_for(S * 20).wait().unwrap().expect("violation[left-behind]"));
}

#[test]
fn what_cannot_become_a_ticket_says_so() {
    let (_, one, _) = world();
    let me = Owner::new();
    let mutex = one.mutex("a").owner(&me);
    let (outer, inner) = (mutex.lock().wait().unwrap(), mutex.lock().wait().unwrap());
    assert_eq!(inner.into_ticket(S).wait().unwrap_err().kind(), ErrorKind::Misuse);
    assert!(outer.is_valid(), "the other guard of its owner holds it");
    assert_eq!(outer.into_ticket(Duration::ZERO).wait().unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(is_free(&one, "a"), "violation[left-behind]: a guard that fails to become a ticket is released");
}

#[test]
fn the_default_lease_goes_for_a_resumed_lock() {
    let (clock, one, _) = world();
    let store = memory::Store::new();
    let fixed = Client::builder().clock(clock.clone()).lease(Lease::fixed(S * 5)).connect_to(store);
    let fixed = fixed.wait().unwrap();
    let ticket = fixed.mutex("a").lock().wait().unwrap().into_ticket(S * 3).wait().unwrap();
    let resumed = fixed.resume(&ticket).wait().unwrap();
    clock.advance(S * 6);
    assert_eq!(resumed.check().unwrap_err().cause, LossCause::Expired);
    assert_eq!(lost(&one.resume(&ticket).wait().unwrap_err()), Some(LossCause::Gone), "another store");
}

/// Both have the same token, under which the store takes no earlier write.
#[test]
fn who_resumes_a_lock_goes_on_writing_notes() {
    let (_, one, other) = world();
    let mut guard = one.mutex("a").lock().wait().unwrap();
    for text in ["one", "two", "three"] {
        guard.put_note(text).wait().unwrap();
        let ticket: Ticket = guard.into_ticket(S * 60).wait().unwrap().to_string().parse().unwrap();
        guard = other.resume(&ticket).wait().unwrap();
        assert_eq!(one.note("a").wait().unwrap().expect("it is there").bytes, text.as_bytes());
    }
    guard.finish().wait().unwrap();
}
