//! Futures of all operations that are polled as often as a seed says: once, never, or late, and then kept, dropped or finished.
//!
//! As in a `select!` loop or in a test by hand, only all at once. The engine must not depend on anybody's polling: whatever a
//! future has begun, others get on, and nothing is left behind.
//!
//! | file | concept |
//! |---|---|
//! | `operation` | what can be asked of a client and of a guard |
//! | `held` | the guards, and what is wrong with them |
//! | `caller` | starts, polls, keeps, drops and finishes |
//! | `end` | what must be over when nobody holds or keeps anything |

mod caller;
mod end;
mod held;
mod operation;

use super::in_virtual_time;
use super::served::Running;
use super::store::Store;
use super::world::{MemberClock, over};
use crate::faulty::{self, Counts, Faults, Faulty};
use crate::history::Violation;
use caller::Caller;
use cotter::backend::{Connect, Host};
use cotter::{Client, Lease, Result, memory};
use held::Hands;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The result of a run.
#[derive(Debug)]
pub struct Story {
    /// The violations.
    pub violations: Vec<Violation>,
    /// The history, a line for each event.
    pub history: Vec<String>,
    /// Locks that were held.
    pub held: usize,
    /// Futures that were dropped before they were done.
    pub dropped: usize,
    /// Requests that went wrong.
    pub counts: Counts,
}

const TTL: Duration = Duration::from_millis(300);
/// Processes that have nothing in common but the store.
const CLIENTS: usize = 3;
const STEPS: usize = 150;

/// Runs what a seed decides.
///
/// # Panics
/// When the runtime cannot be made, or the store does not answer although nothing goes wrong.
#[must_use]
pub fn unpolled(store: Store, seed: u64) -> Story {
    in_virtual_time(seed, run(store, seed)).expect("nothing goes wrong at the beginning and at the end")
}

/// What many runs have come to.
#[derive(Debug, Default)]
pub struct Stories {
    /// Locks that were held.
    pub held: usize,
    /// Futures that were dropped before they were done.
    pub dropped: usize,
    /// Requests that went wrong.
    pub faults: usize,
}

impl fmt::Display for Stories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, dropped, faults } = self;
        write!(f, "{held} held, {dropped} dropped before they were done, {faults} faults")
    }
}

/// Runs all of these seeds.
///
/// # Errors
/// The first violation, with its seed and the history of its run.
pub fn many_unpolled(store: Store, seeds: Range<u64>) -> std::result::Result<Stories, String> {
    let mut stories = Stories::default();
    for seed in seeds {
        let story = unpolled(store, seed);
        if let Some(violation) = story.violations.first() {
            return Err(format!("{violation}, with seed {seed}:\n{}", story.history.join("\n")));
        }
        let Counts { lost_replies, late_requests, refused, .. } = story.counts;
        stories.held += story.held;
        stories.dropped += story.dropped;
        stories.faults += lost_replies + late_requests + refused;
    }
    Ok(stories)
}

async fn run(store: Store, seed: u64) -> Result<Story> {
    let mut rng = StdRng::seed_from_u64(seed);
    let world = World::of(store, seed, &mut rng).await?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        clients.push(world.client(Some(number)).await?);
    }
    world.links.iter().flatten().for_each(|link| link.set(world.plan));
    let mut caller = Caller::new(clients, rng, Hands::new(world.loses_nothing(), store.orders_tokens()));
    caller.steps(STEPS).await;
    world.links.iter().flatten().for_each(|link| link.set(faulty::Plan::default()));
    let counts = world.links.iter().flatten().map(Faults::counts).fold(Counts::default(), Counts::and);
    let (held, dropped) = (caller.held.count(), caller.dropped);
    let (violations, history) = end::end(caller, world.client(None).await?, store.longest_idle(TTL)).await;
    Ok(Story { violations, history, held, dropped, counts })
}

/// The members of the store, and the links to them.
struct World {
    servers: Servers,
    links: Vec<Vec<Faults>>,
    plan: faulty::Plan,
}

enum Servers {
    Members(Vec<memory::Store>),
    /// There is one more client, whose link never fails.
    Server(Box<dyn Running>),
}

impl World {
    async fn of(store: Store, seed: u64, rng: &mut StdRng) -> Result<Self> {
        let members = if store == Store::Members && rng.random_bool(0.25) { 3 } else { 1 };
        let slowest = match store.served() {
            // A quorum does without a member that takes longer than a twentieth of the lease.
            None if members > 1 => 6,
            None => 40,
            // A script that the server does not know yet takes another round trip, and the lease has to outlive both.
            Some(_) => 12,
        };
        let mut millis = || Duration::from_millis(rng.random_range(0..slowest));
        let mut plan = faulty::Plan { before: millis(), after: millis(), ..faulty::Plan::default() };
        if rng.random_bool(0.5) {
            plan.lost_replies = rng.random_range(0.0..0.05);
            plan.late_requests = rng.random_range(0.0..0.05);
            plan.refused = rng.random_range(0.0..0.05);
        }
        let link =
            |client: usize, member| Faults::seeded(seed ^ (client * members + member) as u64 ^ 1 << 42);
        let links = (0..CLIENTS).map(|client| (0..members).map(|member| link(client, member)).collect());
        let links: Vec<Vec<Faults>> = links.collect();
        let clock = MemberClock::new(Instant::now(), Duration::ZERO);
        let servers = match store.served() {
            None => Servers::Members(in_memory(members, clock).await?),
            Some(server) => {
                let wires = links.iter().flatten().cloned().chain([Faults::seeded(0)]).collect();
                Servers::Server(server.start(clock, wires))
            }
        };
        Ok(Self { servers, links, plan })
    }

    /// A member of a quorum that is not listened to seems to be silent, and is not asked for a second. Requests to a quorum are
    /// listened to by the engine, but here that is the runtime of the callers.
    fn loses_nothing(&self) -> bool {
        let is_quorum = matches!(&self.servers, Servers::Members(members) if members.len() > 1);
        !is_quorum && self.plan.lost_replies + self.plan.late_requests + self.plan.refused == 0.0
    }

    /// A client over its links, or over such that never fail.
    async fn client(&self, number: Option<usize>) -> Result<Client> {
        let builder = Client::builder().lease(Lease::renewed(TTL));
        match &self.servers {
            Servers::Members(members) => {
                let sound = Faults::seeded(0);
                let link = |member: usize| number.map_or(&sound, |number| &self.links[number][member]);
                let seats = members.iter().enumerate();
                over(seats.map(|(n, member)| Faulty::new(member.clone(), link(n))).collect(), builder).await
            }
            Servers::Server(server) => server.client(number.unwrap_or(CLIENTS), builder).await,
        }
    }
}

/// Stores in memory, all with this clock.
async fn in_memory(members: usize, clock: MemberClock) -> Result<Vec<memory::Store>> {
    let clock = Arc::new(clock);
    let members: Vec<_> = (0..members).map(|_| memory::Store::new()).collect();
    for member in &members {
        // A store in memory has the time of its first client, and its tokens have that time.
        drop(member.connect(&Host::without_engine(clock.clone())).await?);
    }
    Ok(members)
}
