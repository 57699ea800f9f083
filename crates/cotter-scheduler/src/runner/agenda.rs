//! All jobs in the order in which they are looked at next: one timer, however many there are.

use super::post::Post;
use crate::{Next, UnixTime};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// All jobs of a runner.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    entries: HashMap<Arc<str>, Entry>,
    order: BTreeSet<(UnixTime, Arc<str>)>,
}

/// One job.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) post: Arc<Post>,
    wake: Option<UnixTime>,
    /// Somebody looks at it now.
    pub(super) active: bool,
    /// It has to be looked at again after that.
    pub(super) again: bool,
    /// It was not looked at since it was defined.
    pub(super) fresh: bool,
    pub(super) stands_by: bool,
    pub(super) broken: bool,
    /// Requests up to this one are done with, as far as it is known here.
    pub(super) handled: u64,
}

impl Agenda {
    pub(super) fn get(&mut self, job: &str) -> Option<&mut Entry> {
        self.entries.get_mut(job)
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.entries.keys().cloned().collect()
    }

    /// Puts a job in the place of the one of its name.
    pub(super) fn put(&mut self, post: Arc<Post>) {
        let name = post.name().clone();
        match self.entries.get_mut(&name) {
            Some(entry) => {
                entry.post.retire();
                (entry.post, entry.fresh, entry.again) = (post, true, entry.active);
            }
            None => drop(self.entries.insert(name, Entry::new(post))),
        }
    }

    pub(super) fn remove(&mut self, job: &str) {
        self.wake(job, None);
        if let Some(entry) = self.entries.remove(job) {
            entry.post.retire();
        }
    }

    /// Looks at a job at this time and not before.
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

    /// The next job whose time has come; it is not on the agenda any more.
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
        let mut all: Vec<Next> = self.entries.iter().map(next).collect();
        all.sort_by(|a, b| (a.at.is_none(), a.at, &a.job).cmp(&(b.at.is_none(), b.at, &b.job)));
        all
    }
}

impl Entry {
    fn new(post: Arc<Post>) -> Self {
        Self {
            post,
            wake: None,
            active: false,
            again: false,
            fresh: true,
            stands_by: false,
            broken: false,
            handled: 0,
        }
    }
}
