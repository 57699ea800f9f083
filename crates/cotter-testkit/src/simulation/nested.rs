//! A holder that locks again what it holds, and that nobody waits for an answer for ever.

use super::ask;
use super::run::{Shared, lock};
use crate::history::Kind;
use cotter::{Client, Guard, Mode, Released};
use rand::RngExt;
use rand::rngs::StdRng;
use std::time::Duration;
use tokio::time::timeout;

/// Every order has an answer within this time, whatever happens to the server and to the way to it.
pub(super) const ANSWERED: Duration = Duration::from_secs(30);
/// A holder has up to so many guards of the same lock, beside the first.
const DEEPEST: usize = 2;

/// The guards of one holder, beside its first.
pub(super) struct Nested<'a> {
    pub(super) who: &'a str,
    pub(super) client: &'a Client,
    pub(super) ledger: &'a Shared,
    pub(super) name: &'static str,
    pub(super) mode: Mode,
}

impl Nested<'_> {
    /// Locks once or twice more what is held with this guard. That needs no request, and cannot fail while the lock is held.
    pub(super) async fn lock(&self, first: &Guard, rng: &mut StdRng) -> Vec<Guard> {
        let mut guards = Vec::new();
        for depth in 0..rng.random_range(0..=DEEPEST) {
            let asked = timeout(ANSWERED, ask::wait(self.client, self.name, self.mode)).await;
            match asked {
                Err(_) => self.wrong(Kind::StuckWaiter, "a lock that it holds already is not answered"),
                Ok(Ok(guard)) => {
                    // Unless the lock was lost at this very moment.
                    if first.is_valid() && (guard.token() != first.token() || guard.holds() != depth + 2) {
                        let text = format!("{} instead of {}", guard.token(), first.token());
                        self.wrong(Kind::Untrue, &format!("what it has again has {text}"));
                    }
                    guards.push(guard);
                }
                Ok(Err(e)) if first.is_valid() => {
                    self.wrong(Kind::Untrue, &format!("what it holds is not had again: {e}"));
                }
                Ok(Err(_)) => break,
            }
        }
        guards
    }

    /// Gives one of the guards back, or drops it. `rest` others are left.
    pub(super) async fn release(&self, guard: Guard, rest: usize, rng: &mut StdRng) {
        if rng.random_range(0..4) == 0 {
            return drop(guard);
        }
        let is_held = guard.is_valid();
        match timeout(ANSWERED, guard.release()).await {
            Err(_) => self.wrong(Kind::StuckWaiter, "a release is not answered"),
            Ok(Ok(Released::Yes)) if rest > 0 => self.wrong(Kind::Untrue, "it is free beside other guards"),
            Ok(Ok(Released::StillHeld(left))) if left != rest => {
                self.wrong(Kind::Untrue, &format!("{left} guards are left, and not {rest}"));
            }
            Ok(Ok(Released::AlreadyLost)) if is_held && rest > 0 => {
                self.wrong(Kind::Untrue, "it was lost while it was held");
            }
            Ok(_) => {}
        }
    }

    fn wrong(&self, kind: Kind, what: &str) {
        let text = format!("{}, {}: {what}", self.who, self.name);
        lock(self.ledger).wrong(kind, text);
    }
}
