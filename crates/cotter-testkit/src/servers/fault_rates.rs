//! Faults of a proxy at random: the rates, and a sampler that decides packet by packet.

use super::Loss;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// How often a proxy injects which fault. Only questions to scripts, their answers and wake-up messages are hit, so that everybody can connect.
#[derive(Debug, Clone, Default)]
pub struct FaultRates {
    /// This part of the requests is late …
    pub late_requests: f64,
    /// … by up to this.
    pub late_by: Duration,
    /// This part of the replies is lost, and its connection with it.
    pub lost_replies: f64,
    /// This part of the messages is lost …
    pub lost_messages: f64,
    /// … and this part comes late, by up to `late_by`.
    pub late_messages: f64,
}

/// Draws the faults of one proxy, and counts them.
#[derive(Debug)]
pub(super) struct Sampler {
    rates: FaultRates,
    rng: StdRng,
    /// Faults that were drawn, and faults that were injected.
    pub(super) planned: u64,
    pub(super) confirmed: u64,
}

/// The fault drawn for one packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    Late(Duration),
    Drop,
    End(Loss),
}

impl Sampler {
    pub(super) fn new(rates: FaultRates, seed: u64) -> Self {
        Self { rates, rng: StdRng::seed_from_u64(seed), planned: 0, confirmed: 0 }
    }

    pub(super) fn change(&mut self, rates: FaultRates) {
        self.rates = rates;
    }

    pub(super) fn on_request(&mut self, packet: &[u8]) -> Fault {
        let hit =
            super::proxy::contains(packet, b"EVALSHA") && self.rng.random_bool(self.rates.late_requests);
        if hit { self.late() } else { Fault::None }
    }

    pub(super) fn on_reply(&mut self, packet: &[u8]) -> Fault {
        if is_message(packet) {
            return self.on_message();
        }
        if !is_answer(packet) || !self.rng.random_bool(self.rates.lost_replies) {
            return Fault::None;
        }
        self.planned += 1;
        Fault::End(if self.rng.random_bool(0.2) { Loss::Silence } else { Loss::Cut })
    }

    fn on_message(&mut self) -> Fault {
        if self.rng.random_bool(self.rates.lost_messages) {
            self.planned += 1;
            return Fault::Drop;
        }
        if self.rng.random_bool(self.rates.late_messages) { self.late() } else { Fault::None }
    }

    fn late(&mut self) -> Fault {
        self.planned += 1;
        Fault::Late(self.rates.late_by.mul_f64(self.rng.random_range(0.0..1.0)))
    }
}

/// Whole messages and nothing else: nothing is in step with them, so that one may be missing.
fn is_message(packet: &[u8]) -> bool {
    packet.starts_with(b"*3\r\n$7\r\nmessage")
        && packet.ends_with(b"\r\n")
        && !super::proxy::contains(packet, b"pong")
}

/// A text, but not the name of a script that was just loaded.
fn is_answer(packet: &[u8]) -> bool {
    packet.starts_with(b"$") && !packet.starts_with(b"$40\r\n")
}
