//! What commands say about a run of a job that has ended.

use crate::clean;
use crate::duration::words;
use cotter_scheduler::Entry;

/// Its slot. What was asked for begins at any fraction of a second.
pub fn short_slot(entry: &Entry) -> String {
    let asked = asked(entry);
    match asked.is_empty() && entry.slot.subsec_nanos() > 0 {
        true => format!("{:.3}", entry.slot),
        false => format!("{:.0}{asked}", entry.slot),
    }
}

/// Said behind the slot of a run that was asked for.
pub fn asked(entry: &Entry) -> String {
    match (&entry.one_shot, entry.asked) {
        (Some(id), _) => format!(" ({})", clean(id)),
        (None, true) => " (triggered)".to_owned(),
        (None, false) => String::new(),
    }
}

/// How long after its slot it began.
pub fn began(entry: &Entry) -> String {
    format!("+{}", words(entry.started.since(entry.slot)))
}

/// Where it ran.
pub fn host(entry: &Entry) -> String {
    if entry.host.is_empty() { "-".to_owned() } else { clean(&entry.host) }
}

/// How long it took.
pub fn took(entry: &Entry) -> String {
    words(entry.ended.since(entry.started))
}

/// Its exit code, if it has one.
pub fn code(entry: &Entry) -> String {
    entry.code.map_or_else(|| "-".to_owned(), |code| code.to_string())
}

/// How it ended.
pub fn outcome(entry: &Entry) -> String {
    clean(&entry.ending.to_string())
}
