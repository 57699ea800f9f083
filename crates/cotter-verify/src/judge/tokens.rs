//! Fencing tokens: unique, and rising.

use super::overlap::who;
use super::{Kind, Violation};
use crate::history::{Believed, Hold};
use std::collections::HashMap;

/// Those of permits are not judged: of several at once, none is the latest.
pub(super) fn check(run: &Believed) -> Vec<Violation> {
    if run.bounds.permits > 1 {
        return Vec::new();
    }
    run.names().into_iter().flat_map(|name| [repeated(run, name), falling(run, name)].concat()).collect()
}

fn with_token<'a>(run: &'a Believed, name: &'a str) -> impl Iterator<Item = (&'a Hold, u64)> {
    let of_name = run.holds.iter().filter(move |hold| hold.name == name);
    of_name.filter_map(|hold| Some((hold, hold.token?)))
}

fn repeated(run: &Believed, name: &str) -> Vec<Violation> {
    let (mut seen, mut found) = (HashMap::<u64, &Hold>::new(), Vec::new());
    for (hold, token) in with_token(run, name) {
        if let Some(older) = seen.insert(token, hold) {
            found.push(wrong(Kind::RepeatedToken, older, hold, "got the same token as"));
        }
    }
    found
}

/// Of two that believed in their locks when they said so, the one that said so later was granted its lock later: the other way
/// round, it would have had the lock all the time, together with the other one.
fn falling(run: &Believed, name: &str) -> Vec<Violation> {
    let (mut largest, mut found) = (None::<(&Hold, u64)>, Vec::new());
    for (hold, token) in with_token(run, name).filter(|(hold, _)| hold.is_real()) {
        match largest {
            Some((older, most)) if token < most => {
                found.push(wrong(Kind::TokenOrder, older, hold, "got a smaller token than"));
            }
            _ => largest = Some((hold, token)),
        }
    }
    found
}

fn wrong(kind: Kind, older: &Hold, newer: &Hold, what: &str) -> Violation {
    Violation {
        kind,
        name: newer.name.clone(),
        processes: vec![older.process, newer.process],
        from: newer.got,
        to: newer.got,
        text: format!("{} {what} {}, which had the lock before", who(newer), who(older)),
    }
}
