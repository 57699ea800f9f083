//! The line of a fair lock, in the keys of Redisson's `RFairLock`.
//!
//! Whoever is first in line is told of a release, and nobody else takes the lock. Redisson believes for five minutes and a lease that one
//! who is silent still waits. Here, one who stands behind asks again and again while the lock is free, tells the first each time, and
//! passes over one who does not come.

use super::acquire::Request;
use super::backend::{EVICTED, LEFT_BEHIND, Redisson};
use super::names;
use crate::backend::Claim;
use crate::stores::redis::live::Live;
use crate::stores::redis::older::millis;
use crate::stores::redis::script;
use crate::{Moment, Result};
use redis::Value;
use std::time::Duration;

/// For how long Redisson believes that one who is silent waits, in milliseconds (`fairLockWaitTimeout`): whoever takes the lock takes it
/// off the time of all others, so that all have to agree on it.
const STAYS: &str = "300000";
/// Whoever is close to its turn asks this often.
pub(super) const LINE_PERIOD: Duration = Duration::from_millis(500);
/// A free lock is left to the first in line for this long.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Where a claim that asks stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// It takes the lock only if nobody waits.
    Outside,
    /// It joins the line, and passes over the first there if that is still the same.
    InLine { passes: Option<&'a str> },
}

impl<'a> Place<'a> {
    /// The last arguments of the script.
    fn args(self) -> [&'a str; 2] {
        match self {
            Self::Outside => ["", ""],
            Self::InLine { passes } => [STAYS, passes.unwrap_or_default()],
        }
    }
}

/// Who is ahead of a claim.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Others, or it is the first itself.
    Some,
    /// The first in line, and nobody else.
    First,
    /// The lock is free, and the first in line, of whom this is a hash, does not take it.
    Idle(String),
}

impl Ahead {
    pub(super) fn parse(answer: &str) -> Self {
        match answer {
            "" => Self::Some,
            "+" => Self::First,
            first => Self::Idle(first.to_owned()),
        }
    }
}

/// What a claim has seen of those ahead of it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    is_first: bool,
    /// The first in line, who leaves a free lock alone, and since when.
    idle: Option<(String, Moment)>,
}

impl Watch {
    pub(super) fn saw(&mut self, ahead: Ahead, now: Moment) {
        self.is_first = ahead == Ahead::First;
        self.idle = match (ahead, self.idle.take()) {
            (Ahead::Idle(first), Some((before, since))) if first == before => Some((first, since)),
            (Ahead::Idle(first), _) => Some((first, now)),
            _ => None,
        };
    }

    /// Whether its turn may come soon, without a message.
    pub(super) const fn is_close(&self) -> bool {
        self.is_first || self.idle.is_some()
    }

    /// Whom it passes over by now.
    pub(super) fn to_pass(&self, now: Moment) -> Option<&str> {
        let (first, since) = self.idle.as_ref()?;
        (now.since(*since) >= PATIENCE).then_some(first)
    }
}

impl Redisson {
    pub(super) fn fair_request(&self, claim: &Claim, place: Place<'_>) -> Request {
        let name = &claim.name;
        let [stays, passed] = place.args();
        let args = [
            self.owner(claim),
            millis(claim.ttl).to_string(),
            self.tokens_are_kept(claim),
            format!("{:05}", claim.turns.max(1)),
            names::channels_in_line(name),
            stays.to_owned(),
            passed.to_owned(),
        ];
        Request {
            script: &script::REDISSON_FAIR,
            keys: [name.to_string(), names::tokens(name)].into_iter().chain(names::line(name)).collect(),
            args: args.map(String::into_bytes).into(),
        }
    }

    /// Frees a fair lock, or leaves its line.
    pub(super) async fn free_fair(&self, live: &Live, claim: &Claim, rest: &str) -> Result<Value> {
        let (name, owner) = (&claim.name, self.owner(claim));
        let (tokens, [line, stays], channels) =
            (names::tokens(name), names::line(name), names::channels_in_line(name));
        let args = [&*owner, &*channels, STAYS, EVICTED, rest, LEFT_BEHIND];
        self.run(live, &script::REDISSON_FAIR_RELEASE, name, &[name, &tokens, &line, &stays], &args).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_who_leaves_a_free_lock_alone_all_the_time_is_passed_over() {
        let at = |ms| Moment::ZERO + Duration::from_millis(ms);
        let mut watch = Watch::default();
        watch.saw(Ahead::parse("a"), at(0));
        assert!(watch.is_close() && watch.to_pass(at(1499)).is_none());
        watch.saw(Ahead::parse("a"), at(1000));
        assert_eq!(watch.to_pass(at(1500)), Some("a"));
        watch.saw(Ahead::parse("b"), at(1500));
        assert_eq!(watch.to_pass(at(2999)), None, "another one is first");
        watch.saw(Ahead::parse("+"), at(2000));
        assert!(watch.is_close() && watch.to_pass(at(9000)).is_none(), "the lock is held");
        watch.saw(Ahead::parse("b"), at(9000));
        assert_eq!(watch.to_pass(at(10_000)), None);
        watch.saw(Ahead::parse(""), at(10_000));
        assert!(!watch.is_close());
    }
}
