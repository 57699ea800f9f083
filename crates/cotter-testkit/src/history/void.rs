//! Runs in which too little happened to prove anything.

use super::{History, Hold, Kind, Violation, Wait, WaitEnded, violation};
use std::collections::HashMap;

/// The injector's plan, and the part that it could confirm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Happened {
    /// Faults that were to be.
    pub planned: usize,
    /// Faults that were.
    pub confirmed: usize,
    /// Acquisitions that the run is made for.
    pub acquisitions: usize,
    /// Faults that it is made for.
    pub faults: usize,
}

/// Fewer contended waits than this, and nobody was in anybody's way.
const CONTENDED: usize = 100;

/// A void run is a failed run.
pub fn check_void(history: &History, happened: Happened) -> Vec<Violation> {
    let mut found = Vec::new();
    let Happened { planned, confirmed, acquisitions, faults } = happened;
    if confirmed * 10 < planned * 9 {
        found.push(violation(Kind::Void, format!("{confirmed} of {planned} planned faults were confirmed")));
    }
    if confirmed < faults {
        found.push(violation(Kind::Void, format!("{confirmed} faults were confirmed, {faults} are needed")));
    }
    let waits = contended(history);
    if waits < CONTENDED {
        found.push(violation(Kind::Void, format!("{waits} waits were contended, {CONTENDED} are needed")));
    }
    if history.holds.len() < acquisitions {
        let text = format!("{} acquisitions, {acquisitions} are needed", history.holds.len());
        found.push(violation(Kind::Void, text));
    }
    found
}

/// How many waits ended with a guard and had to wait for somebody else who held the name meanwhile.
pub fn contended(history: &History) -> usize {
    let mut holds: HashMap<&str, Vec<&Hold>> = HashMap::new();
    for hold in history.holds.iter().filter(|h| h.is_real()) {
        holds.entry(&hold.name).or_default().push(hold);
    }
    let in_the_way = |w: &&Wait| {
        let Some(holds) = holds.get(w.name.as_str()) else { return false };
        let upto = holds.partition_point(|h| h.got <= w.end);
        let own = |h: &Hold| (h.process, h.attempt) == (w.process, w.attempt);
        holds[..upto].iter().rev().take(LOOK_BACK).any(|h| h.end > w.wanted && !own(h))
    };
    history.waits.iter().filter(|w| w.by == WaitEnded::Got).filter(in_the_way).count()
}

/// Holds of one name hardly overlap, so the one in the way is among the last that began.
const LOOK_BACK: usize = 64;
