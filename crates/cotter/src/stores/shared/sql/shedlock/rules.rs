//! The limits of the table and the protocol.

use super::holder;
use crate::backend::{Capabilities, Claim, Holder, Info, Mode, Record};
use crate::{Error, ErrorKind, Name, Result};
use std::time::{Duration, SystemTime};

/// The most characters that the column has for a name.
const MAX_NAME: usize = 64;
/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(10);
/// The columns count in milliseconds.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// The longest pause between two attempts of a wait.
pub(super) const RETRY: Duration = Duration::from_millis(100);
/// The number of grants that one request extends.
pub(super) const BATCH: usize = 500;

/// A store with this table.
pub(crate) fn info(scheme: &'static str, variant: &'static str, instance: &str) -> Info {
    let mut info = Info::new(scheme, instance);
    info.variant = variant;
    // Who was evicted is forgotten with the next holder, so there are no full records.
    info.capabilities = Capabilities {
        leases: true,
        names: true,
        distinct: true,
        per_runtime: true,
        keep_for: true,
        min_ttl: MIN_TTL,
        ttl_step: STEP * 2,
        ..Capabilities::default()
    };
    info
}

/// Refuses what the table cannot hold, and what the protocol does not have.
pub(super) fn check(info: &Info, claim: &Claim) -> Result<()> {
    info.supports(claim.mode)?;
    let length = claim.name.chars().count();
    if length > MAX_NAME {
        let why = format!(
            "a name in ShedLock's table has at most {MAX_NAME} characters, and this one has {length}"
        );
        return Err(Error::new(ErrorKind::InvalidName, why).with_backend(info.scheme).with_name(&claim.name));
    }
    Ok(())
}

/// A number for a holder, different from that of any other.
pub(crate) fn digest(locked_by: &str) -> u64 {
    locked_by.bytes().fold(1_u64, |hash, byte| hash.rotate_left(7) ^ u64::from(byte))
}

/// A name as it is listed, with who holds it, since when, and for how long.
pub(crate) fn record(name: Name, held: Option<(&str, SystemTime, Duration)>) -> Record {
    let mut record = Record::free(name);
    if let Some((locked_by, since, remaining)) = held {
        let (label, number) = holder::parse(locked_by);
        let mut holder = Holder::new(label, Mode::Exclusive, number);
        holder.since = Some(since);
        holder.remaining = Some(remaining);
        record.holders.push(holder);
    }
    record
}
