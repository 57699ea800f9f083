//! One of the two stores, and the claims that use it.

use super::TTL;
use super::step::Step;
use cotter::backend::{
    Acquired, Backend, Claim, ClaimId, EvictOrder, Extension, Filter, Grant, Leave, Mode, NoteAt, Until,
};
use cotter::clock::Moment;
use cotter::{Name, Result};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

type Waiting = JoinHandle<Result<Acquired>>;

pub(super) struct Side {
    backend: Arc<dyn Backend>,
    grants: HashMap<ClaimId, Grant>,
    waiting: HashMap<ClaimId, Waiting>,
    last: u64,
    notes: u64,
}

impl Side {
    pub(super) fn new(backend: &Arc<dyn Backend>) -> Self {
        let (backend, grants, waiting) = (backend.clone(), HashMap::new(), HashMap::new());
        Self { backend, grants, waiting, last: 0, notes: 0 }
    }

    /// What the store answered, in words that both stores have in common.
    pub(super) async fn run(&mut self, step: Step, claims: &[Claim], at: usize) -> String {
        let claim = &claims[at];
        match step {
            Step::Acquire | Step::Wait | Step::Queue if self.waiting.contains_key(&claim.id) => {
                "it waits".into()
            }
            Step::Acquire => self.acquire(&self.as_granted(claim), Until::Now).await,
            Step::Wait => self.acquire(&self.as_granted(claim), Until::Moment(Moment::ZERO)).await,
            Step::Queue => self.queue(&self.as_granted(claim)).await,
            Step::Extend => self.extend(&[claim]).await,
            Step::ExtendAll => self.extend(&claims.iter().collect::<Vec<_>>()).await,
            Step::Release { used, keep } => {
                let waited = self.stop_waiting(claim).await;
                let leave = Leave::used(used).keeping(keep.then_some(TTL));
                let released = self.backend.release(claim, leave).await.unwrap();
                if waited { "left the queue".into() } else { format!("{released:?}") }
            }
            Step::Downgrade => self.downgrade(claim).await,
            Step::Evict { one, now } => self.evict(claim, one, now).await,
            Step::SetLimit { of } => format!("{:?}", self.backend.set_limit(&claim.name, of).await),
            Step::Note => self.note(claim).await,
        }
    }

    /// The claim, shared if it was downgraded.
    fn as_granted(&self, claim: &Claim) -> Claim {
        let mut claim = claim.clone();
        if self.grants.get(&claim.id).is_some_and(|grant| grant.claim.mode == Mode::Shared) {
            claim.mode = Mode::Shared;
        }
        claim
    }

    async fn acquire(&mut self, claim: &Claim, until: Until) -> String {
        match self.backend.acquire(claim, until).await {
            Ok(acquired) => acquired.granted().map_or("busy".into(), |grant| self.granted(grant)),
            Err(e) => refusal(&e),
        }
    }

    async fn queue(&mut self, claim: &Claim) -> String {
        let before = self.waiters(&claim.name).await;
        let (backend, asked) = (self.backend.clone(), claim.clone());
        let mut task = tokio::spawn(async move { backend.acquire(&asked, Until::Forever).await });
        let end = Instant::now() + Duration::from_secs(20);
        while self.waiters(&claim.name).await == before {
            assert!(Instant::now() < end, "it is neither granted nor queued");
            if let Ok(done) = tokio::time::timeout(Duration::from_millis(1), &mut task).await {
                return match done.unwrap() {
                    Ok(acquired) => self.granted(acquired.granted().unwrap()),
                    Err(e) => refusal(&e),
                };
            }
        }
        self.waiting.insert(claim.id, task);
        "queued".into()
    }

    /// Whether, and whose; the numbers are each store's own, but they must rise.
    fn granted(&mut self, grant: Grant) -> String {
        let known = self.grants.values().find(|g| g.number == grant.number);
        if let Some(known) = known {
            assert_eq!(
                (known.claim.id, known.turns),
                (grant.claim.id, grant.turns),
                "a grant answers itself"
            );
        } else {
            assert!(grant.number > self.last, "{} after {}", grant.number, self.last);
        }
        self.last = self.last.max(grant.number + u64::from(grant.turns) - 1);
        let text = format!("granted {}", grant.claim.label);
        self.grants.insert(grant.claim.id, grant);
        text
    }

    async fn extend(&mut self, claims: &[&Claim]) -> String {
        let grants: Vec<&Grant> = claims.iter().filter_map(|c| self.grants.get(&c.id)).collect();
        let answers = self.backend.extend(&grants, TTL * 2).await;
        let words = answers.into_iter().map(|answer| match answer.unwrap() {
            Extension::Lost(cause) => format!("lost: {cause}"),
            _ => "extended".into(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    async fn downgrade(&mut self, claim: &Claim) -> String {
        let Some(grant) = self.grants.get(&claim.id).filter(|g| g.claim.mode == Mode::Exclusive) else {
            return "none".into();
        };
        match self.backend.downgrade(grant).await {
            Ok(shared) => {
                assert_eq!((shared.number, shared.turns), (grant.number + u64::from(grant.turns) - 1, 1));
                self.grants.insert(claim.id, shared);
                "downgraded".into()
            }
            Err(e) => refusal(&e).replace(&claim.id.to_string(), "it"),
        }
    }

    async fn evict(&mut self, claim: &Claim, one: bool, now: bool) -> String {
        let mut order = if now { EvictOrder::new().at_once() } else { EvictOrder::new() };
        match self.grants.get(&claim.id) {
            Some(grant) if one => order = order.only(grant.number.into()),
            None if one => return "none".into(),
            _ => {}
        }
        let answer = self.backend.admin().unwrap().evict(&claim.name, order).await.unwrap();
        format!("{answer:?}").split(' ').next().unwrap().to_owned()
    }

    async fn note(&mut self, claim: &Claim) -> String {
        let Some(grant) = self.grants.get(&claim.id) else { return "none".into() };
        self.notes += 1;
        let at = NoteAt::new("", grant.number, self.notes);
        let stored = self.backend.notes().unwrap().store(grant, at, b"x").await.unwrap();
        format!("{stored:?}")
    }

    async fn stop_waiting(&mut self, claim: &Claim) -> bool {
        let Some(task) = self.waiting.remove(&claim.id) else { return false };
        task.abort();
        task.await.expect_err("it was aborted");
        true
    }

    /// Takes in the grants of those who waited. A message grants for a short time, until the first extension.
    pub(super) async fn take_grants(&mut self, claims: &[Claim]) {
        for claim in claims.iter().filter(|c| self.waiting.contains_key(&c.id)).collect::<Vec<_>>() {
            if !self.view(&claim.name).await.0.iter().any(|h| h.starts_with(&format!("{} ", claim.label))) {
                continue;
            }
            let task = self.waiting.remove(&claim.id).unwrap();
            let acquired = tokio::time::timeout(Duration::from_secs(20), task).await.expect("it is woken");
            let grant = acquired.unwrap().unwrap().granted().unwrap();
            self.last = self.last.max(grant.number + u64::from(grant.turns) - 1);
            assert!(self.grants.values().all(|g| g.number != grant.number), "each token is its own");
            self.backend.extend(&[&grant], TTL).await.remove(0).unwrap();
            self.grants.insert(claim.id, grant);
        }
    }

    async fn waiters(&self, name: &Name) -> u32 {
        self.view(name).await.1
    }

    /// The holders, and the number of those who wait.
    pub(super) async fn view(&self, name: &Name) -> (Vec<String>, u32) {
        let page =
            self.backend.admin().unwrap().list(&Filter::exactly(name).with_free(), None).await.unwrap();
        let Some(record) = page.records.first() else { return (Vec::new(), 0) };
        assert_eq!(record.unlisted, 0);
        let mut holders: Vec<String> =
            record.holders.iter().map(|h| format!("{} {:?}", h.label, h.mode)).collect();
        holders.sort();
        (holders, record.waiters.unwrap())
    }
}

/// What an error says, without the store.
fn refusal(e: &cotter::Error) -> String {
    let text = e.to_string();
    text[text.find(&e.kind().to_string()).unwrap()..].to_owned()
}
