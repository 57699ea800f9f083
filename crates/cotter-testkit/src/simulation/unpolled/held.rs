//! The guards, and what is wrong with them.

use super::operation::Holder;
use crate::history::{Kind, Violation, violation};
use cotter::backend::ClaimId;
use cotter::{Guard, Lease, Lost, Mode};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A lock that somebody holds.
pub(super) struct Held {
    pub(super) id: usize,
    pub(super) client: usize,
    pub(super) owner: Option<usize>,
    pub(super) holder: Holder,
    /// A task waits for the loss of each guard, and when it was first seen to be lost.
    told: Vec<(JoinHandle<Lost>, Option<Instant>)>,
}

/// All that are held, and the tokens that were seen.
#[derive(Default)]
pub(super) struct Hands {
    pub(super) all: Vec<Held>,
    /// Of guards that are gone.
    signals: Vec<JoinHandle<Lost>>,
    largest: BTreeMap<Ordered, Largest>,
    next: usize,
    /// Nothing may be lost but for a reason.
    faultless: bool,
    /// Tokens of different clients are compared.
    orders_tokens: bool,
    /// Clients whose guards are about to be lost.
    pub(super) closing: Vec<usize>,
    pub(super) violations: Vec<Violation>,
}

/// Tokens that are in order: those of a name, or those that this client has had for it.
type Ordered = (String, Option<usize>);

/// The largest token of all holders that believed in theirs, and of one that had the name for itself.
#[derive(Default)]
struct Largest {
    any: u64,
    exclusive: u64,
    /// That of the latest: client, owner and claim.
    hold: Option<(usize, Option<usize>, ClaimId)>,
}

/// Whoever is awake learns of a loss within this time.
const TELLING: Duration = Duration::from_millis(2);

impl Hands {
    pub(super) fn new(faultless: bool, orders_tokens: bool) -> Self {
        Self { faultless, orders_tokens, ..Self::default() }
    }

    fn ordered(&self, client: usize, guard: &Guard) -> Ordered {
        (guard.name().to_string(), (!self.orders_tokens).then_some(client))
    }

    /// Locks that were held so far.
    pub(super) fn count(&self) -> usize {
        self.next
    }

    /// Somebody has got a lock.
    pub(super) fn got(
        &mut self,
        client: usize,
        owner: Option<usize>,
        goes_on: bool,
        holder: Holder,
    ) -> usize {
        for guard in holder.guards().iter().filter(|guard| guard.is_valid()) {
            let (hold, ordered) = ((client, owner, guard.id()), self.ordered(client, guard));
            // Its first guard may be gone already.
            let re_entered =
                owner.is_some() && self.largest.get(&ordered).is_some_and(|l| l.hold == Some(hold));
            if !re_entered && !goes_on {
                self.check_token(client, guard);
            }
            let largest = self.largest.entry(ordered).or_default();
            largest.hold = Some(hold);
            largest.any = largest.any.max(guard.token().get());
            if guard.mode() == Mode::Exclusive {
                largest.exclusive = largest.exclusive.max(guard.token().get());
            }
        }
        self.next += 1;
        let told = holder.guards().iter().map(|guard| (tokio::spawn(guard.lost()), None)).collect();
        self.all.push(Held { id: self.next, client, owner, holder, told });
        self.next
    }

    fn check_token(&mut self, client: usize, guard: &Guard) {
        let Some(largest) = self.largest.get(&self.ordered(client, guard)) else { return };
        let before = match guard.mode() {
            Mode::Exclusive => largest.any,
            Mode::Shared => largest.exclusive,
            _ => 0,
        };
        let token = guard.token().get();
        if token <= before {
            let kind = if token == before { Kind::RepeatedToken } else { Kind::TokenOrder };
            self.wrong(kind, format!("client {client} has {token} for {} after {before}", guard.name()));
        }
    }

    /// Takes one out: from now on its holder does not work any more.
    pub(super) fn take(&mut self, at: usize) -> Held {
        let mut held = self.all.remove(at);
        self.signals.extend(held.told.drain(..).map(|(told, _)| told));
        held
    }

    /// All that must hold at every moment.
    pub(super) fn check(&mut self) {
        let mut found = Vec::new();
        let guards =
            || self.all.iter().flat_map(|h| h.holder.guards().iter().map(move |g| (h.client, h.owner, g)));
        let valid: Vec<_> = guards().filter(|(.., guard)| guard.is_valid()).collect();
        for (n, one) in valid.iter().enumerate() {
            if one.2.remaining().is_some_and(|left| left.is_zero()) {
                found.push(violation(Kind::UsedAfterLoss, format!("{:?} is valid with no time left", one.2)));
            }
            for other in &valid[..n] {
                let excludes = [one, other].iter().any(|(.., g)| g.mode() == Mode::Exclusive);
                if one.2.name() == other.2.name() && excludes && !enters_again(*one, *other) {
                    let text = format!("clients {} and {}: {:?} beside {:?}", one.0, other.0, one.2, other.2);
                    found.push(violation(Kind::Overlap, text));
                }
            }
        }
        let taken: u32 = valid.iter().map(|(.., guard)| permits(guard.mode())).sum();
        if taken > 2 {
            found.push(violation(Kind::PermitsOverLimit, format!("{taken} permits of two")));
        }
        self.violations.append(&mut found);
        self.check_losses();
    }

    fn check_losses(&mut self) {
        let (now, mut found) = (Instant::now(), Vec::new());
        for held in &mut self.all {
            for (guard, (told, since)) in held.holder.guards().iter().zip(&mut held.told) {
                if guard.is_valid() {
                    if told.is_finished() {
                        found.push(violation(
                            Kind::NeedlessLoss,
                            format!("{guard:?} is valid and was told lost"),
                        ));
                    }
                    continue;
                }
                let since = since.get_or_insert(now);
                if now - *since > TELLING && !told.is_finished() {
                    found.push(violation(Kind::UntoldLoss, format!("{guard:?}, lost since {since:?}")));
                }
                let cause = guard.check().err().map(|lost| lost.cause);
                let lasts = guard.lease() == Lease::renewed(super::TTL);
                if self.faultless && lasts && !self.closing.contains(&held.client) {
                    found.push(violation(Kind::NeedlessLoss, format!("{guard:?}: {cause:?}")));
                }
            }
        }
        self.violations.append(&mut found);
    }

    /// Nobody holds anything any more, so every signal has ended.
    pub(super) fn check_signals(&mut self) {
        let unheard = self.signals.iter().filter(|told| !told.is_finished()).count();
        if unheard > 0 {
            self.wrong(Kind::UntoldLoss, format!("{unheard} signals of guards that are gone have not ended"));
        }
    }

    pub(super) fn wrong(&mut self, kind: Kind, text: String) {
        self.violations.push(violation(kind, text));
    }
}

type Entered<'a> = (usize, Option<usize>, &'a Guard);

/// Two guards of one hold of one owner.
fn enters_again(one: Entered<'_>, other: Entered<'_>) -> bool {
    let is_owned = one.1.is_some() && (one.0, one.1) == (other.0, other.1);
    is_owned && (one.2.id(), one.2.token()) == (other.2.id(), other.2.token())
}

fn permits(mode: Mode) -> u32 {
    match mode {
        Mode::Permits { take, .. } => take,
        _ => 0,
    }
}
