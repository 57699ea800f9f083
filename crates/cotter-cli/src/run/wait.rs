//! Waiting for the lock, and saying for whom.

use super::args::Run;
use crate::command::signals::Signals;
use crate::duration::{since, words};
use crate::live::Live;
use crate::output::{Console, Failure, clean};
use cotter::{Client, Guard, Name, ReadGuard, Record};
use std::convert::Infallible;
use std::future::pending;
use std::io::Write;
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// A shorter wait is not worth a line.
const SILENT: Duration = Duration::from_millis(300);
/// How often the line is brought up to date, and how long the store may take to say who holds the lock.
const UPDATE: Duration = Duration::from_secs(1);
/// The same where the line is said once.
const ONCE: Duration = Duration::from_secs(5);
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
        never = tell(client, name, console) => match never {},
    };
    match acquired {
        Acquired::Held(guard) => Ok(match arrived(signals).await {
            Some(signal) => leave(client, Some(guard), signal).await,
            None => Acquired::Held(guard),
        }),
        Acquired::Busy => {
            console.remark(&describe_busy(args, name, holder(client, name, UPDATE).await.as_ref()));
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

/// Nothing of ours stays behind in the store's queue.
async fn leave(client: &Client, guard: Option<Guard>, signal: u8) -> Acquired {
    drop(guard);
    let _ = timeout(2 * LEAVE, client.close(LEAVE)).await;
    Acquired::Interrupted(signal)
}

/// Says for whom we wait: on a terminal in one line that is kept up to date, elsewhere once.
async fn tell(client: &Client, name: &Name, console: &Console) -> Infallible {
    if console.quiet {
        return pending().await;
    }
    sleep(SILENT).await;
    let live = Live::new(true);
    let patience = if live.is_on() { UPDATE } else { ONCE };
    loop {
        let text = describe(name, holder(client, name, patience).await.as_ref());
        if !live.is_on() {
            let _ = writeln!(console.err(), "{text}");
            return pending().await;
        }
        live.say(&text);
        sleep(UPDATE).await;
    }
}

/// Who holds it, when the store can tell soon enough.
async fn holder(client: &Client, name: &Name, patience: Duration) -> Option<Record> {
    timeout(patience, client.holder(name)).await.ok()?.ok()?
}

fn describe(name: &Name, record: Option<&Record>) -> String {
    let held = record.and_then(held_by).map(|by| format!(", held by {by}")).unwrap_or_default();
    let waiters = record.and_then(|r| r.waiters).filter(|n| *n > 0);
    let waiting = waiters.map(|n| format!(", {n} waiting")).unwrap_or_default();
    format!("waiting for {name}{held}{waiting}")
}

fn describe_busy(args: &Run, name: &Name, record: Option<&Record>) -> String {
    let held = record.and_then(held_by).map_or_else(|| "is busy".to_owned(), |by| format!("is held by {by}"));
    match args.wait {
        Some(wait) => format!("{name} {held}; gave up after {}", words(wait)),
        None => format!("{name} {held}; gave up"),
    }
}

fn held_by(record: &Record) -> Option<String> {
    let holder = record.holders.first()?;
    let label = clean(&holder.label);
    let held = match holder.since {
        Some(then) => format!("{label} for {}", words(since(then))),
        None => label,
    };
    Some(match record.holders.len() - 1 {
        0 => held,
        1 => format!("{held} and one other"),
        others => format!("{held} and {others} others"),
    })
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
