//! Random operations: the memory store and Redis must agree.

use super::setup::clock;
use cotter::backend::{
    Backend, Claim, ClaimId, Connect, EvictOrder, Extension, Grant, Host, Leave, Mode, Until,
};
use cotter::{Name, memory};
use cotter_testkit::servers::Redis;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Nothing ends by itself during a run.
const TTL: Duration = Duration::from_secs(60);

/// One store under comparison, and the grants that it gave.
struct Side {
    backend: Arc<dyn Backend>,
    grants: HashMap<ClaimId, Grant>,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Acquire,
    Extend,
    Release {
        used: u16,
        keep: bool,
    },
    Evict {
        now: bool,
    },
    /// Waits for a moment and gives up.
    Wait,
}

impl Side {
    async fn run(&mut self, step: Step, claims: &[Claim], at: usize) -> String {
        let claim = &claims[at];
        let until = Until::Now;
        match step {
            Step::Acquire => self.granted(self.backend.acquire(claim, until).await.unwrap().granted()),
            Step::Wait => self.granted(
                self.backend
                    .acquire(claim, Until::Moment(cotter::clock::Moment::ZERO))
                    .await
                    .unwrap()
                    .granted(),
            ),
            Step::Extend => {
                let Some(grant) = self.grants.get(&claim.id) else { return "none".into() };
                let answer = self.backend.extend(&[grant], TTL * 2).await.remove(0).unwrap();
                match answer {
                    Extension::Lost(cause) => format!("lost: {cause}"),
                    _ => "extended".into(),
                }
            }
            Step::Release { used, keep } => {
                let keep_for = keep.then_some(TTL);
                format!(
                    "{:?}",
                    self.backend.release(claim, Leave::used(used).keeping(keep_for)).await.unwrap()
                )
            }
            Step::Evict { now } => {
                let order = if now { EvictOrder::new().at_once() } else { EvictOrder::new() };
                let answer = self.backend.admin().unwrap().evict(&claim.name, order).await.unwrap();
                format!("{answer:?}").split(' ').next().unwrap().to_owned()
            }
        }
    }

    /// Whether, and whose; the numbers are each store's own, but they must rise.
    fn granted(&mut self, grant: Option<Grant>) -> String {
        let Some(grant) = grant else { return "busy".into() };
        let known = self.grants.values().find(|g| g.number == grant.number);
        if let Some(known) = known {
            assert_eq!(known.turns, grant.turns, "a grant answers itself");
        } else {
            assert!(grant.number > self.last, "{} after {}", grant.number, self.last);
        }
        self.last = self.last.max(grant.number);
        let text = format!("granted {}", grant.claim.id);
        self.grants.insert(grant.claim.id, grant);
        text
    }
}

fn step(random: &mut StdRng) -> Step {
    match random.random_range(0..13) {
        0..4 => Step::Acquire,
        4..6 => Step::Extend,
        6..10 => Step::Release { used: random.random_range(0..4), keep: random.random_range(0..12) == 0 },
        10 => Step::Evict { now: false },
        11 => Step::Evict { now: true },
        _ => Step::Wait,
    }
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn memory_and_redis_agree() {
    let server = Redis::start();
    let clock = clock();
    let redis = cotter::redis::Store::from_url(server.url(""))
        .unwrap()
        .connect(&Host::without_engine(clock.clone()))
        .await
        .unwrap();
    let memory = memory::Store::new().connect(&Host::without_engine(clock.clone())).await.unwrap();
    for seed in 0..100 {
        let mut random = StdRng::seed_from_u64(seed);
        let name = Name::new(format!("oracle {seed}")).unwrap();
        let mut claims: Vec<Claim> = (0..4).map(|_| claim(&name)).collect();
        let mut sides =
            [&redis, &memory].map(|b| Side { backend: b.clone(), grants: HashMap::new(), last: 0 });
        let mut told = Vec::new();
        for _ in 0..60 {
            let (step, at) = (step(&mut random), random.random_range(0..claims.len()));
            told.push(format!("{step:?} {at}"));
            let ours = sides[0].run(step, &claims, at).await;
            let theirs = sides[1].run(step, &claims, at).await;
            assert_eq!(ours, theirs, "seed {seed}: {told:?}");
            if let Step::Release { .. } = step {
                // A claim id is not used again once a release of it was sent.
                claims[at] = claim(&name);
            }
        }
    }
}

fn claim(name: &Name) -> Claim {
    let mut claim = Claim::new(name.clone(), Mode::Exclusive, TTL);
    claim.turns = 3;
    claim
}
