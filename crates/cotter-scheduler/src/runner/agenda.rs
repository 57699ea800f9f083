//! All jobs, ordered by their next check: one timer for any number of jobs.

use super::snapshot::JobSnapshot;
use crate::{Next, UnixTime};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// All jobs of a runner.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: HashMap<Arc<str>, Entry>,
    order: BTreeSet<(UnixTime, Arc<str>)>,
    /// Those that follow others: usually few.
    following: BTreeSet<Arc<str>>,
}

/// One job.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) snapshot: Arc<JobSnapshot>,
    wake: Option<UnixTime>,
    /// An attempt is in progress.
    pub(super) active: bool,
    /// It has to be checked again afterwards.
    pub(super) again: bool,
    /// It was not checked since it was defined.
    pub(super) fresh: bool,
    /// It was removed during the attempt in progress, and is kept until its end: there are never two.
    is_removed: bool,
    /// Whether another definition is in effect.
    pub(super) stands_by: bool,
    /// When this process last wrote that it stands by.
    pub(super) told: Option<UnixTime>,
    pub(super) broken: bool,
    /// The latest request that is settled, as far as this process knows.
    pub(super) handled: u64,
}

impl Agenda {
    pub(super) fn get(&mut self, job: &str) -> Option<&mut Entry> {
        self.entries.get_mut(job).filter(|entry| !entry.is_removed)
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.defined().map(|(name, _)| name.clone()).collect()
    }

    /// The jobs that follow this one.
    pub(super) fn followers(&self, job: &str) -> Vec<Arc<str>> {
        let entries = self.following.iter().filter_map(|name| self.entries.get_key_value(name));
        let follows = |entry: &Entry| !entry.is_removed && entry.snapshot.job.policy.after.contains(job);
        entries.filter(|(_, entry)| follows(entry)).map(|(name, _)| name.clone()).collect()
    }

    fn defined(&self) -> impl Iterator<Item = (&Arc<str>, &Entry)> {
        self.entries.iter().filter(|(_, entry)| !entry.is_removed)
    }

    /// Adds a job, replacing the one of the same name.
    pub(super) fn put(&mut self, snapshot: Arc<JobSnapshot>) {
        let name = snapshot.name().clone();
        match snapshot.job.policy.after.is_empty() {
            true => self.following.remove(&name),
            false => self.following.insert(name.clone()),
        };
        match self.entries.get_mut(&name) {
            Some(entry) => {
                entry.snapshot.retire();
                (entry.snapshot, entry.fresh, entry.again) = (snapshot, true, entry.active);
                entry.is_removed = false;
            }
            None => drop(self.entries.insert(name, Entry::new(snapshot))),
        }
    }

    /// Removes a job. Returns whether there was one.
    pub(super) fn remove(&mut self, job: &str) -> bool {
        self.wake(job, None);
        self.following.remove(job);
        let Some(entry) = self.get(job) else { return false };
        entry.snapshot.retire();
        entry.is_removed = true;
        if !entry.active {
            self.entries.remove(job);
        }
        true
    }

    /// Ends the attempt at a job. Returns the job, unless it was removed meanwhile.
    pub(super) fn end(&mut self, job: &str) -> Option<&mut Entry> {
        self.entries.get_mut(job)?.active = false;
        if self.get(job).is_none() {
            self.entries.remove(job);
        }
        self.get(job)
    }

    /// Schedules the next check of a job.
    pub(super) fn wake(&mut self, job: &str, at: Option<UnixTime>) {
        let Some((name, _)) = self.entries.get_key_value(job) else { return };
        let name = name.clone();
        let Some(entry) = self.entries.get_mut(job) else { return };
        if let Some(old) = std::mem::replace(&mut entry.wake, at) {
            self.order.remove(&(old, name.clone()));
        }
        if let Some(at) = at {
            self.order.insert((at, name));
        }
    }

    pub(super) fn earliest(&self) -> Option<UnixTime> {
        self.order.first().map(|(at, _)| *at)
    }

    /// Takes the next job whose time has come off the agenda.
    pub(super) fn pop(&mut self, now: UnixTime) -> Option<Arc<str>> {
        let (at, name) = self.order.first()?.clone();
        if at > now {
            return None;
        }
        self.wake(&name, None);
        Some(name)
    }

    pub(super) fn list(&self) -> Vec<Next> {
        let next = |(job, entry): (&Arc<str>, &Entry)| Next {
            job: job.clone(),
            at: entry.wake,
            active: entry.active,
        };
        let mut all: Vec<Next> = self.defined().map(next).collect();
        all.sort_by(|a, b| (a.at.is_none(), a.at, &a.job).cmp(&(b.at.is_none(), b.at, &b.job)));
        all
    }
}

impl Entry {
    fn new(snapshot: Arc<JobSnapshot>) -> Self {
        Self {
            snapshot,
            wake: None,
            active: false,
            again: false,
            fresh: true,
            is_removed: false,
            stands_by: false,
            told: None,
            broken: false,
            handled: 0,
        }
    }
}
