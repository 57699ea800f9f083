//! The plan of a run, which follows from its seed.

use super::run::TTL;
use super::served::Served;
use super::store::Store;
use crate::faulty;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// Everything that a seed decides before the run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The store.
    pub store: Store,
    /// The seed.
    pub seed: u64,
    /// The members; one is no quorum, but a store with leases.
    pub members: usize,
    /// The lease of each lock.
    pub lease: Duration,
    /// How often a request of any link goes wrong.
    pub links: faulty::Plan,
    /// The faults that happen at a certain time, in order.
    pub trouble: Vec<Trouble>,
    /// How far the clock of each member is ahead.
    pub ahead: Vec<Duration>,
}

/// A fault of a member, after a pause.
#[derive(Debug, Clone, Copy)]
pub struct Trouble {
    /// The pause before it.
    pub after: Duration,
    /// The member.
    pub member: usize,
    /// The fault.
    pub what: What,
}

/// A fault of a member.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// It is cut off for a while, from this process or from all.
    Cut {
        /// From this one alone.
        from: Option<usize>,
        /// For so long.
        lasts: Duration,
    },
    /// It is restarted. A member of a quorum has forgotten everything, and a server has kept everything.
    Restart,
    /// One of the keys beside a lock is gone, as when somebody deletes it.
    Lose {
        /// The lock.
        name: &'static str,
        /// What the key ends with.
        tail: &'static str,
    },
    /// Its clock is set back.
    SetBack(Duration),
    /// Somebody deletes the place of one who waits for this name.
    LoseWaiter(&'static str),
    /// It deletes what nobody uses any more.
    ClearUp,
    /// It stands still for so long.
    StandStill(Duration),
    /// What has happened so far is forgotten.
    Compact,
    /// The cluster gets another leader.
    NewLeader {
        /// The member that is asked takes itself for the leader for so long.
        unaware: Duration,
        /// Then it knows none for so long.
        away: Duration,
        /// The former leader goes on after so long, and has leases ended that were over as far as it knew.
        returns: Option<Duration>,
    },
}

/// Processes that have nothing in common but the members.
pub(super) const PROCESSES: usize = 3;
/// Members that are cut off or restarted in each run, apart from requests that go wrong by themselves.
pub(super) const TROUBLE: usize = 12;

/// In this part of the runs with a server every other answer is lost, and the connection with it.
const HARSH: f64 = 0.05;

/// A lease that is longer than the longest that a waiter may be idle.
const LONG: Duration = Duration::from_secs(60);

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(store: Store, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let members = if store == Store::Members { [1, 3, 3, 3, 5][rng.random_range(0..5)] } else { 1 };
        Self::drawn(store, seed, members, rng)
    }

    /// The plan of a seed where the number of members is given.
    pub(super) fn with_members(seed: u64, members: usize) -> Self {
        Self::drawn(Store::Members, seed, members, StdRng::seed_from_u64(seed))
    }

    fn drawn(store: Store, seed: u64, members: usize, mut rng: StdRng) -> Self {
        let millis =
            |rng: &mut StdRng, range: std::ops::Range<u64>| Duration::from_millis(rng.random_range(range));
        // A quorum does without a member that takes longer than a twentieth of the lease. A single store may take longer than
        // the margin of the deadline, which would otherwise hide a deadline that counts from the answer.
        let slowest = if members == 1 { 50 } else { 6 };
        let mut links = faulty::Plan {
            before: millis(&mut rng, 0..slowest),
            after: millis(&mut rng, 0..slowest),
            lost_replies: rng.random_range(0.0..0.03),
            late_requests: rng.random_range(0.0..0.02),
            refused: rng.random_range(0.0..0.02),
            ..faulty::Plan::default()
        };
        // Where leases are longer, all takes longer.
        let scale = (store.lease().as_millis() / TTL.as_millis()) as u32;
        let trouble = (0..TROUBLE).map(|_| {
            let (after, member) = (millis(&mut rng, 10..250) * scale, rng.random_range(0..members));
            let what = match store.served() {
                // A store in memory that is used alone keeps what it has granted, or promises less.
                None if members > 1 && rng.random_bool(0.2) => What::Restart,
                Some(server) if rng.random_bool(0.4) => server.trouble(&mut rng),
                _ => {
                    let from = [None, Some(0), Some(1), Some(2)][rng.random_range(0..4)];
                    What::Cut { from, lasts: millis(&mut rng, 20..900) * scale }
                }
            };
            Trouble { after, member, what }
        });
        let trouble = trouble.collect();
        let ahead = (0..members).map(|_| millis(&mut rng, 0..2_400)).collect();
        // What is left behind and would heal with a short lease stays for as long as this one.
        let lease = if store.heals_itself() && rng.random_bool(0.25) { LONG } else { store.lease() };
        if store.served().is_some_and(Served::bears_losses) && rng.random_bool(HARSH) {
            links.lost_replies = 0.5;
        }
        Self { store, seed, members, lease, links, trouble, ahead }
    }
}
