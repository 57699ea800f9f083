//! Running the statements, in the task of a connection.

use super::statements::Statements;
use crate::backend::retry::Tried;
use crate::backend::{Claim, Extension, Grant, Leave, Release};
use crate::stores::mysql::errors::{DEADLOCK, code, unexpected};
use crate::stores::mysql::rows::{text, value};
use crate::stores::mysql::session::{Session, Written};
use crate::stores::shared::sql::contended;
use crate::stores::shared::sql::shedlock::{digest, is_evicted, mark, parse, text as holder};
use crate::{LossCause, Moment, Name, Result};
use mysql_async::{Params, Value};
use std::collections::HashMap;
use std::time::Duration;

/// Whole microseconds, rounded up.
fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1000)).unwrap_or(MAX_MICROS).min(MAX_MICROS)
}

/// A thousand years: the server can still add it to its clock.
const MAX_MICROS: i64 = 31_536_000_000_000_000;

/// A duration as the server answers it.
pub(super) fn duration(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

/// The beginning of a text.
fn beginning(mark: &str) -> String {
    format!("{mark} %")
}

/// When two statements wait for each other, the server lets one of them finish. This many in a row that were undone are not
/// that, and the answer has to come within the time limit of a request, even from a busy machine.
const TRIES: usize = 100;

/// Runs a statement that changes something, again if it was undone because it and another one waited for each other.
pub(super) async fn write(
    session: &mut Session,
    statement: &str,
    name: &Name,
    values: Vec<Value>,
) -> Result<Written> {
    for _ in 0..TRIES {
        match session.write(statement, Params::Positional(values.clone())).await {
            Err(e) if code(&e) == Some(DEADLOCK) => {}
            written => return written,
        }
    }
    Err(contended(name).with_backend(crate::stores::mysql::SCHEME))
}

pub(super) async fn acquire(session: &mut Session, statements: &Statements, claim: &Claim) -> Result<Tried> {
    let (name, ttl, text) = (claim.name.as_str(), micros(claim.ttl + statements.step), holder(claim));
    let as_of = session.now();
    let values = vec![name.into(), ttl.into(), text.clone().into(), text.into(), ttl.into()];
    let written = write(session, &statements.acquire, &claim.name, values).await?;
    if written.rows > 0 {
        let mut grant = Grant::new(claim.clone(), written.id, as_of);
        grant.ttl = Some(claim.ttl);
        return Ok(Tried::Granted(grant));
    }
    let as_of = session.now();
    let held = look(session, statements, &claim.name).await?;
    Ok(match held {
        Some((locked_by, left)) if locked_by.starts_with(&format!("{} ", mark(claim))) => {
            let mut grant = Grant::new(claim.clone(), parse(&locked_by).1, as_of);
            grant.ttl = Some(left);
            Tried::Granted(grant)
        }
        Some((locked_by, _)) => Tried::Taken(digest(&locked_by)),
        None => Tried::Taken(0),
    })
}

/// Returns the holder of a name, and for how long it holds it.
pub(super) async fn look(
    session: &mut Session,
    statements: &Statements,
    name: &Name,
) -> Result<Option<(String, Duration)>> {
    let rows = session.read(&statements.look, (name.as_str(),)).await?;
    let row = rows.first().ok_or_else(|| unexpected("no row"))?;
    session.goes_on(value(row, 0)?)?;
    let remaining: Option<i64> = value(row, 2)?;
    remaining.map(|remaining| Ok((text(row, 1)?, duration(remaining)))).transpose()
}

/// Extends claims by one statement, and looks by another one which of them were extended.
pub(super) async fn extend(
    session: &mut Session,
    statements: &Statements,
    claims: &[Claim],
    ttl: Duration,
) -> Result<Vec<Extension>> {
    let (Some(first), count) = (claims.first(), claims.len()) else { return Ok(Vec::new()) };
    let names: Vec<Value> = claims.iter().map(|claim| claim.name.as_str().into()).collect();
    let mut values = vec![micros(ttl + statements.step).into()];
    values.extend(names.iter().cloned());
    values.extend(claims.iter().map(|claim| Value::from(mark(claim))));
    let as_of = session.now();
    // The clock by which they were extended, if any was.
    let written = write(session, &statements.extend(count), &first.name, values).await?;
    let began = session.unless_demoted(written).await?.id as i64;
    let mut ends = HashMap::new();
    for row in session.read(&statements.holders(count), Params::Positional(names)).await? {
        let locked_by = text(&row, 0)?;
        // One that was evicted at once has no time left.
        if value(&row, 2)? || is_evicted(&locked_by) {
            ends.insert(holder_of(&locked_by).to_owned(), value::<i64>(&row, 1)?);
        }
    }
    claims.iter().map(|claim| extension(&ends, claim, began, as_of, ttl)).collect()
}

/// The part of `locked_by` that says whose it is, and whether that one was evicted.
fn holder_of(locked_by: &str) -> &str {
    let words = if locked_by.starts_with("evicted ") { 2 } else { 1 };
    locked_by.match_indices(' ').nth(words - 1).map_or(locked_by, |(at, _)| &locked_by[..at])
}

fn extension(
    ends: &HashMap<String, i64>,
    claim: &Claim,
    began: i64,
    as_of: Moment,
    ttl: Duration,
) -> Result<Extension> {
    let mark = mark(claim);
    if let Some(ends) = ends.get(&mark) {
        let lasts = duration(ends - began);
        return if began > 0 && lasts >= ttl {
            Ok(Extension::extended(as_of, Some(lasts)))
        } else {
            Err(unexpected("an extension that was neither granted nor refused"))
        };
    }
    let evicted = ends.contains_key(&format!("evicted {mark}"));
    Ok(Extension::Lost(if evicted { LossCause::Evicted } else { LossCause::Gone }))
}

pub(super) async fn release(
    session: &mut Session,
    statements: &Statements,
    claim: &Claim,
    leave: Leave,
) -> Result<Release> {
    let (name, keep) = (claim.name.as_str(), leave.keep_for.map(|rest| micros(rest + statements.step)));
    let ours = beginning(&mark(claim));
    let evicted = format!("evicted {ours}");
    let values = vec![
        keep.is_none().into(),
        keep.unwrap_or(0).into(),
        name.into(),
        ours.into(),
        Value::from(evicted.clone()),
    ];
    let freed = write(session, &statements.release, &claim.name, values).await?;
    if session.unless_demoted(freed).await?.rows > 0 {
        return Ok(Release::Freed);
    }
    let rows = session.read(&statements.is_evicted, (name, evicted)).await?;
    Ok(if rows.is_empty() { Release::NotHeld } else { Release::Evicted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_told_apart() {
        assert_eq!(holder_of("cotter:12ab host/1 (job) 77"), "cotter:12ab");
        assert_eq!(holder_of("evicted cotter:12ab host 77"), "evicted cotter:12ab");
        assert_eq!(holder_of("released cotter:12ab host 77"), "released");
        assert_eq!(holder_of("worker-1.example"), "worker-1.example");
        assert_eq!(holder_of("evicted worker-1"), "evicted worker-1");
    }
}
