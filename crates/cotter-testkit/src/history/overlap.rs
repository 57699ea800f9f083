//! Holders that believed in their lock at the same time.

use super::{History, Hold, Kind, Use, Violation, millis, violation};

pub(super) fn check(history: &History, unheard: u64) -> Vec<Violation> {
    history.names().iter().flat_map(|name| check_name(history, name, unheard)).collect()
}

/// Sweeps over the holds of a name in order of their beginning. One that ends when another begins does not overlap it.
fn check_name(history: &History, name: &str, unheard: u64) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut active: Vec<&Hold> = Vec::new();
    for hold in history.holds_of(name).filter(|h| h.is_real()) {
        active.retain(|a| a.end > hold.got);
        let clashes = active.iter().filter(|a| !history.had_not_heard(a, hold, unheard));
        found.extend(clashes.filter_map(|a| clash(a, hold)));
        found.extend(over_limit(&active, hold));
        active.push(hold);
    }
    found
}

fn clash(a: &Hold, b: &Hold) -> Option<Violation> {
    let kind = match (a.mode, b.mode) {
        (Use::Exclusive, Use::Exclusive) => Kind::Overlap,
        (Use::Shared, Use::Shared) | (Use::Permits { .. }, Use::Permits { .. }) => return None,
        _ => Kind::SharedWithExclusive,
    };
    let together = a.end.min(b.end) - b.got;
    let text = format!(
        "{:?}: process {} (token {}, ended by {:?}) and process {} (token {}) both believed to hold it for {:.3} ms",
        a.name,
        a.process,
        a.token,
        a.by,
        b.process,
        b.token,
        millis(together),
    );
    Some(violation(kind, text))
}

fn over_limit(active: &[&Hold], hold: &Hold) -> Option<Violation> {
    let Use::Permits { of, .. } = hold.mode else { return None };
    let taken: u32 = active.iter().copied().chain([hold]).map(permits).sum();
    (taken > of).then(|| {
        let text = format!("{:?}: {taken} permits were held at once, there are {of}", hold.name);
        violation(Kind::PermitsOverLimit, text)
    })
}

fn permits(hold: &Hold) -> u32 {
    match hold.mode {
        Use::Permits { take, .. } => take,
        Use::Exclusive | Use::Shared => 0,
    }
}
