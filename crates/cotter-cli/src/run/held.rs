//! The locks held by ancestors of this process: a nested run of the same lock would be a deadlock.

use super::ancestors::{Holder, is_above};
use cotter::{Client, Name, Record};
use cotter_console::{Failure, clean};
use rustix::fs::stat;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;

/// The environment variable: a JSON list, outermost lock first.
pub(crate) const KEY: &str = "COTTER_HELD";

/// All locks that are held by ancestors of this process.
#[derive(Debug)]
pub(crate) struct Held(Vec<Lock>);

/// A lock, independent of how its URL is spelled.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Lock {
    store: String,
    name: String,
    /// Device and inode of the store's path.
    place: Option<(u64, u64)>,
    /// The holder: an environment can be saved and used long after the lock was released, as by at(1).
    by: Holder,
}

impl Held {
    /// The locks in the environment whose holders are ancestors of this process.
    pub(crate) fn above(env: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let Some(text) = env(KEY) else { return Ok(Self(Vec::new())) };
        let locks: Option<Vec<Lock>> = text.to_str().and_then(|text| serde_json::from_str(text).ok());
        let locks = locks.ok_or_else(|| {
            Failure::usage(format!("{KEY} was not set by cotter: unset it outside of `cotter run`"))
        })?;
        Ok(Self(locks.into_iter().filter(|lock| lock.by.is_above()).collect()))
    }

    /// Fails if this lock is one of them.
    pub(crate) fn refuse(&self, client: &Client, name: &Name) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let Some(wanted) = Lock::of(client, name) else { return Ok(()) };
        match self.0.iter().any(|lock| lock.is(&wanted)) {
            true => Err(inside(client, name)),
            false => Ok(()),
        }
    }

    /// Adds a lock that this process holds.
    pub(crate) fn with(mut self, client: &Client, name: &Name) -> Self {
        self.0.extend(Lock::of(client, name));
        self
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

impl Lock {
    /// `None` for a store within the process, which is not shared with other processes.
    fn of(client: &Client, name: &Name) -> Option<Self> {
        let info = client.info();
        if info.scheme == "memory" {
            return None;
        }
        let path = match info.scheme {
            "file" => info.instance.strip_prefix("file://"),
            "flock" => info.instance.strip_prefix("flock:"),
            _ => None,
        };
        let place = path.and_then(place);
        // One path is one lock, whatever the name.
        let name = if info.scheme == "flock" { String::new() } else { name.to_string() };
        Some(Self { store: info.instance.clone(), name, place, by: Holder::this() })
    }

    fn is(&self, other: &Self) -> bool {
        let in_one_place = self.place.is_some() && self.place == other.place;
        self.name == other.name && (in_one_place || self.store == other.store)
    }
}

fn place(path: &str) -> Option<(u64, u64)> {
    stat(Path::new(path)).ok().map(|found| (found.st_dev, found.st_ino))
}

/// Whether the store lists an ancestor of this process as a holder. This works without the environment, which may have been
/// cleared.
pub(super) fn is_held_above(record: &Record) -> bool {
    record.holders.iter().filter_map(|holder| holder.pid).any(is_above)
}

pub(super) fn inside(client: &Client, name: &Name) -> Failure {
    let (store, name) = (clean(&client.info().instance), clean(name));
    Failure::usage(format!(
        "{name:?} in {store} is already held by a `cotter run` around this one, which would be a deadlock: \
         remove one of the two, or use another name"
    ))
}
