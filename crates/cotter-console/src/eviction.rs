//! What is said about evictions.

use crate::clean;
use cotter::{Client, FencingToken, Filter, Name, Record};

/// What happens after an eviction. A store deletes the entry of a holder that it cannot notify: a key of etcd without a lease, or
/// one of another client.
pub async fn after(client: &Client, name: &Name, token: FencingToken) -> &'static str {
    let left = client.admin().list(Filter::exactly(name).with_free()).next().await;
    let is_gone = |record: &Record| record.holders.iter().all(|holder| !holder.owns(token));
    match left {
        Ok(None) => ": it no longer holds the lock",
        Ok(Some(record)) if is_gone(&record) && record.unlisted == 0 => ": it no longer holds the lock",
        _ => ": its holder is notified at its next renewal, and the lock passes on when its lease ends",
    }
}

/// That there was nothing to do, because no holder has the lock, or has it with this token.
pub fn not_held(token: Option<u64>) -> String {
    let by = token.map(|token| format!(" with token {token}")).unwrap_or_default();
    format!("not held by anybody{by}; nothing to do")
}

/// That no store can take a lock away.
pub fn must_exit(name: &Name, pid: u32) -> String {
    let name = clean(name);
    format!("{name:?}: the lock is tied to process {pid} and ends with it: end that process (kill {pid})")
}
