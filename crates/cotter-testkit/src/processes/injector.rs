//! Faults of processes, and whether they really happened.

use super::fleet::Fleet;
use super::run::Injections;
use rand::RngExt;
use rand::rngs::StdRng;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Injector {
    plan: Injections,
    next_kill: Option<Instant>,
    next_stop: Option<Instant>,
    pub(super) kills: usize,
    pub(super) stops: usize,
    pub(super) confirmed: usize,
}

impl Injector {
    pub(super) fn new(plan: &Injections, rng: &mut StdRng) -> Self {
        let mut this =
            Self { plan: plan.clone(), next_kill: None, next_stop: None, kills: 0, stops: 0, confirmed: 0 };
        this.next_kill = after(&this.plan.kill_every, rng);
        this.next_stop = after(&this.plan.stop_every, rng);
        this
    }

    /// Does what is due. `holder`: who has read a guarded resource last.
    pub(super) fn step(&mut self, fleet: &mut Fleet, holder: u64, rng: &mut StdRng) -> io::Result<()> {
        fleet.go_on(false)?;
        if is_due(self.next_kill)
            && let Some(victim) = self.victim(fleet, holder, rng)
        {
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

    fn victim(&self, fleet: &Fleet, holder: u64, rng: &mut StdRng) -> Option<usize> {
        if rng.random_bool(self.plan.kill_holders) {
            return fleet.members.iter().position(|m| u64::from(m.number) == holder);
        }
        Some(rng.random_range(0..fleet.members.len()))
    }
}

fn after(every_us: &Option<Range<u64>>, rng: &mut StdRng) -> Option<Instant> {
    let pause = rng.random_range(every_us.clone()?);
    Some(Instant::now() + Duration::from_micros(pause))
}

fn is_due(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at <= Instant::now())
}
