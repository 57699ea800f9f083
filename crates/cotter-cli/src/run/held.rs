//! What is held above this process: a nested run of the same lock would wait for itself for ever.

use super::above::{Holder, is_above};
use crate::output::{Failure, clean};
use cotter::{Client, Name, Record};
use rustix::fs::stat;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::Path;

/// The variable: a JSON list, the outermost first.
pub(crate) const KEY: &str = "COTTER_HELD";

/// All locks that are held above this process.
#[derive(Debug)]
pub(crate) struct Held(Vec<Lock>);

/// A lock, however it was spelled.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Lock {
    store: String,
    name: String,
    /// Device and number of what the store's path leads to.
    place: Option<(u64, u64)>,
    /// An environment can be kept and used when the lock has long been given back, as at(1) does.
    by: Holder,
}

impl Held {
    /// What the environment says, as far as who holds it is above this process.
    pub(crate) fn above(env: impl Fn(&str) -> Option<OsString>) -> Result<Self, Failure> {
        let Some(text) = env(KEY) else { return Ok(Self(Vec::new())) };
        let locks: Option<Vec<Lock>> = text.to_str().and_then(|text| serde_json::from_str(text).ok());
        let locks = locks.ok_or_else(|| {
            Failure::usage(format!(
                "{KEY} is not what cotter writes into it: unset it outside of `cotter run`"
            ))
        })?;
        Ok(Self(locks.into_iter().filter(|lock| lock.by.is_above()).collect()))
    }

    /// Fails when this lock is among them.
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

    /// With this lock, which this process holds.
    pub(crate) fn with(mut self, client: &Client, name: &Name) -> Self {
        self.0.extend(Lock::of(client, name));
        self
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

impl Lock {
    /// A store within a process has nothing to do with that of another.
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
        // One path is one lock: all names mean it.
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

/// Whether a store that knows the processes says that one above this one holds it: that needs no environment, which may
/// have been scrubbed.
pub(super) fn is_held_above(record: &Record) -> bool {
    record.holders.iter().filter_map(|holder| holder.pid).any(is_above)
}

pub(super) fn inside(client: &Client, name: &Name) -> Failure {
    let (store, name) = (clean(&client.info().instance), clean(name));
    Failure::usage(format!(
        "{name:?} in {store} is held by a `cotter run` that this one runs inside of, and would wait for itself: \
         leave one of the two out, or take another name"
    ))
}
