//! Waiting for the lock.

use super::args::Run;
use super::said::{Watcher, of_busy};
use crate::command::signals::Signals;
use crate::output::{Console, Failure};
use cotter::{Client, Guard, Name, ReadGuard};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::timeout;

/// How long the store may take to say who holds the lock.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the store may take to hear that we do not wait any more.
const LEAVE: Duration = Duration::from_secs(1);

/// How the wait ended.
pub(super) enum Acquired {
    Held(Guard),
    Busy,
    /// By this signal.
    Interrupted(u8),
}

/// Waits as the arguments say.
pub(super) async fn acquire(
    args: &Run,
    client: &Client,
    name: &Name,
    signals: &mut Signals,
    console: &Console,
) -> Result<Acquired, Failure> {
    let acquired = tokio::select! {
        biased;
        signal = signals.stop() => Acquired::Interrupted(signal),
        guard = ask(args, client, name) => guard?.map_or(Acquired::Busy, Acquired::Held),
        failure = Watcher::new(client, name, console).watch() => {
            close(client).await;
            return Err(failure);
        }
    };
    match acquired {
        Acquired::Held(guard) => Ok(match arrived(signals).await {
            Some(signal) => leave(client, Some(guard), signal).await,
            None => Acquired::Held(guard),
        }),
        Acquired::Busy => {
            let record = timeout(PATIENCE, client.holder(name)).await.ok().and_then(Result::ok).flatten();
            console.remark(&of_busy(args, name, record.as_ref()));
            Ok(Acquired::Busy)
        }
        Acquired::Interrupted(signal) => Ok(leave(client, None, signal).await),
    }
}

async fn ask(args: &Run, client: &Client, name: &Name) -> Result<Option<Guard>, cotter::Error> {
    if args.shared {
        return share(args, client, name).await.map(|guard| guard.map(Guard::from));
    }
    let mutex = client.mutex(name);
    match args.wait {
        _ if args.no_wait => mutex.try_lock().await,
        Some(wait) => mutex.try_lock_for(wait).await,
        None => mutex.lock().await.map(Some),
    }
}

async fn share(args: &Run, client: &Client, name: &Name) -> Result<Option<ReadGuard>, cotter::Error> {
    let lock = client.rwlock(name);
    match args.wait {
        _ if args.no_wait => lock.try_read().await,
        Some(wait) => lock.try_read_for(wait).await,
        None => lock.read().await.map(Some),
    }
}

/// A stop signal that came together with the lock: the runtime looks at its events once more before we do.
async fn arrived(signals: &mut Signals) -> Option<u8> {
    tokio::select! {
        biased;
        signal = signals.stop() => Some(signal),
        () = yield_now() => None,
    }
}

async fn leave(client: &Client, guard: Option<Guard>, signal: u8) -> Acquired {
    drop(guard);
    close(client).await;
    Acquired::Interrupted(signal)
}

/// Nothing of ours stays behind in the store's queue.
async fn close(client: &Client) {
    let _ = timeout(2 * LEAVE, client.close(LEAVE)).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[tokio::test]
    async fn a_signal_that_the_runtime_has_not_seen_yet_is_heard() {
        let mut signals = Signals::listen().unwrap();
        assert_eq!(arrived(&mut signals).await, None);
        kill_process(getpid(), Signal::HUP).unwrap();
        // Another thread of this process may be the one to take it, a little later. Between the looks this thread
        // sleeps without the runtime, so that nothing but the look itself can make the runtime see it.
        let mut looks = 0;
        while arrived(&mut signals).await != Some(1) {
            looks += 1;
            assert!(looks < 5_000, "not heard");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(arrived(&mut signals).await, None);
    }
}
