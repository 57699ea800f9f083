//! What must be over when nobody holds or keeps anything.

use super::caller::{Asked, Caller, Running};
use crate::history::{Kind, Violation};
use cotter::{Client, Filter, Record};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Every operation is done by then: leases and rests are over, and what nobody polled was given up.
const SOON: Duration = Duration::from_secs(30);
/// Requests that come late are undone for so long.
const UNDONE: Duration = Duration::from_secs(15);
/// Tickets last for so long, and rests are shorter.
const KEPT: Duration = Duration::from_millis(600);
const GRACE: Duration = Duration::from_secs(1);
const NAMES: [&str; 3] = ["a", "b", "leader"];

/// Nothing goes wrong any more: everything that is held is given back, and everything that was asked for is dropped or polled to
/// its end. Returns the violations and the history of the run.
pub(super) async fn end(
    mut caller: Caller,
    observer: Client,
    longest_idle: Duration,
) -> (Vec<Violation>, Vec<String>) {
    caller.write(format_args!("the end"));
    all_is_done(&mut caller, &observer, longest_idle + KEPT).await;
    let wrong = |caller: &mut Caller, kind, text: String| {
        caller.write(format_args!("{text}"));
        caller.held.wrong(kind, text);
    };
    sleep(UNDONE).await;
    for record in in_use(&observer).await {
        wrong(&mut caller, Kind::LeftBehind, format!("{record:?}"));
    }
    for (number, client) in caller.clients.clone().into_iter().enumerate() {
        if caller.closed[number].is_none() {
            for name in NAMES {
                match client.mutex(name).try_lock().await {
                    Ok(Some(guard)) => drop(guard.release().await),
                    other => {
                        let text = format!("client {number} does not get {name} in the end: {other:?}");
                        wrong(&mut caller, Kind::LeftBehind, text);
                    }
                }
            }
        }
        let since = Instant::now();
        let closed = client.close(GRACE).await;
        if closed.is_err() || since.elapsed() > GRACE / 2 {
            let text = format!("client {number} was closed after {:?}: {closed:?}", since.elapsed());
            wrong(&mut caller, Kind::LeftBehind, text);
        }
    }
    sleep(SOON).await;
    caller.held.check_signals();
    (caller.held.violations, caller.history)
}

/// The locks that are held or waited for. A store that keeps no records is asked for one by its name.
async fn in_use(observer: &Client) -> Vec<Record> {
    let exactly = |name: &&str| Filter::exactly(&name.parse().expect("a name"));
    let filters = match observer.info().capabilities.records {
        true => vec![Filter::held()],
        false => NAMES.iter().chain(&["permits"]).map(exactly).collect(),
    };
    let mut records = Vec::new();
    for filter in filters {
        records.extend(observer.admin().list(filter).collect().await.expect("the store answers"));
    }
    records.retain(|r| !r.holders.is_empty() || r.waiters.is_some_and(|waiters| waiters > 0));
    records
}

/// `idle`: for so long at most, nobody holds a lock, somebody waits for one, and nobody gets it.
async fn all_is_done(caller: &mut Caller, observer: &Client, idle: Duration) {
    // Only a change would end these.
    caller.asked.retain(|asked| asked.what != "observe");
    let (end, mut left, mut since) = (Instant::now() + SOON, usize::MAX, Instant::now());
    while Instant::now() < end {
        while !caller.held.all.is_empty() {
            drop(caller.held.take(0));
        }
        // What waits for a latch waits for others.
        if observer.info().capabilities.swap {
            observer.latch("latch").delete().await.expect("the store answers");
        }
        (0..caller.asked.len()).for_each(|_| caller.run(0));
        sleep(Duration::from_millis(10)).await;
        caller.check();
        if caller.asked.is_empty() && caller.held.all.is_empty() {
            return;
        }
        if caller.asked.len() != left {
            (left, since) = (caller.asked.len(), Instant::now());
        }
        if since.elapsed() > idle && caller.asked.iter().any(Asked::waits) {
            break;
        }
    }
    for asked in std::mem::take(&mut caller.asked) {
        if let Running::Task(task, _) = &asked.future {
            task.abort();
        }
        let kind = if asked.waits() { Kind::IdleWaiter } else { Kind::StuckWaiter };
        let quiet = since.elapsed();
        let text = format!("{} is not done, and nobody holds or keeps anything for {quiet:?}", asked.what);
        caller.held.wrong(kind, text);
    }
}
