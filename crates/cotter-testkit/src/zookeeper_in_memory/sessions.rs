//! Sessions, and when they end.

use std::collections::{BTreeMap, BTreeSet};

/// Who decides that a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// The server itself.
    Same,
    /// Another one, which is told twice a tick who was heard of.
    Other,
}

/// All sessions. Times are in milliseconds.
#[derive(Debug)]
pub(super) struct Sessions {
    leader: Leader,
    tick: u64,
    all: BTreeMap<i64, Session>,
    next: i64,
    /// The sessions that were heard of, which the leader does not know yet.
    untold: BTreeSet<i64>,
}

#[derive(Debug)]
struct Session {
    /// As it was begun with, which is all that is on the disk.
    begun_with: u64,
    timeout: u64,
    ends: u64,
    connection: Option<u64>,
}

/// Sessions are between so many ticks long.
const TICKS: std::ops::RangeInclusive<u64> = 2..=20;

impl Sessions {
    pub(super) fn new(leader: Leader, tick: u64) -> Self {
        Self { leader, tick, all: BTreeMap::new(), next: 1 << 56, untold: BTreeSet::new() }
    }

    /// The length of a session that is asked for.
    pub(super) fn allowed(&self, timeout: i32) -> u64 {
        u64::try_from(timeout).unwrap_or(0).clamp(TICKS.start() * self.tick, TICKS.end() * self.tick)
    }

    pub(super) fn begin(&mut self, timeout: u64, connection: u64, now: u64) -> i64 {
        self.next += 1;
        let ends = self.end(now, timeout);
        let connection = Some(connection);
        self.all.insert(self.next, Session { begun_with: timeout, timeout, ends, connection });
        self.next
    }

    /// Sessions end at whole ticks.
    fn end(&self, now: u64, timeout: u64) -> u64 {
        ((now + timeout) / self.tick + 1) * self.tick
    }

    /// Goes on with a session over this connection. Returns its last one, or `None` if there is no such session.
    pub(super) fn go_on(&mut self, id: i64, timeout: u64, connection: u64, now: u64) -> Option<Option<u64>> {
        let ends = self.end(now, timeout);
        let session = self.all.get_mut(&id)?;
        (session.timeout, session.ends) = (timeout, ends);
        Some(session.connection.replace(connection))
    }

    /// A session was heard of.
    pub(super) fn touch(&mut self, id: i64, now: u64) {
        match self.leader {
            Leader::Same => self.known(id, now),
            Leader::Other => _ = self.untold.insert(id),
        }
    }

    fn known(&mut self, id: i64, now: u64) {
        let tick = self.tick;
        if let Some(session) = self.all.get_mut(&id) {
            session.ends = ((now + session.timeout) / tick + 1) * tick;
        }
    }

    /// The leader is told who was heard of.
    pub(super) fn tell(&mut self, now: u64) {
        for id in std::mem::take(&mut self.untold) {
            self.known(id, now);
        }
    }

    /// The sessions that have ended.
    pub(super) fn over(&self, now: u64) -> Vec<i64> {
        self.all.iter().filter(|(_, session)| session.ends <= now).map(|(id, _)| *id).collect()
    }

    /// Returns its connection.
    pub(super) fn remove(&mut self, id: i64) -> Option<u64> {
        self.untold.remove(&id);
        self.all.remove(&id)?.connection
    }

    pub(super) fn disconnect(&mut self, id: i64, connection: u64) {
        if let Some(session) = self.all.get_mut(&id).filter(|session| session.connection == Some(connection))
        {
            session.connection = None;
        }
    }

    /// Each begins anew after a restart, or with another leader.
    pub(super) fn renew(&mut self, now: u64) {
        self.untold.clear();
        let tick = self.tick;
        for session in self.all.values_mut() {
            (session.timeout, session.connection) = (session.begun_with, None);
            session.ends = ((now + session.timeout) / tick + 1) * tick;
        }
    }
}
