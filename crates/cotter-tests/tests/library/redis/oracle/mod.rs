//! Random operations in all modes: the memory store and Redis must agree.
//!
//! | file | concept |
//! |---|---|
//! | `side` | one of the two stores, and the claims that use it |
//! | `step` | one operation |

mod side;
mod step;

use super::setup::clock;
use cotter::backend::{Backend, Claim, Connect, Host, Mode};
use cotter::{Name, memory};
use cotter_testkit::servers::Redis;
use cotter_testkit::sized;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use side::Side;
use std::sync::Arc;
use std::time::Duration;
use step::{Step, step};

/// Nothing ends by itself during a run.
const TTL: Duration = Duration::from_secs(60);
const CLAIMS: usize = 6;
/// No claim wants more permits, and no limit is lower.
const MAX_PERMITS: u32 = 3;

/// In which modes a name is used during a run.
#[derive(Debug, Clone, Copy)]
enum Use {
    Mutex,
    ReadersAndWriters,
    Semaphore,
    /// Those who want it do not agree.
    Mixed,
}

const USES: [Use; 4] = [Use::Mutex, Use::ReadersAndWriters, Use::Semaphore, Use::Mixed];

fn claim(name: &Name, at: usize, used_as: Use, limit: u32, random: &mut StdRng) -> Claim {
    let take = random.random_range(1..=MAX_PERMITS);
    let mode = match (used_as, random.random_range(0..9)) {
        (Use::Mutex, _) | (Use::ReadersAndWriters, 0..3) | (Use::Mixed, 0) => Mode::Exclusive,
        (Use::ReadersAndWriters, _) | (Use::Mixed, 1) => Mode::Shared,
        (Use::Semaphore, 0) | (Use::Mixed, 2..4) => Mode::Permits { take, of: limit + 1 },
        (Use::Semaphore | Use::Mixed, _) => Mode::Permits { take, of: limit },
    };
    let mut claim = Claim::new(name.clone(), mode, TTL);
    claim.turns = random.random_range(1..4);
    claim.label = format!("{at}-{}", random.random::<u32>()).into();
    claim
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn memory_and_redis_agree() {
    let (server, clock) = (Redis::start(), clock());
    let host = Host::without_engine(clock.clone());
    let redis = cotter::redis::Store::from_url(server.url("")).unwrap().connect(&host).await.unwrap();
    let memory = memory::Store::new().connect(&host).await.unwrap();
    for seed in 0..sized(120, 2_000) as u64 {
        run(&redis, &memory, seed).await;
    }
}

async fn run(redis: &Arc<dyn Backend>, memory: &Arc<dyn Backend>, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let name = Name::new(format!("oracle {seed}")).unwrap();
    let used_as = USES[seed as usize % USES.len()];
    let mut limit = random.random_range(MAX_PERMITS..6);
    let mut claims: Vec<Claim> =
        (0..CLAIMS).map(|at| claim(&name, at, used_as, limit, &mut random)).collect();
    let mut sides = [Side::new(redis), Side::new(memory)];
    let mut told = Vec::new();
    for _ in 0..60 {
        let (step, at) = (step(&mut random), random.random_range(0..CLAIMS));
        told.push(format!("{step:?} {at} {:?}", claims[at].mode));
        let ours = sides[0].run(step, &claims, at).await;
        let theirs = sides[1].run(step, &claims, at).await;
        assert_eq!(ours, theirs, "seed {seed}: {told:#?}");
        if let Step::SetLimit { of } = step {
            limit = of;
        }
        if step.ends_claim() {
            // A claim id is not used again once a release of it was sent.
            claims[at] = claim(&name, at, used_as, limit, &mut random);
        }
        for side in &mut sides {
            side.take_grants(&claims).await;
        }
        let [ours, theirs] = [sides[0].view(&name).await, sides[1].view(&name).await];
        assert_eq!(ours, theirs, "seed {seed}: {told:#?}");
    }
}
