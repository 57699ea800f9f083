//! Listing and eviction. Nothing is written into the file, so the kernel alone knows who has the lock.

use super::SCHEME;
use super::backend::FlockFile;
use crate::backend::{Admin, Cursor, EvictOrder};
use crate::backend::{Filter, Finding, Holder, Page, Record};
use crate::sys::{FileId, holders, process};
use crate::{Error, Eviction, Mode, Name, Result};
use async_trait::async_trait;
use rustix::fs::{OFlags, open, stat};

#[async_trait]
impl Admin for FlockFile {
    async fn list(&self, filter: &Filter, from: Option<&Cursor>) -> Result<Page> {
        // All names mean the one lock. In a listing its name is its path.
        let name = match &filter.exact {
            Some(exact) => exact.clone(),
            None => Name::new(self.path.to_string_lossy())?,
        };
        let names = Some(name).filter(|name| filter.admits(name)).into_iter().collect();
        Page::by_name(1, filter, names, from, |name| Ok(Some(self.record(name))))
    }

    async fn evict(&self, _: &Name, order: EvictOrder) -> Result<Eviction> {
        if order.token.is_some() {
            return Err(Error::unsupported("evicting by token", SCHEME));
        }
        match self.holders().first() {
            Some((pid, _)) => Ok(Eviction::HolderMustExit { pid: *pid }),
            None if self.is_held_by_somebody() => {
                Err(Error::unsupported("finding the holder, on this system,", SCHEME))
            }
            None => Ok(Eviction::NotHeld),
        }
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        let path = self.path.display();
        let lock = match stat(&self.path) {
            Ok(_) => Finding::ok("lock", format!("{path}, the lock that flock(1) takes on it")),
            Err(rustix::io::Errno::NOENT) => {
                Finding::ok("lock", format!("{path} does not exist yet; the first use creates it"))
            }
            Err(e) => Finding::breaks("lock", super::error("looking at", &self.path, e).to_string()),
        };
        let tokens = match &self.counters {
            Some(directory) => {
                let directory = directory.path.display();
                Finding::ok("tokens", format!("counted in {directory}, for the processes of this user only"))
            }
            None => Finding::limits(
                "tokens",
                "there is no home directory for their counter, so they come from the clock alone; name a directory with ?tokens=/DIR",
            ),
        };
        Ok(vec![lock, tokens])
    }
}

impl FlockFile {
    fn record(&self, name: &Name) -> Record {
        let mut record = Record::free(name.clone());
        record.holders = self
            .holders()
            .into_iter()
            .map(|(pid, mode)| {
                let mut holder = Holder::new(process::name(pid).unwrap_or_default(), mode, 0);
                holder.pid = Some(pid);
                holder
            })
            .collect();
        if record.holders.is_empty() && self.is_held_by_somebody() {
            record.holders.push(Holder::new("", Mode::Exclusive, 0));
        }
        record
    }

    /// Whether the lock is held, where the system does not tell by whom.
    fn is_held_by_somebody(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        let file = open(&self.path, flags, rustix::fs::Mode::empty());
        file.ok().and_then(holders::is_locked).unwrap_or(false)
    }

    /// The processes that have the lock, cotter or not.
    fn holders(&self) -> Vec<(u32, Mode)> {
        let Ok(found) = stat(&self.path) else { return Vec::new() };
        let mode = |exclusive| if exclusive { Mode::Exclusive } else { Mode::Shared };
        let holders = holders::holders(FileId::of(&found));
        holders.into_iter().map(|holder| (holder.pid, mode(holder.exclusive))).collect()
    }
}
