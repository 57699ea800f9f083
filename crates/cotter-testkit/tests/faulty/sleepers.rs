//! An attempt is on its way, and its task has stopped polling it, or the store has stopped answering: nobody may have to
//! wait for that.

use cotter::{Client, Guard, Op, memory};
use cotter_testkit::faulty::{Call, Faults, Faulty};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::timing::{FAR, happens};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

async fn clients() -> (Client, Client, Faults) {
    let (store, faults) = (memory::Store::new(), Faults::seeded(7));
    let slow = Client::builder().connect_to(Faulty::new(store.clone(), &faults)).await.unwrap();
    let other = Client::builder().connect_to(store).await.unwrap();
    (slow, other, faults)
}

fn poll_once(op: Pin<&mut Op<Guard>>) {
    let polled = Future::poll(op, &mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "it waits at the gate");
}

/// The attempt of a task that sleeps is answered on the engine, and serves the task behind it.
#[tokio::test]
async fn an_attempt_whose_task_sleeps_is_carried_on_for_the_next() {
    let (client, other, faults) = clients().await;
    faults.block(Call::Acquire);
    let mut asleep = pin!(client.mutex("x").lock());
    poll_once(asleep.as_mut());
    let behind = tokio::spawn(client.mutex("x").try_lock_for(FAR));
    while faults.counts().gated == 0 {
        tokio::task::yield_now().await;
    }
    faults.open();
    let guard = behind.await.unwrap().unwrap();
    demand(
        guard.is_some(),
        Kind::StuckWaiter,
        "the attempt of a task that sleeps kept the one behind it waiting",
    );
    let guard = guard.expect("demanded");
    assert!(other.mutex("x").try_lock().await.unwrap().is_none());
    guard.finish().await.unwrap();
    // Awake again, the sleeper has its turn.
    let guard = happens("it has its turn", asleep).await.unwrap();
    guard.finish().await.unwrap();
    assert_eq!(faults.calls(Call::Acquire), 2, "one attempt was carried on, one was made for the sleeper");
    drop(other.mutex("x").try_lock_for(FAR).await.unwrap().expect("nothing is left behind"));
}

/// The attempt only takes long, and its task is wide awake: it must hear that it stands in line now.
#[tokio::test]
async fn a_slow_attempt_that_is_taken_over_is_answered() {
    let (client, _, faults) = clients().await;
    faults.block(Call::Acquire);
    let first = tokio::spawn(client.mutex("x").lock());
    tokio::task::yield_now().await;
    let second = tokio::spawn(client.mutex("x").lock());
    tokio::time::sleep(Duration::from_millis(80)).await;
    faults.open();
    for waiting in [first, second] {
        let guard = tokio::time::timeout(FAR, waiting).await;
        demand(guard.is_ok(), Kind::StuckWaiter, "nobody told a task that its attempt was taken over");
        guard.expect("demanded").unwrap().unwrap().finish().await.unwrap();
    }
}

/// It was given the lock, sleeps, and others of its process wait.
#[tokio::test]
async fn a_grant_that_its_task_does_not_take_goes_to_the_next() {
    let client = Client::connect("memory:").await.unwrap();
    let holder = client.mutex("x").lock().await.unwrap();
    let mut asleep = pin!(client.mutex("x").lock());
    poll_once(asleep.as_mut());
    let behind = tokio::spawn(client.mutex("x").try_lock_for(FAR));
    tokio::task::yield_now().await;
    holder.finish().await.unwrap();
    let guard = behind.await.unwrap().unwrap();
    demand(guard.is_some(), Kind::StuckWaiter, "a grant that nobody takes kept the one behind it waiting");
    drop(guard);
    drop(happens("it has its turn", asleep).await.unwrap());
}

/// The sleeper is dropped after its attempt was taken over, in each state that this can be in.
#[tokio::test]
async fn a_sleeper_that_is_dropped_leaves_nothing_behind() {
    for pause in [0, 5, 15, 30, 60] {
        let (client, other, faults) = clients().await;
        faults.block(Call::Acquire);
        let mut asleep = Box::pin(client.mutex("x").lock());
        poll_once(asleep.as_mut());
        let behind = tokio::spawn(client.mutex("x").try_lock_for(FAR));
        tokio::time::sleep(Duration::from_millis(pause)).await;
        if pause % 2 == 0 {
            faults.open();
        }
        drop(asleep);
        faults.open();
        drop(behind.await.unwrap().unwrap().expect("served"));
        drop(other.mutex("x").try_lock_for(FAR).await.unwrap().expect("nothing is left behind"));
        client.close(FAR).await.unwrap();
    }
}

/// A single try that sleeps was busy when it wakes up.
#[tokio::test]
async fn a_single_try_that_sleeps_does_not_get_in_line() {
    let (client, _, faults) = clients().await;
    faults.block(Call::Acquire);
    let mut asleep = pin!(client.mutex("x").try_lock());
    assert!(Future::poll(asleep.as_mut(), &mut Context::from_waker(Waker::noop())).is_pending());
    let behind = tokio::spawn(client.mutex("x").try_lock_for(FAR));
    tokio::time::sleep(Duration::from_millis(50)).await;
    faults.open();
    let guard = behind.await.unwrap().unwrap().expect("served");
    assert!(asleep.await.unwrap().is_none(), "somebody else has it");
    guard.finish().await.unwrap();
}

/// No question is answered, neither for the lock nor whether the store is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_hangs_costs_each_caller_its_own_time_and_is_not_called_busy() {
    let (client, _, faults) = clients().await;
    client.mutex("x").lock().await.unwrap().finish().await.unwrap();
    for call in [Call::Acquire, Call::Extend, Call::Release, Call::Look] {
        faults.block(call);
    }
    let wait = Duration::from_millis(200);
    for _ in 0..3 {
        // Ten in one line, and one that is alone in its own.
        let names = ["x"; 10].into_iter().chain(["alone"]);
        let calls: Vec<_> = names.map(|name| tokio::spawn(client.mutex(name).try_lock_for(wait))).collect();
        for call in calls {
            let answer = tokio::time::timeout(FAR, call).await;
            demand(
                answer.is_ok(),
                Kind::StuckWaiter,
                "a caller waited for the store and not for its own time",
            );
            let answer = answer.expect("demanded").unwrap();
            let text = format!("a store that hangs was taken for one that has answered: {answer:?}");
            demand(answer.is_err_and(|e| e.is_retryable()), Kind::BusyWhileDown, text);
        }
    }
    faults.open();
    drop(happens("the store answers again", client.mutex("x").lock()).await.unwrap());
}
