//! What a server has, and what happens to it.

use super::headers::Answer;
use super::keys::{Change, Keys, Span};
use super::leases::Leases;
use super::messages::Header;
use super::refusals::no_leader;
use super::watches::Watches;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tonic::Status;

/// A member of a cluster, and of the others what it notices. Cloning gives another handle.
#[derive(Clone)]
pub struct Server(pub(super) Arc<Shared>);

pub(super) struct Shared {
    state: Mutex<State>,
    /// Decides how long requests take. Without one, they take no time.
    pub(super) rng: Mutex<Option<StdRng>>,
    /// Whether the cluster can be asked by way of this member.
    pub(super) leads: watch::Sender<Leads>,
    /// Whether what needs no leader may be answered with what was.
    pub(super) may_be_behind: AtomicBool,
    /// How often it was started.
    pub(super) starts: watch::Sender<u64>,
}

/// What a member knows of the leader of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// There is one, and the member knows it.
    Yes,
    /// There is another one, and the member takes itself for it.
    Unaware,
    /// The member knows none.
    No,
}

pub(super) struct State {
    pub(super) keys: Keys,
    pub(super) leases: Leases,
    pub(super) watches: Watches,
    pub(super) term: u64,
}

pub(super) const MEMBER: u64 = 0x8e9e_05c5_2164_694d;
const CLUSTER: u64 = 0xcdf8_181e_3277_6c8d;
/// Watches that are not in time are told of what has happened so often.
const CATCH_UP: Duration = Duration::from_millis(100);
/// Leases that are over are ended so often, in these periods.
const EXPIRE: u32 = 5;

impl Server {
    /// A server that has nothing yet. With a seed, requests take some time, and overtake one another.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn new(seed: Option<u64>) -> Self {
        Self::at(1, seed)
    }

    /// The same at another revision.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[must_use]
    pub fn at(revision: i64, seed: Option<u64>) -> Self {
        let keys = Keys::at(revision);
        let state = State { keys, leases: Leases::default(), watches: Watches::default(), term: 2 };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            rng: Mutex::new(seed.map(StdRng::seed_from_u64)),
            leads: watch::Sender::new(Leads::Yes),
            may_be_behind: AtomicBool::new(false),
            starts: watch::Sender::new(1),
        });
        tokio::spawn(tick(Arc::downgrade(&shared)));
        Self(shared)
    }

    /// Ends all sessions. Keys and leases are kept, as on a disk; the leases have their full time again.
    pub fn restart(&self) {
        self.leads(Leads::Yes);
        self.0.starts.send_modify(|starts| *starts += 1);
        let mut state = self.state();
        state.watches.end(None);
        state.term += 1;
        state.leases.under_a_new_leader();
    }

    /// The cluster has another leader. This member takes itself for the leader for a while, and then knows none for another
    /// one. If the former leader `returns` after some time, it has the leases ended that were over as far as it knew.
    pub fn new_leader(&self, unaware: Duration, away: Duration, returns: Option<Duration>) {
        if *self.0.leads.borrow() != Leads::Yes {
            return;
        }
        let known = {
            let mut state = self.state();
            let known = state.leases.ends();
            state.leases.under_a_new_leader();
            known
        };
        self.leads(Leads::Unaware);
        let (this, starts) = (self.clone(), *self.0.starts.borrow());
        tokio::spawn(async move {
            sleep(unaware).await;
            if *this.0.starts.borrow() == starts {
                this.leads(Leads::No);
                this.state().watches.end(Some(&no_leader()));
                sleep(away).await;
            }
            if *this.0.starts.borrow() == starts {
                this.state().term += 1;
                this.leads(Leads::Yes);
            }
        });
        if let Some(returns) = returns {
            tokio::spawn(self.clone().revoke_at(Instant::now() + returns, known));
        }
    }

    /// Has those leases ended that were to end before.
    async fn revoke_at(self, returns: Instant, known: Vec<(i64, Instant)>) {
        tokio::time::sleep_until(returns).await;
        self.until_led().await;
        for (lease, _) in known.into_iter().filter(|(_, ends)| *ends < returns) {
            self.revoke(lease);
        }
    }

    /// From now on, what needs no leader is answered with what was some revisions ago, now and then: as by a member that is
    /// behind the others.
    pub fn may_be_behind(&self, may_be: bool) {
        self.0.may_be_behind.store(may_be, Ordering::Relaxed);
    }

    /// Forgets what has happened so far.
    pub fn compact(&self) {
        let mut state = self.state();
        let revision = state.keys.revision;
        if revision > state.keys.compacted {
            state.keys.compact(revision);
        }
    }

    /// The keys that begin with this, in the order of their creation, and their leases.
    #[must_use]
    pub fn keys(&self, prefix: &str) -> Vec<(Vec<u8>, i64)> {
        let mut end = prefix.as_bytes().to_vec();
        end.last_mut().into_iter().for_each(|last| *last += 1);
        let state = self.state();
        let mut found: Vec<_> = state.keys.within(&Span::of(prefix.as_bytes(), &end)).collect();
        found.sort_by_key(|kv| kv.create_revision);
        found.into_iter().map(|kv| (kv.key.clone(), kv.lease)).collect()
    }

    /// Somebody deletes a key.
    pub fn delete(&self, key: &[u8]) {
        let mut state = self.state();
        let mut write = state.keys.begin();
        write.delete(&Span::of(key, &[]));
        let change = write.end();
        state.changed(change.as_ref());
    }

    /// Somebody ends a lease.
    pub fn revoke(&self, lease: i64) {
        let _ = self.state().revoke(lease);
    }

    fn leads(&self, leads: Leads) {
        self.0.leads.send_replace(leads);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a server does by itself, as long as there is one.
async fn tick(shared: Weak<Shared>) {
    for round in 1_u32.. {
        sleep(CATCH_UP).await;
        let Some(shared) = shared.upgrade() else { return };
        if *shared.leads.borrow() != Leads::Yes {
            continue;
        }
        let mut state = lock(&shared.state);
        let State { keys, watches, .. } = &mut *state;
        watches.catch_up(keys);
        if round % EXPIRE == 0 {
            for lease in state.leases.over() {
                let _ = state.revoke(lease);
            }
        }
    }
}

impl State {
    /// Ends a lease and deletes its keys, under one revision.
    pub(super) fn revoke(&mut self, lease: i64) -> Result<(), Status> {
        self.leases.remove(lease)?;
        let attached = self.keys.on_lease(lease);
        let mut write = self.keys.begin();
        attached.iter().for_each(|key| drop(write.delete(&Span::of(key, &[]))));
        let change = write.end();
        self.changed(change.as_ref());
        Ok(())
    }

    pub(super) fn changed(&mut self, change: Option<&Change>) {
        if let Some(change) = change {
            self.watches.changed(change);
        }
    }

    /// The answer with the numbers of this cluster, and its revision if it has none yet.
    pub(super) fn sign<A: Answer>(&self, mut answer: A) -> A {
        let revision = self.keys.revision;
        let header = answer.header().get_or_insert_with(|| Header { revision, ..Header::default() });
        (header.cluster_id, header.member_id, header.raft_term) = (CLUSTER, MEMBER, self.term);
        answer
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}
