//! Tokens: one per grant, and rising in real time.

use super::inherited::Abandoned;
use super::{History, Hold, Kind, Limits, Use, Violation, nanos, violation};
use std::collections::HashMap;

pub(super) fn check(history: &History, limits: &Limits) -> Vec<Violation> {
    history.names().iter().flat_map(|name| check_name(history, name, limits)).collect()
}

fn check_name(history: &History, name: &str, limits: &Limits) -> Vec<Violation> {
    let holds: Vec<&Hold> = history.holds_of(name).collect();
    let mut found = repeated(&holds);
    found.extend(out_of_order(history, name, &holds, limits));
    found
}

fn repeated(holds: &[&Hold]) -> Vec<Violation> {
    let mut seen: HashMap<u64, &Hold> = HashMap::new();
    let mut found = Vec::new();
    for hold in holds {
        if let Some(first) = seen.insert(hold.token, hold) {
            let text = format!(
                "{:?}: token {} was given to process {} and again to process {}",
                hold.name, hold.token, first.process, hold.process
            );
            found.push(violation(Kind::RepeatedToken, text));
        }
    }
    found
}

/// A hold whose asking began after another one was had must carry a larger token. So must an exclusive one that was
/// had after another exclusive one was over. What was over when it was had orders nothing. Where several hold at once, a
/// grant that was made for a task that has left orders its next holder among the others as if that had asked then.
fn out_of_order(history: &History, name: &str, holds: &[&Hold], limits: &Limits) -> Vec<Violation> {
    let real: Vec<&Hold> = holds.iter().copied().filter(|h| h.is_real()).collect();
    let (exclusive, shared): (Vec<&Hold>, Vec<&Hold>) =
        real.iter().copied().partition(|h| h.mode == Use::Exclusive);
    let abandoned = Abandoned::of(history, name);
    let first_asked = |hold: &Hold| abandoned.asked(hold, nanos(limits.inherited));
    let mut found = sweep(&exclusive, &real, |h| h.asked, |h| h.got);
    found.extend(sweep(&shared, &exclusive, |h| h.asked, |h| h.got));
    found.extend(sweep(&shared, &shared, first_asked, |h| h.got));
    // One whose session was ended may be had for a moment after the next one was over, where its process stood still.
    let heard = |hold: &Hold| {
        let larger = exclusive.iter().filter(|past| past.end < hold.got && past.token > hold.token);
        larger.copied().find(|past| !history.had_not_heard(hold, past, nanos(limits.unheard)))
    };
    let late = sweep(&exclusive, &exclusive, |h| h.got, |h| h.end);
    found.extend(late.into_iter().filter_map(|(_, hold)| Some((heard(hold)?, hold))));
    let mut found: Vec<Violation> = found
        .into_iter()
        .map(|(before, after)| violation(Kind::TokenOrder, order_text(before, after)))
        .collect();
    found.dedup();
    found
}

/// For each hold, in order of `begin`: is its token larger than those of all others whose `done` was before? Those for which it is
/// not, each behind one of these others.
fn sweep<'a>(
    holds: &[&'a Hold],
    others: &[&'a Hold],
    begin: impl Fn(&Hold) -> u64,
    done: impl Fn(&Hold) -> u64,
) -> Vec<(&'a Hold, &'a Hold)> {
    let mut by_begin = holds.to_vec();
    by_begin.sort_by_key(|h| begin(h));
    let mut by_done = others.to_vec();
    by_done.sort_by_key(|h| done(h));
    let mut earlier = by_done.into_iter().peekable();
    let mut largest: Option<&Hold> = None;
    let mut found = Vec::new();
    for hold in by_begin {
        while let Some(past) = earlier.next_if(|p| done(p) < begin(hold)) {
            if largest.is_none_or(|l| past.token > l.token) {
                largest = Some(past);
            }
        }
        found.extend(largest.filter(|l| l.token > hold.token).map(|before| (before, hold)));
    }
    found
}

fn order_text(before: &Hold, after: &Hold) -> String {
    format!(
        "{:?}: process {} had token {}, and process {}, which came later, the smaller one {}",
        before.name, before.process, before.token, after.process, after.token
    )
}
