//! Faults of processes, and whether they really happened.

use super::fleet::Fleet;
use super::run::Injections;
use crate::Deck;
use rand::RngExt;
use rand::rngs::StdRng;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Injector {
    plan: Injections,
    next_kill: Option<Instant>,
    /// Whether a kill is for a holder.
    of_holders: Deck<bool>,
    /// What was drawn for the next kill, which has to wait until there is a holder.
    of_holder: Option<bool>,
    next_stop: Option<Instant>,
    pub(super) kills: usize,
    pub(super) stops: usize,
    pub(super) confirmed: usize,
}

impl Injector {
    pub(super) fn new(plan: &Injections, rng: &mut StdRng) -> Self {
        Self {
            next_kill: after(&plan.kill_every, rng),
            of_holders: Deck::with_share(plan.kill_holders),
            of_holder: None,
            next_stop: after(&plan.stop_every, rng),
            kills: 0,
            stops: 0,
            confirmed: 0,
            plan: plan.clone(),
        }
    }

    /// Does what is due. `holder`: who has read a guarded resource last.
    pub(super) fn step(&mut self, fleet: &mut Fleet, holder: u64, rng: &mut StdRng) -> io::Result<()> {
        fleet.go_on(false)?;
        if is_due(self.next_kill)
            && let Some(victim) = self.victim(fleet, holder, rng)
        {
            self.of_holder = None;
            self.kills += 1;
            self.confirmed += usize::from(fleet.kill(victim)?);
            self.next_kill = after(&self.plan.kill_every, rng);
        }
        if is_due(self.next_stop) {
            let victim = rng.random_range(0..fleet.members.len());
            if fleet.members[victim].stopped_until.is_none() {
                let pause = Duration::from_micros(rng.random_range(self.plan.stop_for_us.clone()));
                self.stops += 1;
                self.confirmed += usize::from(fleet.stop(victim, pause)?);
                self.next_stop = after(&self.plan.stop_every, rng);
            }
        }
        Ok(())
    }

    fn victim(&mut self, fleet: &Fleet, holder: u64, rng: &mut StdRng) -> Option<usize> {
        if *self.of_holder.get_or_insert_with(|| self.of_holders.draw(rng)) {
            return fleet.members.iter().position(|m| u64::from(m.number) == holder);
        }
        Some(rng.random_range(0..fleet.members.len()))
    }

    /// What is planned has to happen at least once, and kills as often as the run is made for.
    pub(super) fn lacks(&self, kills: usize) -> Option<String> {
        let kills = kills.max(usize::from(self.plan.kill_every.is_some()));
        let stops = usize::from(self.plan.stop_every.is_some());
        let few = |what, count, needed| {
            (count < needed).then(|| format!("{count} {what} of processes, {needed} are needed"))
        };
        few("kills", self.kills, kills).or_else(|| few("stops", self.stops, stops))
    }
}

fn after(every_us: &Option<Range<u64>>, rng: &mut StdRng) -> Option<Instant> {
    let pause = rng.random_range(every_us.clone()?);
    Some(Instant::now() + Duration::from_micros(pause))
}

fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}
