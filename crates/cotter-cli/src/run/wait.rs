//! Waiting for the lock.

use super::args::Run;
use super::monitor::{WaitMonitor, busy_message};
use super::wait_options::WaitOptions;
use crate::command::signals::Signals;
use crate::store::Chosen;
use cotter::{Builder, Client, Guard, Name, Permit, ReadGuard, Semaphore};
use cotter_console::{Console, Exit, Failure};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{Instant, timeout};

/// The timeout for querying the holder.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout for leaving the queue.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The result of waiting.
pub(crate) enum Acquired {
    Held(Guard),
    Busy,
    /// Interrupted by this signal.
    Interrupted(u8),
}

/// Connects. A store that is away, because it is restarted or fails over, is waited for as the lock is, so that a line of a
/// crontab with a time limit does not lose its run. There is one attempt only for a store on this host, whose files do not
/// become usable by waiting, and for a caller that is not `is_patient`.
pub(crate) async fn reach(
    store: &Chosen,
    builder: impl Fn() -> Builder,
    wait_options: &WaitOptions,
    is_patient: bool,
    console: &Console,
) -> Result<Client, Failure> {
    let is_away = |failure: &Failure| console.warning(&format!("waiting for the store: {}", failure.message));
    let end = if is_patient && !store.is_local() { wait_options.store_by() } else { Instant::now() };
    store.reach(builder, Some(end), is_away, console).await
}

/// Waits for the answer to an acquisition.
pub(crate) async fn acquire(
    asking: impl Future<Output = cotter::Result<Option<Guard>>>,
    wait_options: &WaitOptions,
    client: &Client,
    name: &Name,
    signals: &mut Signals,
    console: &Console,
) -> Result<Acquired, Failure> {
    let acquired = tokio::select! {
        biased;
        signal = signals.stop() => Acquired::Interrupted(signal),
        guard = asking => match guard {
            Ok(guard) => guard.map_or(Acquired::Busy, Acquired::Held),
            Err(error) => {
                // What the store may have granted is given back.
                close(client).await;
                return Err(failed(error));
            }
        },
        failure = WaitMonitor::new(client, name, console).watch() => {
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
            let record =
                timeout(HOLDER_TIMEOUT, client.holder(name)).await.ok().and_then(Result::ok).flatten();
            console.remark(&busy_message(wait_options.wait, name, record.as_ref()));
            Ok(Acquired::Busy)
        }
        Acquired::Interrupted(signal) => Ok(leave(client, None, signal).await),
    }
}

/// A row that does not exist, in a table of the user's, is a mistake in the setup: 1 would be taken for the code of the command.
fn failed(error: cotter::Error) -> Failure {
    match Failure::from(error) {
        Failure { exit: Exit::Free, message } => Failure::config(message),
        other => other,
    }
}

/// Acquires what the arguments say, within what is left of the time.
pub(super) async fn ask(
    args: &Run,
    left: &WaitOptions,
    client: &Client,
    name: &Name,
) -> cotter::Result<Option<Guard>> {
    if let Some(leading) = &args.leading {
        return leading.campaign(left, client, name).await;
    }
    match args.limit {
        Some(limit) => {
            let semaphore = client.semaphore(name, limit).take(args.take.unwrap_or(1));
            permits(&semaphore, left).await.map(|permit| permit.map(Guard::from))
        }
        None => lock(args.shared, left, client, name).await,
    }
}

/// Acquires the lock, exclusive or shared.
pub(crate) async fn lock(
    is_shared: bool,
    wait_options: &WaitOptions,
    client: &Client,
    name: &Name,
) -> cotter::Result<Option<Guard>> {
    if is_shared {
        return share(wait_options, client, name).await.map(|guard| guard.map(Guard::from));
    }
    let mutex = client.mutex(name);
    match wait_options.wait {
        _ if wait_options.no_wait => mutex.try_lock().await,
        Some(wait) => mutex.try_lock_for(wait).await,
        None => mutex.lock().await.map(Some),
    }
}

async fn share(
    wait_options: &WaitOptions,
    client: &Client,
    name: &Name,
) -> cotter::Result<Option<ReadGuard>> {
    let lock = client.rwlock(name);
    match wait_options.wait {
        _ if wait_options.no_wait => lock.try_read().await,
        Some(wait) => lock.try_read_for(wait).await,
        None => lock.read().await.map(Some),
    }
}

async fn permits(semaphore: &Semaphore, wait_options: &WaitOptions) -> cotter::Result<Option<Permit>> {
    match wait_options.wait {
        _ if wait_options.no_wait => semaphore.try_acquire().await,
        Some(wait) => semaphore.try_acquire_for(wait).await,
        None => semaphore.acquire().await.map(Some),
    }
}

/// A stop signal that arrived together with the lock: lets the runtime check its events once more.
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

/// Gives back what is held, and leaves nothing in the store's queue.
pub(crate) async fn close(client: &Client) {
    let _ = timeout(2 * CLOSE_TIMEOUT, client.close(CLOSE_TIMEOUT)).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, getpid, kill_process};

    #[tokio::test]
    async fn a_signal_that_the_runtime_has_not_seen_yet_is_heard() {
        let mut signals = Signals::listen().unwrap();
        assert_eq!(arrived(&mut signals).await, None);
        // Not HUP or INT, which are ignored under nohup and in background jobs.
        kill_process(getpid(), Signal::TERM).unwrap();
        // Another thread of this process may handle the signal, a little later. Between the checks this thread sleeps
        // without the runtime, so that only the check itself can make the runtime see it.
        let mut checks = 0;
        while arrived(&mut signals).await != Some(15) {
            checks += 1;
            assert!(checks < 5_000, "not seen");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(arrived(&mut signals).await, None);
    }
}
