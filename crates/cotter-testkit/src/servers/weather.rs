//! What a proxy does to packets at random, and how much of it came true.

use super::Loss;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// How bad it is. Only questions to scripts, their answers and wake-up messages are hit, so that everybody can connect.
#[derive(Debug, Clone, Default)]
pub struct Weather {
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

/// The weather of one proxy, and what came of it.
#[derive(Debug)]
pub(super) struct Sky {
    weather: Weather,
    rng: StdRng,
    /// What was decided, and what was done.
    pub(super) planned: u64,
    pub(super) confirmed: u64,
}

/// What becomes of one packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Blow {
    None,
    Late(Duration),
    Drop,
    End(Loss),
}

impl Sky {
    pub(super) fn new(weather: Weather, seed: u64) -> Self {
        Self { weather, rng: StdRng::seed_from_u64(seed), planned: 0, confirmed: 0 }
    }

    pub(super) fn change(&mut self, weather: Weather) {
        self.weather = weather;
    }

    pub(super) fn on_request(&mut self, packet: &[u8]) -> Blow {
        let hit =
            super::proxy::contains(packet, b"EVALSHA") && self.rng.random_bool(self.weather.late_requests);
        if hit { self.late() } else { Blow::None }
    }

    pub(super) fn on_reply(&mut self, packet: &[u8]) -> Blow {
        if is_message(packet) {
            return self.on_message();
        }
        if !is_answer(packet) || !self.rng.random_bool(self.weather.lost_replies) {
            return Blow::None;
        }
        self.planned += 1;
        Blow::End(if self.rng.random_bool(0.2) { Loss::Silence } else { Loss::Cut })
    }

    fn on_message(&mut self) -> Blow {
        if self.rng.random_bool(self.weather.lost_messages) {
            self.planned += 1;
            return Blow::Drop;
        }
        if self.rng.random_bool(self.weather.late_messages) { self.late() } else { Blow::None }
    }

    fn late(&mut self) -> Blow {
        self.planned += 1;
        Blow::Late(self.weather.late_by.mul_f64(self.rng.random_range(0.0..1.0)))
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
