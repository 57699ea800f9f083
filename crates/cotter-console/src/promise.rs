//! What commands say about the guarantees of a store.

use cotter::backend::Capabilities;
use cotter::{Finding, Info, Level, Severity};

/// The level of the store, taking the findings into account.
pub fn promised(info: &Info, findings: &[Finding]) -> Level {
    findings.iter().filter_map(|f| f.level).fold(info.level, Level::min)
}

/// The level in words, with what is to blame for it.
pub fn promise(info: &Info, findings: &[Finding]) -> String {
    let (left, of_store) = (promised(info, findings), info.level);
    let text = level(left).1;
    let mut culprits: Vec<&str> = findings
        .iter()
        .filter(|f| f.level.is_some_and(|level| level < of_store))
        .map(|f| &*f.subject)
        .collect();
    culprits.dedup();
    if left < of_store {
        return format!("{text}, because of: {}", culprits.join(", "));
    }
    match findings.iter().any(|f| f.severity >= Severity::Problem) {
        true => format!("{text}, once the problems below are solved"),
        false => text.to_owned(),
    }
}

/// A level: the short name, and what it means.
pub fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::BestEffort => ("L0", "L0, best effort: two holders are possible"),
        Level::LeaseExclusive => ("L1", "L1, lease-exclusive: no two holders within their own validity"),
        _ => ("unknown", "a level that this version of cotter does not know"),
    }
}

/// How long a lock lives.
pub fn lifetime(capabilities: Capabilities) -> &'static str {
    if capabilities.leases { "a lock ends with its lease" } else { "a lock ends with its process or session" }
}

/// The capabilities that commands make use of: the key for programs, the text for people, and whether the store has it.
pub fn abilities(capabilities: Capabilities) -> [(&'static str, &'static str, bool); 7] {
    [
        ("leases", "leases", capabilities.leases),
        ("shared_locks", "shared locks", capabilities.shared),
        ("permits", "semaphores", capabilities.permits),
        ("latches", "latches", capabilities.swap),
        ("elections", "elections", capabilities.notes && capabilities.records),
        ("tickets", "tickets", capabilities.tickets),
        ("keep_for", "keeping a lock without a process", capabilities.keep_for),
    ]
}
