//! Waiting for the lock.

use super::acquire::Acquire;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use crate::run::{WaitMonitor, busy_message};
use crate::stop_signals::StopSignals;
use cotter::{Client, Guard, Name};
use std::time::Duration;
use tokio::time::timeout;

/// The timeout for querying the holder, and for leaving the queue.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) enum Waited {
    Held(Guard),
    /// The lock was busy, or a signal ended the wait.
    Ended(Exit),
}

/// Waits as long as the arguments say.
pub(super) async fn wait(
    args: &Acquire,
    client: &Client,
    name: &Name,
    console: &Console,
) -> Result<Waited, Failure> {
    let mut signals = StopSignals::listen()?;
    let guard = tokio::select! {
        biased;
        signal = signals.next() => {
            leave(client).await;
            return Ok(Waited::Ended(Exit::Interrupted(signal)));
        }
        guard = ask(args, client, name) => guard?,
        failure = WaitMonitor::new(client, name, console).watch() => {
            leave(client).await;
            return Err(failure);
        }
    };
    if let Some(guard) = guard {
        return Ok(Waited::Held(guard));
    }
    let record = timeout(TIMEOUT, client.holder(name)).await.ok().and_then(Result::ok).flatten();
    console.remark(&busy_message(args.wait, name, record.as_ref()));
    Ok(Waited::Ended(Exit::Busy(args.busy_code)))
}

async fn ask(args: &Acquire, client: &Client, name: &Name) -> cotter::Result<Option<Guard>> {
    let (mutex, lock) = (client.mutex(name), client.rwlock(name));
    match (args.wait, args.shared) {
        (_, false) if args.no_wait => mutex.try_lock().await,
        (_, true) if args.no_wait => lock.try_read().await.map(|guard| guard.map(Guard::from)),
        (Some(wait), false) => mutex.try_lock_for(wait).await,
        (Some(wait), true) => lock.try_read_for(wait).await.map(|guard| guard.map(Guard::from)),
        (None, false) => mutex.lock().await.map(Some),
        (None, true) => lock.read().await.map(|guard| Some(guard.into())),
    }
}

/// Leaves nothing in the store's queue.
async fn leave(client: &Client) {
    let _ = timeout(2 * TIMEOUT, client.close(TIMEOUT)).await;
}
