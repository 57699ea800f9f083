//! What the store still has at the end.

use super::Shared;
use crate::history::What;
use cotter::{Client, Filter, Name, Record};
use cotter_console::Failure;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const TICK: Duration = Duration::from_millis(100);

/// Records what is still held or waited for when everybody's lease has run out, and who was killed has been forgotten.
pub(super) async fn look(client: &Client, shared: &Shared) -> Result<(), Failure> {
    let end = Instant::now() + shared.bounds.patience;
    loop {
        let left = left(client, &shared.names).await?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= end {
            for (name, text) in left {
                shared.log.record(0, What::Left { name, text });
            }
            return Ok(());
        }
        sleep(TICK).await;
    }
}

/// Asks for each name: not every store can list all of them.
async fn left(client: &Client, names: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut records = Vec::new();
    for name in names {
        records.extend(client.admin().list(Filter::exactly(&Name::new(name)?)).collect().await?);
    }
    let is_left = |record: &Record| !record.holders.is_empty() || record.waiters.unwrap_or_default() > 0;
    let told = |record: &Record| {
        let (holders, waiters) = (record.holders.len(), record.waiters.unwrap_or_default());
        let text = format!("all had ended, and the store has {holders} holders and {waiters} waiters of it");
        (record.name.to_string(), text)
    };
    Ok(records.iter().filter(|record| is_left(record)).map(told).collect())
}

/// Nobody needs what the store remembers of the names. Where it cannot be deleted, the store forgets it by itself.
pub(super) async fn clean_up(client: &Client, prefix: &str) {
    let order = cotter::PruneOrder::unused_for(Duration::ZERO).prefix(prefix);
    let _ = client.admin().prune(order).collect().await;
}
