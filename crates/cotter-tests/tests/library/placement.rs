//! Where the work happens: no runtime of a user, no task that is not polled, no slow subscriber holds up a lock.

use cotter::{Client, ErrorKind, Guard, Lease, LossCause, Op, Released, memory};
use cotter_testkit::timing::{self, FAR, Stopwatch, happens};
use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

const TTL: Duration = Duration::from_millis(150);

fn single() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn threads(n: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(n).enable_all().build().unwrap()
}

fn pair() -> (Client, Client) {
    let store = memory::Store::new();
    let connect = || Client::builder().connect_to(store.clone()).wait().unwrap();
    (connect(), connect())
}

/// Somebody else gets the lock within a second, far sooner than the lease would end.
fn is_soon_free(other: &Client, name: &str) -> Guard {
    let since = Stopwatch::start();
    let guard = other.mutex(name).try_lock_for(FAR).wait().unwrap().expect("it was released");
    since.at_most(Duration::from_secs(1), "it was released");
    guard
}

#[test]
fn a_dropped_guard_is_free_for_the_next_try_in_this_process() {
    let (client, _) = pair();
    for _ in 0..1000 {
        let guard = client.mutex("a").try_lock().wait().unwrap();
        drop(guard.expect("the drop before this came first"));
    }
}

#[test]
fn a_guard_that_is_dropped_between_two_block_ons_is_released_at_once() {
    let (client, other) = pair();
    let runtime = single();
    let guard = runtime.block_on(client.mutex("a").lock()).unwrap();
    drop(guard);
    drop(is_soon_free(&other, "a"));
    runtime.block_on(async {});
}

#[test]
fn a_guard_that_outlives_its_runtime_is_renewed_and_released() {
    let (client, other) = pair();
    let runtime = threads(1);
    let lease = Lease::renewed(TTL);
    let guard = runtime.block_on(client.mutex("a").lease(lease).lock()).unwrap();
    drop(runtime);
    std::thread::sleep(TTL * 3);
    assert!(guard.is_valid());
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
    drop(guard);
    drop(is_soon_free(&other, "a"));
}

#[test]
fn a_client_in_a_static_serves_two_runtimes_in_turn() {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    let connect = || Client::connect("memory:").wait().unwrap();
    for _ in 0..2 {
        let runtime = threads(1);
        runtime.block_on(async {
            let client = CLIENT.get_or_init(|| std::thread::spawn(connect).join().unwrap());
            let first = client.mutex("a").lock().await.unwrap();
            let waiting = tokio::spawn(client.mutex("a").lock());
            tokio::task::yield_now().await;
            assert_eq!(first.release().await.unwrap(), Released::Yes);
            drop(waiting.await.unwrap().unwrap());
        });
    }
}

#[test]
fn busy_executors_do_not_stop_renewal() {
    let (client, other) = pair();
    let runtime = threads(2);
    let guard = runtime.block_on(client.mutex("a").lease(Lease::renewed(TTL)).lock()).unwrap();
    let lost = guard.lost();
    let busy: Vec<_> = (0..2).map(|_| runtime.spawn(async { std::thread::sleep(TTL * 3) })).collect();
    for task in busy {
        runtime.block_on(task).unwrap();
    }
    assert!(guard.is_valid(), "renewed by the engine");
    assert!(lost.wait_for(Duration::ZERO).is_none());
    assert!(other.mutex("a").try_lock().wait().unwrap().is_none());
}

#[test]
fn a_task_that_is_not_polled_holds_up_nobody() {
    let (client, _) = pair();
    let first = client.mutex("a").lock().wait().unwrap();
    // This one gets in line and is then forgotten by its executor.
    let mut asleep = pin!(client.mutex("a").lock());
    assert!(asleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mutex = client.mutex("a");
    let waiting = std::thread::spawn(move || mutex.try_lock_for(FAR).wait().unwrap());
    std::thread::sleep(Duration::from_millis(20));
    let start = Stopwatch::start();
    drop(first);
    let second = waiting.join().unwrap().expect("the sleeping task is passed over");
    start.at_most(Duration::from_secs(2), "the sleeping task holds up nobody");
    drop(second);
    // It has kept its place: awake again, it gets the lock.
    let runtime = single();
    drop(runtime.block_on(happens("it has its turn", asleep)).unwrap());
}

#[test]
fn a_newcomer_behind_a_sleeping_grant_is_served() {
    let (client, _) = pair();
    let first = client.mutex("a").lock().wait().unwrap();
    let mut asleep = pin!(client.mutex("a").lock());
    assert!(asleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(first);
    std::thread::sleep(Duration::from_millis(50));
    let late = client.mutex("a").try_lock_for(FAR).wait().unwrap();
    drop(late.expect("the grant that nobody takes is passed on"));
}

#[test]
fn a_cancelled_head_does_not_hold_up_the_others() {
    let (client, other) = pair();
    let runtime = threads(2);
    for _ in 0..200 {
        let held = other.mutex("a").lock().wait().unwrap();
        runtime.block_on(async {
            let head = tokio::spawn(client.mutex("a").lock());
            tokio::task::yield_now().await;
            let next = tokio::spawn(client.mutex("a").lock());
            tokio::task::yield_now().await;
            head.abort();
            let _ = head.await;
            drop(held);
            let guard = happens("it is served", next).await;
            drop(guard.unwrap().unwrap());
        });
    }
}

#[test]
fn when_the_queue_is_empty_the_claim_in_the_store_is_undone() {
    let (client, other) = pair();
    let held = other.mutex("a").lock().wait().unwrap();
    let mut waiting = Box::pin(client.mutex("a").lock());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let in_queue = |n| move || other.holder("a").wait().unwrap().and_then(|r| r.waiters) == Some(n);
    let one = in_queue(1);
    until(one);
    drop(waiting);
    let record = |client: &Client| client.holder("a").wait().unwrap().unwrap();
    until(|| record(&client).waiters == Some(0));
    drop(held);
}

fn until(condition: impl Fn() -> bool) {
    timing::until("it comes about", condition);
}

#[test]
fn wait_is_refused_in_a_task_and_works_where_blocking_is_allowed() {
    let (client, _) = pair();
    let lock = |client: &Client| -> Op<Guard> { client.mutex("a").lock() };
    for runtime in [single(), threads(1)] {
        let refused = runtime.block_on(async { lock(&client).wait().unwrap_err() });
        assert_eq!(refused.kind(), ErrorKind::Misuse, "{refused}");
        let clone = client.clone();
        let refused =
            runtime.block_on(runtime.spawn(async move { lock(&clone).wait().unwrap_err() })).unwrap();
        assert_eq!(refused.kind(), ErrorKind::Misuse, "{refused}");
        let clone = client.clone();
        runtime.block_on(runtime.spawn_blocking(move || drop(lock(&clone).wait().unwrap()))).unwrap();
    }
    let clone = client.clone();
    let in_place = async move { tokio::task::block_in_place(|| drop(lock(&clone).wait().unwrap())) };
    let runtime = threads(1);
    runtime.block_on(runtime.spawn(in_place)).unwrap();
}

#[test]
fn in_this_runtime_time_can_be_paused() {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let start = Stopwatch::start();
    runtime.block_on(async {
        let client = Client::builder().in_this_runtime().connect("memory:").await.unwrap();
        let fixed =
            client.mutex("fixed").lease(Lease::fixed(Duration::from_secs(3600))).lock().await.unwrap();
        let renewed =
            client.mutex("renewed").lease(Lease::renewed(Duration::from_secs(10))).lock().await.unwrap();
        let lost = fixed.lost().await;
        assert_eq!(lost.cause, LossCause::Expired);
        assert!(renewed.is_valid(), "renewed through an hour of paused time");
        assert_eq!(fixed.release().await.unwrap(), Released::AlreadyLost);
        let waiting = tokio::spawn(client.mutex("renewed").try_lock_for(Duration::from_secs(60)));
        tokio::time::sleep(Duration::from_secs(5)).await;
        drop(renewed);
        assert!(waiting.await.unwrap().unwrap().is_some());
    });
    start.at_most(Duration::from_secs(5), "an hour of paused time");
}

#[test]
fn in_this_runtime_needs_a_runtime() {
    let connecting = Client::builder().in_this_runtime().connect("memory:");
    let error = std::thread::spawn(|| futures_block_on(connecting)).join().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
}

/// An executor that is not tokio's.
fn futures_block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let thread = std::thread::current();
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread)));
    loop {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        std::thread::park();
    }
}

#[test]
fn another_executor_than_tokio_works() {
    let client = futures_block_on(Client::connect("memory:")).unwrap();
    let guard = futures_block_on(client.mutex("a").lock()).unwrap();
    let mutex = client.mutex("a");
    let waiting = std::thread::spawn(move || futures_block_on(mutex.try_lock_for(Duration::from_millis(50))));
    assert!(waiting.join().unwrap().unwrap().is_none());
    assert_eq!(futures_block_on(guard.release()).unwrap(), Released::Yes);
}

#[test]
fn who_is_told_of_a_loss_can_try_again_at_once() {
    let (client, _) = pair();
    for _ in 0..200 {
        let lease = Lease::fixed(Duration::from_millis(5));
        let guard = client.mutex("a").lease(lease).lock().wait().unwrap();
        guard.lost().wait_for(FAR).expect("a fixed lease ends");
        drop(guard);
        drop(client.mutex("a").try_lock().wait().unwrap().expect("lost, so free"));
    }
}

/// To leave the queue must not cost as many steps as there are others in it, for each of them.
#[test]
fn many_who_stop_waiting_leave_quickly() {
    const MANY: usize = 40_000;
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let client = Client::connect("memory:").wait().unwrap();
    let guard = client.mutex("a").lock().wait().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let before = used();
    runtime.block_on(async {
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..MANY {
            waiting.spawn(client.mutex("a").try_lock_for(Duration::from_millis(200)));
        }
        for left in waiting.join_all().await {
            assert!(left.unwrap().is_none());
        }
    });
    // Half a second; a minute when each walks past all others.
    assert!(used() - before < Duration::from_secs(15), "{:?}", used() - before);
    drop(guard);
    assert!(client.mutex("a").try_lock().wait().unwrap().is_some());
}
