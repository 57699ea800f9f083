//! One replica: it holds the lock once, and closes what it has read as open.

use super::connection::Connection;
use super::orders::Orders;
use crate::demo::children::wait_for_start;
use crate::store::Store;
use clap::Args;
use cotter::{Client, Lease};
use cotter_console::{Console, Exit, Failure};
use std::time::Duration;
use tokio::time::sleep;

/// Not renewed, as if the whole process stood still.
const LEASE: Duration = Duration::from_secs(1);
/// The time for which the first holder stands still, after it has read and before it writes.
const STILL: Duration = Duration::from_millis(2_500);
/// How long a replica waits for the lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// One replica.
#[derive(Debug, Args)]
pub(in crate::demo) struct Holder {
    #[arg(long)]
    tables: String,
    #[arg(long)]
    replica: u32,
}

pub(in crate::demo) async fn play(
    args: &Holder,
    store: &dyn Store,
    console: &Console,
) -> Result<Exit, Failure> {
    let client = store.connect(Client::builder().lease(Lease::fixed(LEASE)), console).await?;
    let mut orders = Orders::new(Connection::open(store).await?, args.tables.clone());
    let Some(mut ended) = wait_for_start(console)? else { return Ok(Exit::Done) };
    let mutex = client.mutex(format!("demo/clear-orders/{}", args.tables));
    let guard = tokio::select! {
        _ = &mut ended => return Ok(Exit::Done),
        guard = mutex.try_lock_for(LOCK_TIMEOUT) => guard?,
    };
    let Some(guard) = guard else { return Ok(Exit::Busy(Exit::BUSY)) };
    let token = guard.token().as_i64();
    let (open, before) = orders.read(token).await?;
    // The first one never asks its guard, like a program that is stopped between two statements.
    let is_first = before == 0;
    if is_first {
        sleep(STILL).await;
    } else {
        guard.extend(LOCK_TIMEOUT).await?;
    }
    for order in open {
        orders.close(order, args.replica, token).await?;
    }
    drop(guard);
    client.close(Duration::from_secs(2)).await?;
    Ok(Exit::Done)
}
