//! The majority.

use crate::member::MemberStore;
use crate::race;
use async_trait::async_trait;
use cotter::backend::poll::{self, Attempt};
use cotter::backend::{
    Backend, Claim, ClaimId, Connect, Extension, Found, Grant, Host, Info, Leave, Mode, NoteAt, Notes,
    Release, Until,
};
use cotter::clock::Moment;
use cotter::{Error, ErrorKind, LossCause, Name, Note, Result};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_millis(50);
const DOWN_FOR: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Store {
    members: Vec<Box<dyn Connect>>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    down: Mutex<Vec<Moment>>,
    /// By the claim id of the engine; each round has a claim id of its own.
    rounds: Mutex<HashMap<ClaimId, Vec<Round>>>,
}

/// One attempt at all members.
#[derive(Debug, Clone)]
struct Round {
    claim: Claim,
    asked: Vec<bool>,
    votes: Vec<Option<Grant>>,
    ends: Moment,
    /// The number that a majority stands at, once it does.
    won: Option<(u64, u16)>,
}

impl Store {
    pub fn new(urls: &[String]) -> Self {
        let member = |url: &String| Box::new(MemberStore(url.clone(), Arc::default(), TIMEOUT)) as _;
        let down = Mutex::new(vec![Moment::ZERO; urls.len()]);
        let shared = Arc::new(Shared { down, rounds: Mutex::default() });
        Self { members: urls.iter().map(member).collect(), shared }
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let mut members = Vec::new();
        for member in &self.members {
            members.push(member.connect(host).await?);
        }
        let instances: Vec<_> = members.iter().map(|m| m.info().instance.as_str()).collect();
        let mut info = Info::new("quorum", instances.join(","));
        let can = &mut info.capabilities;
        (can.leases, can.names, can.distinct, can.keep_for, can.per_runtime) = (true, true, true, true, true);
        can.notes = true;
        Ok(Arc::new(Quorum(Arc::new(Inner {
            info,
            members,
            shared: self.shared.clone(),
            host: host.clone(),
        }))))
    }
}

#[derive(Debug)]
struct Quorum(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    info: Info,
    members: Vec<Arc<dyn Backend>>,
    shared: Arc<Shared>,
    host: Host,
}

impl Shared {
    fn with<T>(&self, id: ClaimId, round: ClaimId, f: impl FnOnce(&mut Round) -> T) -> Option<T> {
        let mut rounds = self.rounds.lock().unwrap();
        rounds.get_mut(&id)?.iter_mut().find(|r| r.claim.id == round).map(f)
    }

    fn of(&self, id: ClaimId) -> Vec<Round> {
        self.rounds.lock().unwrap().get(&id).cloned().unwrap_or_default()
    }

    fn won(&self, id: ClaimId) -> Option<Round> {
        self.of(id).into_iter().find(|r| r.won.is_some())
    }

    fn forget(&self, id: ClaimId, round: ClaimId) {
        let mut rounds = self.rounds.lock().unwrap();
        if let Some(all) = rounds.get_mut(&id) {
            all.retain(|r| r.claim.id != round);
            if all.is_empty() {
                rounds.remove(&id);
            }
        }
    }
}

fn count<T>(answers: &[Option<Result<T>>], f: impl Fn(&T) -> bool) -> usize {
    answers.iter().flatten().flatten().filter(|a| f(a)).count()
}

impl Inner {
    fn majority(&self) -> usize {
        self.members.len() / 2 + 1
    }

    fn now(&self) -> Moment {
        self.host.clock().now()
    }

    fn is_down(&self, seat: usize) -> bool {
        self.shared.down.lock().unwrap()[seat] > self.now()
    }

    fn heard<T>(&self, seat: usize, answer: &Result<T>) {
        let until = if answer.is_err() { self.now() + DOWN_FOR } else { Moment::ZERO };
        self.shared.down.lock().unwrap()[seat] = until;
    }

    /// Seats that are not known to be down; all, when those are too few.
    fn seats(&self) -> Vec<usize> {
        let up: Vec<_> = (0..self.members.len()).filter(|s| !self.is_down(*s)).collect();
        if up.len() < self.majority() { (0..self.members.len()).collect() } else { up }
    }

    async fn round(&self, claim: &Claim) -> Result<Option<Grant>> {
        let (id, round) = (claim.id, claim.renewed());
        let seats = self.seats();
        let asked = (0..self.members.len()).map(|s| seats.contains(&s)).collect();
        let as_of = self.now();
        let ends = as_of + claim.ttl;
        let votes = vec![None; self.members.len()];
        let new = Round { claim: round.clone(), asked, votes, ends, won: None };
        self.shared.rounds.lock().unwrap().entry(id).or_default().push(new);

        let n = seats.len();
        let takes = seats.iter().map(|s| self.take(*s, &round, 0));
        let answers = race::until(takes, |answers| {
            let yes = count(answers, Option::is_some);
            let busy = count(answers, Option::is_none);
            yes >= self.majority() || busy > self.members.len() - self.majority()
        })
        .await;
        let answered = count(&answers, |_| true);
        let failed = answers.iter().flatten().find_map(|a| a.as_ref().err().cloned());
        let mut votes: Vec<(usize, Grant)> =
            seats.iter().zip(answers).filter_map(|(s, a)| Some((*s, a?.ok()??))).collect();
        if let Some(won) = self.agree(&mut votes).await {
            self.shared.with(id, round.id, |r| {
                r.won = Some(won);
                votes.into_iter().for_each(|(s, vote)| r.votes[s] = Some(vote));
            });
            return Ok(Some(granted(claim, won, as_of, claim.ttl)));
        }
        let (_, _, open) = self.undo(id, &round, Leave::default()).await;
        match failed {
            // Too few have answered to say that it is busy.
            Some(e) if answered < self.majority() && n >= self.majority() => {
                Err(if open.is_some() { e.with_outcome_unknown() } else { e })
            }
            _ => {
                if let Some(until) = open {
                    self.settle_later(id, &round, until);
                }
                Ok(None)
            }
        }
    }

    async fn take(&self, seat: usize, round: &Claim, at_least: u64) -> Result<Option<Grant>> {
        let answer = self.members[seat].member().expect("a member").take(round, at_least).await;
        self.heard(seat, &answer);
        answer
    }

    async fn raise(&self, seat: usize, vote: &Grant, number: u64) -> Result<Option<Grant>> {
        let answer = self.members[seat].member().expect("a member").raise(vote, number).await;
        self.heard(seat, &answer);
        answer
    }

    /// Phase 2: a majority stands at the largest number.
    async fn agree(&self, votes: &mut Vec<(usize, Grant)>) -> Option<(u64, u16)> {
        if votes.len() < self.majority() {
            return None;
        }
        let number = votes.iter().map(|(_, v)| v.number).max()?;
        PHASES[0].fetch_add(1, Ordering::Relaxed);
        if votes.iter().filter(|(_, v)| v.number == number).count() < self.majority() {
            PHASES[1].fetch_add(1, Ordering::Relaxed);
            let raised = race::all(votes.iter().map(|(s, v)| async move {
                if v.number == number { Ok(Some(v.clone())) } else { self.raise(*s, v, number).await }
            }));
            let raised = raised.await;
            *votes = votes.iter().zip(raised).filter_map(|((s, _), r)| Some((*s, r.ok()??))).collect();
        }
        let stand: Vec<_> = votes.iter().filter(|(_, v)| v.number == number).collect();
        let turns = stand.iter().map(|(_, v)| v.turns).min()?;
        (stand.len() >= self.majority()).then_some((number, turns))
    }

    /// Releases a round wherever it was sent: how many answered, how many freed it, and until when something may be left of it.
    async fn undo(&self, id: ClaimId, round: &Claim, leave: Leave) -> (usize, usize, Option<Moment>) {
        let Some((asked, ends)) = self.shared.with(id, round.id, |r| (r.asked.clone(), r.ends)) else {
            return (0, 0, None);
        };
        let seats: Vec<_> = (0..asked.len()).filter(|s| asked[*s]).collect();
        let releases = seats.iter().map(|s| async {
            let answer = self.members[*s].release(round, leave).await;
            self.heard(*s, &answer);
            answer
        });
        // Those that are known to be down are told, but not waited for.
        let answers = race::until(releases, |answers| {
            count(answers, |_| true) >= self.majority()
                && answers.iter().zip(&seats).all(|(a, s)| a.is_some() || self.is_down(*s))
        })
        .await;
        let freed = count(&answers, |r| r.found() == Found::Held);
        let mut open = None;
        for answer in &answers {
            match answer {
                Some(Ok(Release::Unsettled { until, .. })) => open = open.max(Some(*until)),
                Some(Ok(_)) => {}
                _ if self.now() < ends => open = open.max(Some(ends)),
                _ => {}
            }
        }
        if open.is_none() {
            self.shared.forget(id, round.id);
        }
        (count(&answers, |_| true), freed, open)
    }

    /// `Ok(None)` is about to be answered, which nobody undoes.
    fn settle_later(&self, id: ClaimId, round: &Claim, until: Moment) {
        let (shared, members) = (self.shared.clone(), self.members.clone());
        let inner = Self { info: self.info.clone(), members, shared, host: self.host.clone() };
        let round = round.clone();
        self.host.spawn(async move {
            let mut pause = Duration::from_millis(100);
            while inner.undo(id, &round, Leave::default()).await.2.is_some() && inner.now() <= until {
                inner.host.clock().sleep_until(until.min(inner.now() + pause)).await;
                pause *= 4;
            }
        });
    }

    /// The grant of this claim as it stands now.
    async fn again(&self, claim: &Claim, round: &Round) -> Result<Option<Grant>> {
        let as_of = self.now();
        let (Some((number, turns)), votes) = (round.won, &round.votes) else { return Ok(None) };
        let asked = votes.iter().enumerate().filter_map(|(s, v)| Some((s, v.as_ref()?)));
        let answers = race::all(asked.map(|(s, v)| self.raise(s, v, number))).await;
        let mut left: Vec<_> = answers.into_iter().filter_map(|a| a.ok()??.ttl).collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        Ok(left.get(self.majority() - 1).map(|left| granted(claim, (number, turns), as_of, *left)))
    }

    async fn once(&self, claim: &Claim) -> Result<Option<Grant>> {
        if let Some(round) = self.shared.won(claim.id) {
            if let Some(grant) = self.again(claim, &round).await? {
                return Ok(Some(grant));
            }
            self.undo(claim.id, &round.claim, Leave::default()).await;
        }
        self.round(claim).await
    }

    async fn extend_one(&self, grant: &Grant, ttl: Duration) -> Result<Extension> {
        let id = grant.claim.id;
        let Some(round) = self.shared.won(id) else { return Ok(Extension::Lost(LossCause::Gone)) };
        let as_of = self.now();
        let voters: Vec<_> =
            round.votes.iter().enumerate().filter_map(|(s, v)| Some((s, v.as_ref()?))).collect();
        let answers = race::until(
            voters.iter().map(|(s, v)| async {
                let answer = self.members[*s].extend(&[*v], ttl).await.remove(0);
                self.heard(*s, &answer);
                answer
            }),
            |answers| {
                let yes = count(answers, |e| matches!(e, Extension::Extended { .. }));
                yes >= self.majority()
                    && answers.iter().zip(&voters).all(|(a, (s, _))| a.is_some() || self.is_down(*s))
            },
        )
        .await;
        let (mut left, mut stays, mut failed) = (Vec::new(), Vec::new(), None);
        for ((seat, _), answer) in voters.iter().zip(answers) {
            match answer {
                Some(Ok(Extension::Extended { ttl, .. })) => {
                    left.push(ttl.unwrap_or_default());
                    stays.push(*seat);
                }
                Some(Ok(_)) => {}
                Some(Err(e)) => {
                    failed = Some(e);
                    stays.push(*seat)
                }
                None => stays.push(*seat),
            }
        }
        // Those that are silent still hold what they gave, or the engine would not ask any more.
        if stays.len() < self.majority() {
            return Ok(Extension::Lost(LossCause::Gone));
        }
        self.shared.with(id, round.claim.id, |r| {
            (0..r.votes.len()).filter(|s| !stays.contains(s)).for_each(|s| r.votes[s] = None);
        });
        left.extend(self.top_up(id, &round, ttl, grant.number).await);
        left.sort_unstable_by(|a, b| b.cmp(a));
        let Some(given) = left.get(self.majority() - 1).copied() else {
            let silent = || Error::new(ErrorKind::Unavailable, "too few members answered an extension");
            return Err(failed.unwrap_or_else(silent));
        };
        self.shared.with(id, round.claim.id, |r| r.ends = r.ends.max(as_of + given));
        Ok(Extension::extended(as_of, Some(given)))
    }

    /// Members that have no vote of ours take the claim and its number in one step.
    async fn top_up(&self, id: ClaimId, round: &Round, ttl: Duration, number: u64) -> Vec<Duration> {
        let missing = self.shared.with(id, round.claim.id, |r| {
            let missing: Vec<_> =
                (0..r.votes.len()).filter(|s| r.votes[*s].is_none() && !self.is_down(*s)).collect();
            missing.iter().for_each(|s| r.asked[*s] = true);
            missing
        });
        let missing = missing.unwrap_or_default();
        let mut claim = round.claim.clone();
        claim.ttl = ttl;
        let votes = race::all(missing.iter().map(|s| self.take(*s, &claim, number))).await;
        self.shared
            .with(id, round.claim.id, |r| {
                for (seat, vote) in missing.iter().zip(votes) {
                    r.votes[*seat] = vote.ok().flatten();
                }
                missing.iter().filter_map(|s| r.votes[*s].as_ref()?.ttl).collect()
            })
            .unwrap_or_default()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let (mut found, mut open) = (Release::NotHeld, None);
        for round in self.shared.of(claim.id) {
            let leave = if round.won.is_some() { leave } else { Leave::default() };
            let (answered, freed, until) = self.undo(claim.id, &round.claim, leave).await;
            let silent = round.asked.iter().filter(|asked| **asked).count() - answered;
            if round.won.is_some()
                && until.is_some()
                && (freed..freed + silent).contains(&(self.majority() - 1))
            {
                let why = "too few members answered a release to tell whether it was held";
                return Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown());
            }
            if freed >= self.majority() {
                found = Release::Freed;
            }
            open = open.max(until);
        }
        Ok(open.map_or(found, |until| found.unsettled(until)))
    }
}

fn granted(claim: &Claim, (number, turns): (u64, u16), as_of: Moment, ttl: Duration) -> Grant {
    let mut grant = Grant::new(claim.clone(), number, as_of);
    (grant.turns, grant.ttl) = (turns, Some(ttl));
    grant
}

struct Try<'a>(&'a Inner, &'a Claim);

impl Attempt for Try<'_> {
    type Done = Grant;

    async fn attempt(&mut self) -> Result<Option<Grant>> {
        self.0.once(self.1).await
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        if std::env::var("NO_HINTS").is_ok() {
            return Box::pin(std::future::pending());
        }
        let freed = self.0.members.iter().filter_map(|m| Some(m.member()?.freed(&self.1.name)));
        let freed: Vec<_> = freed.collect();
        Box::pin(async move {
            race::until(freed.into_iter(), |answers| answers.iter().any(Option::is_some)).await;
            // They are freed one after the other.
            tokio::time::sleep(Duration::from_micros(rand::random_range(100..2_000))).await;
        })
    }

    fn period(&self) -> Duration {
        Duration::from_micros(rand::random_range(1_000..12_000))
    }
}

#[async_trait]
impl Backend for Quorum {
    fn info(&self) -> &Info {
        &self.0.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        match claim.mode {
            Mode::Exclusive => {}
            Mode::Shared => return Err(Error::unsupported("shared locks", "quorum")),
            _ => return Err(Error::unsupported("semaphores", "quorum")),
        }
        match until {
            Until::Now => self.0.once(claim).await,
            _ => poll::until(&**self.0.host.clock(), until, &mut Try(&self.0, claim)).await,
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        race::all(grants.iter().map(|grant| self.0.extend_one(grant, ttl))).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.0.release(claim, leave).await
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    async fn close(&self) {
        race::all(self.0.members.iter().map(|m| m.close())).await;
    }
}

#[async_trait]
impl Notes for Quorum {
    /// The largest pair of a majority, written back to those that lack it before anybody uses it.
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let quorum = &self.0;
        let seats = quorum.seats();
        let loads = seats.iter().map(|s| async {
            let answer = quorum.members[*s].notes().expect("has notes").load(name, key).await;
            quorum.heard(*s, &answer);
            answer
        });
        let answers = race::until(loads, |answers| count(answers, |_| true) >= quorum.majority()).await;
        let read: Vec<_> = seats.iter().zip(answers).filter_map(|(s, a)| Some((*s, a?.ok()?))).collect();
        if read.len() < quorum.majority() {
            return Err(Error::new(ErrorKind::Unavailable, "no majority for a note"));
        }
        let pair = |n: &Note| (n.token, n.sequence);
        let Some(largest) = read.iter().filter_map(|(_, n)| n.clone()).max_by_key(pair) else {
            return Ok(None);
        };
        let behind = read.iter().filter(|(_, n)| n.as_ref().is_none_or(|n| pair(n) < pair(&largest)));
        let mends =
            behind.map(|(s, _)| quorum.members[*s].member().expect("a member").mend(name, key, &largest));
        for mended in race::all(mends).await {
            mended?;
        }
        Ok(Some(largest))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let quorum = &self.0;
        let Some(round) = quorum.shared.won(grant.claim.id) else { return Ok(None) };
        let votes: Vec<_> =
            round.votes.iter().enumerate().filter_map(|(s, v)| Some((s, v.as_ref()?))).collect();
        let stores =
            votes.iter().map(|(s, v)| quorum.members[*s].notes().expect("has notes").store(v, at, bytes));
        let answers = race::all(stores).await;
        let stored: Vec<_> = answers.iter().filter_map(|a| a.as_ref().ok().copied().flatten()).collect();
        let failed = answers.into_iter().find_map(|a| a.err());
        match (stored.len() >= quorum.majority(), failed) {
            (true, _) => Ok(Some(stored[0])),
            (false, Some(e)) => Err(e.with_outcome_unknown()),
            (false, None) => Ok(None),
        }
    }

    async fn swap(&self, name: &Name, _: &str, _: u64, _: &[u8]) -> Result<Option<u64>> {
        Err(Error::unsupported("compare-and-set on notes", "quorum").with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let period = Duration::from_millis(100);
        let mut change = poll::NoteChange::new(seen, period, || self.load(name, key));
        poll::until(&**self.0.host.clock(), until, &mut change).await
    }
}

/// Rounds with a majority of votes, and those of them that needed phase 2.
pub static PHASES: [std::sync::atomic::AtomicU32; 2] = [const { std::sync::atomic::AtomicU32::new(0) }; 2];
