//! What commands say about locks and their holders.

use cotter::{Client, Filter, Holder, Mode, Name, Record};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::SystemTime;

/// The locks of a store, by name, and what has to be said about the list.
///
/// # Errors
/// The store cannot list them, or does not answer.
pub async fn list(client: &Client, filter: Filter) -> cotter::Result<(BTreeMap<Name, Record>, Vec<String>)> {
    let mut listing = client.admin().list(filter);
    // Stores list in no particular order, and may list a name twice.
    let mut records = BTreeMap::new();
    while let Some(record) = listing.next().await? {
        records.insert(record.name.clone(), record);
    }
    let cautions = listing.caution().into_iter().map(str::to_owned).collect();
    Ok((records, cautions))
}

/// The token, or `None` if the store has no tokens.
pub fn token(holder: &Holder) -> Option<String> {
    (holder.token.get() > 0).then(|| holder.token.to_string())
}

/// The permits of a semaphore that is in use.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Permits {
    /// More than the limit, for a while, after that was lowered.
    pub taken: u64,
    /// As it was set.
    pub limit: u32,
}

/// The permits of this name; `None` for a lock.
pub fn permits(record: &Record) -> Option<Permits> {
    let each = record.holders.iter().filter_map(|holder| match holder.mode {
        Mode::Permits { take, of } => Some((u64::from(take), of)),
        _ => None,
    });
    let (taken, limits): (Vec<_>, Vec<_>) = each.unzip();
    Some(Permits { taken: taken.iter().sum(), limit: *limits.first()? })
}

/// The mode, with the number of permits, for people.
pub fn mode(mode: Mode) -> String {
    match mode {
        Mode::Permits { take: 1, .. } => "1 permit".to_owned(),
        Mode::Permits { take, .. } => format!("{take} permits"),
        other => kind(other).to_owned(),
    }
}

/// The mode in one word.
pub fn kind(mode: Mode) -> &'static str {
    match mode {
        Mode::Exclusive => "exclusive",
        Mode::Shared => "shared",
        Mode::Permits { .. } => "permits",
        _ => "unknown",
    }
}

/// RFC 3339 in UTC, to the millisecond.
pub fn stamp(time: SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => "unknown".into(),
    }
}
