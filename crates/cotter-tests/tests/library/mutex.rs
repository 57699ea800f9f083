//! What a mutex, a lease and a guard mean, on a clock that the test moves.

use cotter::backend::EvictOrder;
use cotter::{
    Client, ErrorKind, Fence, Filter, Guard, Lease, LossCause, ManualClock, Mode, Owner, Released, memory,
};
use cotter_testkit::timing::FAR;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

fn world() -> (ManualClock, Client, Client) {
    let (clock, store) = (ManualClock::new(), memory::Store::new());
    let connect = || Client::builder().clock(clock.clone()).connect_to(store.clone()).wait().unwrap();
    (clock.clone(), connect(), connect())
}

#[test]
fn a_fixed_lease_ends_before_the_store_lets_the_next_one_in() {
    let (clock, one, other) = world();
    let guard = one.mutex("a").lease(Lease::fixed(S * 10)).lock().wait().unwrap();
    // 1 % and 2 ms are not relied on.
    assert_eq!(guard.remaining(), Some(S * 10 - S / 10 - Duration::from_millis(2)));
    clock.advance(Duration::from_millis(9_897));
    assert!(guard.is_valid() && guard.check().is_ok());
    clock.advance(Duration::from_millis(1));
    assert!(!guard.is_valid());
    let lost = guard.check().unwrap_err();
    assert_eq!((lost.cause, lost.token, lost.name.as_str()), (LossCause::Expired, guard.token(), "a"));
    assert_eq!(guard.remaining(), Some(Duration::ZERO));
    let next = other.mutex("a").try_lock().wait().unwrap().expect("freed at the deadline");
    assert!(next.token() > guard.token());
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
    assert!(next.is_valid());
}

#[test]
fn a_renewed_lease_goes_on_until_max_hold() {
    let (clock, one, other) = world();
    let lease = Lease::renewed(S * 3).max_hold(S * 60);
    let guard = one.mutex("a").lease(lease).lock().wait().unwrap();
    clock.advance(S * 59);
    assert!(guard.is_valid());
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    clock.advance(S);
    assert_eq!(guard.check().unwrap_err().cause, LossCause::MaxHold);
    drop(other.mutex("a").try_lock().wait().unwrap().expect("given back at once"));
}

#[test]
fn a_suspended_machine_learns_it_on_resume_before_any_other_guarded_call() {
    let (clock, one, other) = world();
    let guard = one.mutex("a").lease(Lease::renewed(S * 10)).lock().wait().unwrap();
    clock.advance(S * 100);
    clock.suspend(S * 60);
    assert_eq!(guard.check().unwrap_err().cause, LossCause::Expired);
    let error = guard.put_note("late").wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert_eq!(guard.extend(S).wait().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
    drop(other.mutex("a").try_lock().wait().unwrap().expect("free"));
}

#[test]
fn extend_moves_the_deadline_and_never_back() {
    let (clock, one, _) = world();
    let guard = one.mutex("a").lease(Lease::fixed(S * 10)).lock().wait().unwrap();
    let signal = guard.expiring(S * 2);
    guard.extend(S * 60).wait().unwrap();
    clock.advance(S * 50);
    assert!(guard.is_valid());
    guard.extend(S).wait().unwrap();
    assert!(guard.remaining().unwrap() > S * 8, "never shortens");
    assert!(signal.wait_for(Duration::ZERO).is_none(), "moved with the deadline");
    clock.advance(S * 8);
    assert!(guard.is_valid());
    let expiring = signal.wait_for(Duration::ZERO).expect("two seconds before the end").expect("still held");
    assert!(expiring.left <= S * 2 && expiring.left > S && expiring.token == guard.token(), "{expiring:?}");
    let text = format!(
        "the lock \"a\" (token {}) ends in {:.1?} unless it is renewed",
        guard.token(),
        expiring.left
    );
    assert_eq!(expiring.to_string(), text);
    clock.advance(S * 2);
    assert!(!guard.is_valid());
    assert_eq!(signal.wait_for(Duration::ZERO).unwrap().unwrap_err().cause, LossCause::Expired);
    assert_eq!(guard.extend(Duration::MAX).wait().unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn leases_that_cannot_work_are_refused_before_io() {
    let (_, one, _) = world();
    for lease in [
        Lease::renewed(Duration::ZERO),
        Lease::fixed(Duration::MAX),
        Lease::renewed(S).max_hold(Duration::ZERO),
    ] {
        let error = one.mutex("a").lease(lease).lock().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let error = one.mutex("").lock().wait().unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::InvalidName, "invalid name: a lock needs a name of at least one byte")
    );
    let long = "x".repeat(513);
    let error = one.mutex(&long).try_lock().wait().unwrap_err();
    assert_eq!(error.to_string(), "invalid name: the name has 513 bytes, 512 are allowed");
    let error = one.holder("a\u{7}b").wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid name: the name has the control character '\\u{7}' at byte 1; leave it out"
    );
}

/// Half of a lease must be worth something.
#[test]
fn a_lease_that_the_drift_eats_up_is_refused() {
    let ms = Duration::from_millis;
    let connect =
        |lease, fixed| Client::builder().lease(lease).drift(10_000, fixed).connect("memory:").wait();
    for (lease, drift) in [(Lease::renewed(ms(1)), ms(2)), (Lease::fixed(ms(500)), S)] {
        let error = connect(lease, drift).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("cannot be relied on"), "{error}");
        let client = connect(Lease::default(), drift).unwrap();
        let error = client.mutex("a").lease(lease).try_lock().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let error = client.rwlock("a").lease(lease).try_read().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let error = connect(Lease::default(), Duration::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    let client = connect(Lease::renewed(ms(5)), ms(2)).unwrap();
    assert!(client.mutex("a").lock().wait().unwrap().remaining().unwrap() <= ms(3));
    let exact = connect(Lease::fixed(ms(1000)), ms(490)).unwrap();
    assert!(!exact.mutex("a").lock().wait().unwrap().remaining().unwrap().is_zero());
}

#[test]
fn the_same_owner_re_enters_and_the_last_release_frees() {
    let (_, one, other) = world();
    let me = Owner::new();
    let mutex = one.mutex("a").owner(&me);
    let outer = mutex.lock().wait().unwrap();
    let inner = mutex.try_lock().wait().unwrap().expect("re-entered");
    assert_eq!((outer.token(), outer.holds()), (inner.token(), 2));
    assert!(one.mutex("a").try_lock().wait().unwrap().is_none(), "others are others");
    assert!(one.mutex("a").owner(&Owner::new()).try_lock().wait().unwrap().is_none());
    let told = inner.lost();
    assert_eq!(outer.release().wait().unwrap(), Released::StillHeld(1));
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    assert_eq!(inner.release().wait().unwrap(), Released::Yes);
    assert_eq!(told.wait_for(FAR).expect("nobody waits for ever").cause, LossCause::Released);
    drop(other.mutex("a").try_lock().wait().unwrap().expect("free"));
}

#[tokio::test]
async fn an_owner_goes_with_its_scope_and_not_with_spawn() {
    let client = Client::connect("memory:").await.unwrap();
    let outside = client.clone();
    Owner::new()
        .scope(async move {
            let _outer = client.mutex("a").lock().await.unwrap();
            drop(client.mutex("a").lock().await.unwrap());
            let mutex = client.mutex("a");
            assert!(tokio::spawn(async move { mutex.try_lock().await.unwrap().is_none() }).await.unwrap());
            let (me, mutex) = (Owner::current().unwrap(), client.mutex("a"));
            let again =
                tokio::spawn(me.scope(async move { mutex.owner(&Owner::current().unwrap()).lock().await }));
            assert_eq!(again.await.unwrap().unwrap().holds(), 2);
        })
        .await;
    assert!(Owner::current().is_none());
    drop(outside.mutex("a").try_lock().await.unwrap().expect("free"));
}

#[test]
fn re_entry_with_a_fixed_lease_sets_the_full_time_anew() {
    let (clock, one, _) = world();
    let me = Owner::new();
    let mutex = one.mutex("a").lease(Lease::fixed(S * 10)).owner(&me);
    let outer = mutex.lock().wait().unwrap();
    clock.advance(S * 8);
    let inner = mutex.lock().wait().unwrap();
    clock.advance(S * 8);
    assert!(outer.is_valid(), "the re-entry has extended it");
    assert_eq!(inner.release().wait().unwrap(), Released::StillHeld(1));
    clock.advance(S * 8);
    assert!(outer.is_valid(), "so has the release that was not the last");
    clock.advance(S * 3);
    assert!(!outer.is_valid());
}

#[test]
fn re_entry_after_loss_says_so_until_the_guard_is_gone() {
    let (clock, one, _) = world();
    let me = Owner::new();
    let mutex = one.mutex("a").lease(Lease::fixed(S)).owner(&me);
    let outer = mutex.lock().wait().unwrap();
    clock.advance(S * 2);
    let error = mutex.lock().wait().unwrap_err();
    assert_eq!((error.kind(), error.lost().unwrap().cause), (ErrorKind::Lost, LossCause::Expired));
    assert_eq!(outer.release().wait().unwrap(), Released::AlreadyLost);
    drop(mutex.lock().wait().unwrap());
}

#[test]
fn a_released_name_stays_locked_for_a_while() {
    let (clock, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    let token = guard.token();
    assert_eq!(guard.keep_for(S * 60).wait().unwrap(), Released::Yes);
    clock.advance(S * 59);
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    clock.advance(S);
    assert!(other.mutex("a").try_lock().wait().unwrap().expect("over").token() > token);
}

#[test]
fn an_evicted_holder_is_told_at_its_next_renewal() {
    let (clock, one, other) = world();
    let guard = one.mutex("a").lease(Lease::renewed(S * 9)).lock().wait().unwrap();
    drop(other.admin().evict("a").wait().unwrap());
    assert!(guard.is_valid());
    clock.advance(S * 3);
    assert_eq!(guard.check().unwrap_err().cause, LossCause::Evicted);
    let guard = one.mutex("b").lease(Lease::fixed(S * 9)).lock().wait().unwrap();
    guard.put_note("in time").wait().unwrap();
    drop(other.admin().evict("b").wait().unwrap());
    let error = guard.put_note("late").wait().unwrap_err();
    assert_eq!(error.lost().unwrap().cause, LossCause::Evicted);
    assert_eq!(other.note("b").wait().unwrap().unwrap().bytes, b"in time");
}

/// It has no other time to stop in: nothing announced the loss.
#[test]
fn an_evicted_lock_passes_on_when_its_holder_is_done_or_its_lease_ends() {
    let (clock, one, other) = world();
    for is_done in [false, true] {
        let guard = one.mutex("a").lease(Lease::renewed(S * 9)).lock().wait().unwrap();
        drop(other.admin().evict("a").wait().unwrap());
        clock.advance(S * 3);
        assert_eq!(guard.check().unwrap_err().cause, LossCause::Evicted);
        let free = |client: &Client| client.mutex("a").try_lock().wait().unwrap().is_some();
        assert!(!free(&one) && !free(&other), "violation[overlap]: the evicted holder has not stopped yet");
        if is_done {
            assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
            clock.advance(Duration::ZERO);
            assert!(free(&other), "violation[left-behind]: its holder is done");
        } else {
            clock.advance(S * 10);
            assert!(free(&other), "violation[left-behind]: it is not renewed any more");
            drop(guard);
        }
        assert!(free(&one));
    }
}

const NOW: EvictOrder = EvictOrder::new().at_once();

/// Nobody here had heard of it: the release is the first to ask.
#[test]
fn a_release_tells_that_the_store_did_not_know_the_lock_any_more() {
    let (_, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    let (before, token) = (guard.lost(), guard.token());
    drop(other.admin().evict_with("a", NOW).wait().unwrap());
    let next = other.mutex("a").try_lock().wait().unwrap().expect("taken away from the first");
    assert!(guard.is_valid(), "nothing has been asked yet");
    assert_eq!(guard.release().wait().unwrap(), Released::AlreadyLost);
    let lost = before.wait_for(FAR).expect("told with the release");
    assert_eq!(lost.cause, LossCause::Evicted);
    assert_eq!((lost.token, lost.name.as_str()), (token, "a"));
    assert!(next.is_valid() && one.mutex("a").try_lock().wait().unwrap().is_none());
    next.finish().wait().unwrap();
    let guard = one.mutex("a").lock().wait().unwrap();
    drop(other.admin().evict_with("a", NOW).wait().unwrap());
    assert_eq!(guard.keep_for(S).wait().unwrap(), Released::AlreadyLost);
    drop(other.mutex("a").try_lock().wait().unwrap().expect("nothing was left behind"));
}

#[test]
fn a_dropped_guard_tells_its_signals_what_the_release_found() {
    let (_, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    let signal = guard.lost();
    drop(other.admin().evict_with("a", NOW).wait().unwrap());
    drop(guard);
    assert_eq!(signal.wait_for(FAR).expect("told").cause, LossCause::Evicted);
    let guard = one.mutex("a").lock().wait().unwrap();
    let signal = guard.lost();
    drop(guard);
    assert_eq!(signal.wait_for(FAR).expect("told").cause, LossCause::Released);
}

#[test]
fn readers_and_re_entered_locks_are_lost_with_their_last_release() {
    let (_, one, other) = world();
    let (reader, second) = (one.rwlock("a").read().wait().unwrap(), one.rwlock("a").read().wait().unwrap());
    let order = EvictOrder::new().only(reader.token()).at_once();
    drop(other.admin().evict_with("a", order).wait().unwrap());
    assert_eq!(Guard::from(reader).release().wait().unwrap(), Released::AlreadyLost);
    assert_eq!(Guard::from(second).release().wait().unwrap(), Released::Yes);
    let me = Owner::new();
    let mutex = one.mutex("a").owner(&me);
    let (outer, inner) = (mutex.lock().wait().unwrap(), mutex.lock().wait().unwrap());
    drop(other.admin().evict_with("a", NOW).wait().unwrap());
    assert_eq!(inner.release().wait().unwrap(), Released::StillHeld(1));
    assert_eq!(outer.release().wait().unwrap(), Released::AlreadyLost);
    drop(mutex.lock().wait().unwrap());
}

/// Those before it have asked nobody, and cannot know.
#[test]
fn the_last_of_a_block_of_turns_tells_that_the_lock_had_gone() {
    let (clock, one, other) = world();
    let held = other.mutex("a").lock().wait().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    for _ in 0..4 {
        let (mutex, tell) = (one.mutex("a"), tell.clone());
        std::thread::spawn(move || tell.send(mutex.lock().wait().unwrap()).unwrap());
    }
    std::thread::sleep(Duration::from_millis(200));
    held.finish().wait().unwrap();
    let next = || told.recv_timeout(S * 20).expect("it is passed on");
    let mut turn = next();
    // The first one asked for itself alone; the others get a block.
    for _ in 0..2 {
        // A block has no more turns than microseconds have passed.
        clock.advance(Duration::from_millis(1));
        assert_eq!(turn.release().wait().unwrap(), Released::Yes);
        turn = next();
    }
    let (signal, token) = (turn.lost(), turn.token());
    drop(other.admin().evict_with("a", NOW).wait().unwrap());
    assert_eq!(turn.release().wait().unwrap(), Released::Yes);
    assert_eq!(signal.wait_for(FAR).unwrap().cause, LossCause::Released);
    let last = next();
    assert_eq!(last.token().get(), token.get() + 1, "of the same block");
    assert_eq!(last.release().wait().unwrap(), Released::AlreadyLost);
}

#[tokio::test]
async fn with_does_not_call_work_done_whose_lock_had_gone() {
    let store = memory::Store::new();
    let client = Client::builder().connect_to(store.clone()).await.unwrap();
    let other = Client::builder().connect_to(store).await.unwrap();
    let work = async |_: &Guard| other.admin().evict_with("a", NOW).await.map(drop);
    let error = client.mutex("a").with(work).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert_eq!(error.lost().unwrap().name.as_str(), "a");
}

#[tokio::test]
async fn scope_and_with_stop_the_work_when_the_lock_is_lost() {
    let client = Client::connect("memory:").await.unwrap();
    let short = Lease::fixed(Duration::from_millis(40));
    let guard = client.mutex("a").lease(short).lock().await.unwrap();
    let lost = guard.scope(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(lost.cause, LossCause::Expired);
    let error =
        client.mutex("b").lease(short).with(async |_| std::future::pending::<()>().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    let token = client.mutex("b").with(async |guard| guard.token()).await.unwrap();
    assert!(token.get() > 0);
    drop(client.mutex("b").try_lock().await.unwrap().expect("released at the end"));
}

#[test]
fn a_fence_refuses_stale_holders() {
    let (_, one, _) = world();
    let fence = Fence::new();
    let first = one.mutex("a").lock().wait().unwrap();
    fence.admit(&first).unwrap();
    fence.admit(&first).unwrap();
    let token = first.token();
    drop(first);
    let second = one.mutex("a").lock().wait().unwrap();
    fence.admit(&second).unwrap();
    let stale = fence.admit_token(token, Mode::Exclusive).unwrap_err();
    assert_eq!((stale.token, stale.seen), (token, second.token()));
    assert_eq!(stale.to_string(), format!("token {token} is stale: {} was here before", second.token()));
}

#[test]
fn notes_outlive_the_lock() {
    let (_, one, other) = world();
    assert!(other.note("a").wait().unwrap().is_none());
    let guard = one.mutex("a").lock().wait().unwrap();
    guard.put_note("one").wait().unwrap();
    guard.put_note("two").wait().unwrap();
    let too_long = guard.put_note(vec![0; 64 * 1024 + 1]).wait().unwrap_err();
    assert_eq!(too_long.kind(), ErrorKind::InvalidInput);
    let token = guard.token();
    drop(guard);
    let note = other.note("a").wait().unwrap().unwrap();
    assert_eq!((note.bytes, note.token), (b"two".to_vec(), token));
}

/// One that is overtaken by a later one is no sign of a loss.
#[test]
fn a_holder_may_write_from_several_threads() {
    let client = Client::connect("memory:").wait().unwrap();
    let guard = client.mutex("a").lock().wait().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..5000).for_each(|_| guard.put_note("x").wait().expect("it is the holder")));
        }
    });
    guard.finish().wait().unwrap();
}

#[test]
fn notes_under_keys_are_apart_and_checked() {
    let (_, one, other) = world();
    let guard = one.mutex("a").lock().wait().unwrap();
    for (key, text) in [("", "main"), ("history", "old"), ("history", "new"), ("", "main again")] {
        guard.put_note_at(key, text).wait().unwrap();
    }
    let text = |key: &str| other.note_at("a", key).wait().unwrap().map(|n| n.bytes);
    assert_eq!((text(""), text("history")), (Some(b"main again".to_vec()), Some(b"new".to_vec())));
    assert_eq!(text("other"), None);
    let both = other.notes_at([("a", "history"), ("a", "other"), ("b", "")]).wait().unwrap();
    let texts = both.into_iter().map(|note| note.map(|note| note.bytes));
    assert_eq!(texts.collect::<Vec<_>>(), [Some(b"new".to_vec()), None, None]);
    for (key, bytes) in [("x".repeat(129), 0), ("two\nlines".into(), 0), ("k".into(), 64 * 1024 + 1)] {
        let error = guard.put_note_at(&key, vec![0; bytes]).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        let error = other.swap_note("a", &key, 0, vec![0; bytes]).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert_eq!(other.note_at("a", "a\u{7}").wait().unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_note_is_swapped_only_by_who_has_seen_it() {
    let (clock, one, other) = world();
    let first = one.swap_note("a", "control", 0, "one").wait().unwrap().expect("there was none");
    assert_eq!(other.swap_note("a", "control", 0, "lost").wait().unwrap(), None);
    let second = other.swap_note("a", "control", first, "two").wait().unwrap().expect("nobody was between");
    assert!(second > first);
    let note = one.note_changed("a", "control", first, S).wait().unwrap().expect("it has changed already");
    assert_eq!((note.bytes.as_slice(), note.revision), (b"two".as_slice(), second));
    let asked = one.clone();
    let waiting =
        std::thread::spawn(move || asked.note_changed("a", "control", second, S * 60).wait().unwrap());
    other.swap_note("a", "control", second, "three").wait().unwrap().expect("nobody was between");
    assert_eq!(waiting.join().unwrap().unwrap().bytes, b"three");
    let waiting = std::thread::spawn(move || one.note_changed("b", "", 0, S).wait().unwrap());
    while !waiting.is_finished() {
        clock.advance(S);
        std::thread::yield_now();
    }
    assert!(waiting.join().unwrap().is_none(), "the time was over");
}

#[test]
fn close_waits_tells_and_takes_nothing_more() {
    let (_, one, other) = world();
    let kept = one.mutex("kept").lock().wait().unwrap();
    let mutex = one.mutex("kept");
    let waiting = std::thread::spawn(move || mutex.lock().wait());
    one.clone().close(Duration::ZERO).wait().unwrap();
    assert_eq!(kept.check().unwrap_err().cause, LossCause::Closed);
    assert_eq!(one.mutex("b").lock().wait().unwrap_err().kind(), ErrorKind::Misuse);
    assert!(waiting.join().unwrap().is_err());
    assert_eq!(kept.release().wait().unwrap(), Released::AlreadyLost);
    drop(other.mutex("kept").try_lock().wait().unwrap().expect("given back"));
}

#[test]
fn listing_shows_who_holds() {
    let store = memory::Store::new();
    let client = Client::builder().label("deploy").connect_to(store).wait().unwrap();
    let _a = client.mutex("jobs:a").lock().wait().unwrap();
    let _b = client.mutex("jobs:b").lock().wait().unwrap();
    let _c = client.mutex("other").lock().wait().unwrap();
    let mut records = client.admin().list(Filter::prefix("jobs:"));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let first = records.next().await.unwrap().unwrap();
        assert_eq!(first.name.as_str(), "jobs:a");
        let label = &first.holders[0].label;
        assert!(label.ends_with(&format!("/{} (deploy)", std::process::id())), "{label}");
        assert_eq!(records.next().await.unwrap().unwrap().name.as_str(), "jobs:b");
        assert!(records.next().await.unwrap().is_none());
    });
}

#[test]
fn urls_that_cannot_work_say_which_part_is_wrong() {
    let told = |url: &str| Client::connect(url).wait().unwrap_err();
    let cases = [
        ("nonsense", "has no scheme"),
        ("mysterious://x", "scheme \"mysterious\""),
        ("memory:x", "memory: takes nothing after the colon"),
    ];
    for (url, part) in cases {
        let error = told(url);
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(part), "{error}");
    }
    let secret = told("mysterious://user:hunter2@host/");
    assert!(!format!("{secret} {secret:?}").contains("hunter2"));
}
