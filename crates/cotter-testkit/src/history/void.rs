//! Runs in which too little happened to prove anything.

use super::{History, Hold, Kind, Violation, Wait, WaitEnded, violation};
use std::collections::HashMap;

/// The injector's plan, and the part that it could confirm; and what a run is made for, which has to happen before it is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Happened {
    /// Faults that were to be.
    pub planned: usize,
    /// Faults that were.
    pub confirmed: usize,
    /// Acquisitions that the run is made for.
    pub acquisitions: usize,
    /// Waits for somebody else that it is made for.
    pub contended: usize,
    /// Faults that it is made for.
    pub faults: usize,
}

/// Fewer contended waits than this, and nobody was in anybody's way.
const CONTENDED: usize = 100;

impl Happened {
    /// What the faults lack.
    pub fn lacks(self) -> Vec<Violation> {
        let Self { planned, confirmed, faults, .. } = self;
        let mut found = Vec::new();
        if confirmed * 10 < planned * 9 {
            found.push(violation(
                Kind::Void,
                format!("{confirmed} of {planned} planned faults were confirmed"),
            ));
        }
        if confirmed < faults {
            found.push(violation(
                Kind::Void,
                format!("{confirmed} faults were confirmed, {faults} are needed"),
            ));
        }
        found
    }
}

/// A run that is void when it is over is a failed run.
pub fn check_void(history: &History, happened: Happened) -> Vec<Violation> {
    let mut found = happened.lacks();
    let (waits, needed) = (contended(history), happened.contended.max(CONTENDED));
    if waits < needed {
        found.push(violation(Kind::Void, format!("{waits} waits were contended, {needed} are needed")));
    }
    let (holds, needed) = (history.holds.len(), happened.acquisitions);
    if holds < needed {
        found.push(violation(Kind::Void, format!("{holds} acquisitions, {needed} are needed")));
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
