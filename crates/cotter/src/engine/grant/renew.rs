//! The agenda: renewal and loss, in order of deadline.

use crate::backend::{Extension, Grant};
use crate::engine::core::Core;
use crate::engine::grant::hold::Hold;
use crate::engine::report::{Doing, restarted};
use crate::engine::timing::{RENEWAL_GRID_SHARE, RENEWAL_RETRY, RENEWAL_RETRY_SHARE};
use crate::sync::{Ranked, RankedGuard, rank};
use crate::{Clock, Error, Moment, Result};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// The due times of holds: the next renewal, or the report of a loss.
pub(crate) struct Agenda {
    clock: Arc<dyn Clock>,
    state: Ranked<Entries, { rank::AGENDA }>,
    earlier: Arc<Notify>,
}

#[derive(Default)]
struct Entries {
    /// Holds that fall due together are found together: with many holds, a step of one does not search all of them.
    by_due: BTreeMap<Moment, Vec<Arc<Hold>>>,
    /// The moment that the loop sleeps until.
    armed: Option<Moment>,
}

/// The maximum number of grants in one call. None counts as renewed before the whole call is answered, so it must be
/// small.
const BATCH: usize = 64;

impl Agenda {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Ranked::default(), earlier: Arc::default() }
    }

    pub(crate) fn insert(&self, hold: &Arc<Hold>, now: Moment) {
        self.set(hold, hold.next_due(now));
    }

    pub(crate) fn remove(&self, hold: &Hold) {
        self.lock().take(hold);
    }

    /// Updates the agenda after the hold's next step has moved.
    pub(crate) fn moved(&self, hold: &Arc<Hold>) {
        self.reset(hold, hold.next_due(self.clock.now()));
    }

    /// Moves only holds that are still on the agenda: a released hold must not come back.
    fn reset(&self, hold: &Arc<Hold>, due: Moment) {
        let mut entries = self.lock();
        if entries.take(hold) {
            entries.put(hold, due);
            self.wake_for(&mut entries, due);
        }
    }

    fn set(&self, hold: &Arc<Hold>, due: Moment) {
        let mut entries = self.lock();
        entries.put(hold, due);
        self.wake_for(&mut entries, due);
    }

    fn wake_for(&self, entries: &mut Entries, due: Moment) {
        if entries.armed.is_none_or(|armed| due < armed) {
            entries.armed = Some(due);
            self.earlier.notify_one();
        }
    }

    /// Returns all holds of one client.
    pub(crate) fn of(&self, core: &Arc<Core>) -> Vec<Arc<Hold>> {
        self.lock().by_due.values().flatten().filter(|h| Arc::ptr_eq(&h.core, core)).cloned().collect()
    }

    /// Keeps the loop running, even if it panics.
    pub(crate) async fn supervise(agenda: Weak<Self>, handle: Handle) {
        while agenda.strong_count() > 0 {
            if handle.spawn(Self::run(agenda.clone(), handle.clone())).await.is_err_and(|e| e.is_panic()) {
                restarted();
            }
        }
    }

    async fn run(agenda: Weak<Self>, handle: Handle) {
        loop {
            let Some(this) = agenda.upgrade() else { return };
            let (due, next) = this.take_due();
            this.handle(due, &handle);
            let sleep = this.clock.sleep_until(next);
            // The loop must not keep its own agenda alive.
            let earlier = this.earlier.clone();
            drop(this);
            tokio::select! {
                biased;
                () = sleep => {}
                () = earlier.notified() => {}
            }
        }
    }

    fn take_due(&self) -> (Vec<Arc<Hold>>, Moment) {
        let now = self.clock.now();
        let mut entries = self.lock();
        let mut due = Vec::new();
        while let Some(entry) = entries.by_due.first_entry() {
            if *entry.key() > now {
                break;
            }
            due.extend(entry.remove());
        }
        for hold in &due {
            // The entry stays, at the next step that is due whatever the store answers.
            let next = hold.next_retry(now);
            entries.put(hold, next);
        }
        let next = entries.by_due.first_key_value().map_or(Moment::NEVER, |(&due, _)| due);
        entries.armed = Some(next);
        (due, next)
    }

    fn handle(self: &Arc<Self>, due: Vec<Arc<Hold>>, handle: &Handle) {
        let now = self.clock.now();
        let mut batches: HashMap<(usize, Duration), Vec<Arc<Hold>>> = HashMap::new();
        for hold in due {
            match hold.overdue(now) {
                Some(cause) => hold.lose(cause),
                None if hold.wants_renewal(now) => {
                    let key = (Arc::as_ptr(&hold.core) as usize, hold.grant.claim.ttl);
                    batches.entry(key).or_default().push(hold);
                }
                None => self.moved(&hold),
            }
        }
        for batch in batches.values().flat_map(|holds| holds.chunks(BATCH)) {
            handle.spawn(renew(Arc::downgrade(self), batch.to_vec()));
        }
    }

    fn lock(&self) -> RankedGuard<'_, Entries, { rank::AGENDA }> {
        self.state.lock()
    }
}

impl Entries {
    /// Returns false when the hold was not on the agenda.
    fn take(&mut self, hold: &Hold) -> bool {
        let due = Moment::from_nanos(hold.due.swap(0, Ordering::Relaxed));
        let Entry::Occupied(mut entry) = self.by_due.entry(due) else { return false };
        let holds = entry.get_mut();
        let seat = hold.seat.load(Ordering::Relaxed) as usize;
        holds.swap_remove(seat);
        match holds.get(seat) {
            Some(moved) => moved.seat.store(seat as u32, Ordering::Relaxed),
            None if holds.is_empty() => _ = entry.remove(),
            None => {}
        }
        true
    }

    fn put(&mut self, hold: &Arc<Hold>, due: Moment) {
        let holds = self.by_due.entry(due).or_default();
        hold.due.store(due.as_nanos(), Ordering::Relaxed);
        hold.seat.store(holds.len() as u32, Ordering::Relaxed);
        holds.push(hold.clone());
    }
}

/// Ends the loop together with its agenda.
impl Drop for Agenda {
    fn drop(&mut self) {
        self.earlier.notify_one();
    }
}

impl fmt::Debug for Agenda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agenda")
            .field("holds", &self.lock().by_due.values().map(Vec::len).sum::<usize>())
            .finish_non_exhaustive()
    }
}

/// Extends several holds of one client by the same time.
async fn renew(agenda: Weak<Agenda>, holds: Vec<Arc<Hold>>) {
    let grants: Vec<&Grant> = holds.iter().map(|h| &h.grant).collect();
    let (core, ttl) = (&holds[0].core, holds[0].grant.claim.ttl);
    let asked = core.now();
    let answers = core.backend.extend(&grants, ttl).await;
    let Some(agenda) = agenda.upgrade() else { return };
    for (hold, answer) in holds.iter().zip(answers) {
        take_in(&agenda, hold, answer, (asked, ttl));
    }
}

/// Takes in the answer to the request of that moment, for so much time.
fn take_in(
    agenda: &Agenda,
    hold: &Arc<Hold>,
    answer: Result<Extension, Error>,
    (asked, time): (Moment, Duration),
) {
    match answer {
        Ok(Extension::Extended { as_of, ttl }) => {
            hold.core.hear();
            hold.extended(as_of, ttl, time);
            hold.tell_renewed(asked);
            agenda.moved(hold);
        }
        Ok(Extension::Lost(cause)) => hold.lose(cause),
        Err(e) => {
            hold.core.failed(Doing::Renewing, hold.name(), &e);
            hold.tell_renewal_failed(e.kind());
            agenda.reset(hold, hold.next_retry(agenda.clock.now()));
        }
    }
}

impl Hold {
    /// Returns the next due time: the renewal or the end, whichever comes first.
    fn next_due(&self, now: Moment) -> Moment {
        let renew = self.renewal();
        let step = (self.lease.ttl / RENEWAL_GRID_SHARE).as_nanos() as u64;
        // Rounded down to a grid, so that many renewals share a batch; never into the past, or the loop would spin.
        let due = Moment::from_nanos(renew.as_nanos() - renew.as_nanos() % step.max(1));
        let due = if due > now { due } else { renew };
        due.min(self.deadline().unwrap_or(Moment::NEVER))
    }

    /// Returns when to ask again if no answer comes.
    fn next_retry(&self, now: Moment) -> Moment {
        let again = now + (self.lease.ttl / RENEWAL_RETRY_SHARE).clamp(RENEWAL_RETRY.0, RENEWAL_RETRY.1);
        again.min(self.deadline().unwrap_or(Moment::NEVER)).max(now + Duration::from_nanos(1))
    }

    fn wants_renewal(&self, now: Moment) -> bool {
        let step = self.lease.ttl / RENEWAL_GRID_SHARE;
        now + step >= self.renewal()
    }

    fn renewal(&self) -> Moment {
        Moment::from_nanos(self.renew_at.load(Ordering::Acquire))
    }
}
