//! Leases.

use super::messages::{LeaseGrantRequest, LeaseTimeToLiveResponse};
use super::refusals::{lease_exists, lease_not_found, lease_too_large};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;

/// The leases of a cluster.
#[derive(Debug, Default)]
pub(super) struct Leases {
    leases: BTreeMap<i64, Lease>,
    last: i64,
}

#[derive(Debug)]
struct Lease {
    ttl: i64,
    ends: Instant,
}

/// Leases that are shorter are made longer.
const SHORTEST: i64 = 2;
const LONGEST: i64 = 9_000_000_000;
/// How much longer leases last under a new leader.
const EXTENSION: Duration = Duration::from_secs(1);

impl Leases {
    /// Returns id and ttl.
    pub(super) fn grant(&mut self, request: &LeaseGrantRequest) -> Result<(i64, i64), Status> {
        if request.ttl > LONGEST {
            return Err(lease_too_large());
        }
        if request.id != 0 && self.has(request.id) {
            return Err(lease_exists());
        }
        let ttl = request.ttl.max(SHORTEST);
        self.last += 1;
        let id = if request.id == 0 { 7_000_000_000_000 + self.last } else { request.id };
        self.leases.insert(id, Lease { ttl, ends: after(ttl) });
        Ok((id, ttl))
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.leases.contains_key(&id)
    }

    pub(super) fn remove(&mut self, id: i64) -> Result<(), Status> {
        self.leases.remove(&id).map(drop).ok_or_else(lease_not_found)
    }

    /// The new time of a lease. `None` if it is over, and not yet ended by the leader.
    pub(super) fn renew(&mut self, id: i64) -> Result<Option<i64>, Status> {
        let lease = self.leases.get_mut(&id).ok_or_else(lease_not_found)?;
        if lease.is_over() {
            return Ok(None);
        }
        lease.ends = after(lease.ttl);
        Ok(Some(lease.ttl))
    }

    /// The time that a lease was granted for, if it exists.
    pub(super) fn granted(&self, id: i64) -> Option<i64> {
        Some(self.leases.get(&id).map_or(0, |lease| lease.ttl))
    }

    pub(super) fn time_to_live(&self, id: i64) -> LeaseTimeToLiveResponse {
        let lease = self.leases.get(&id);
        LeaseTimeToLiveResponse {
            id,
            ttl: lease.map_or(-1, |lease| left(lease.ends)),
            granted_ttl: lease.map_or(0, |lease| lease.ttl),
            ..LeaseTimeToLiveResponse::default()
        }
    }

    /// Those that are over.
    pub(super) fn over(&self) -> Vec<i64> {
        self.leases.iter().filter(|(_, lease)| lease.is_over()).map(|(id, _)| *id).collect()
    }

    /// When each of them ends.
    pub(super) fn ends(&self) -> Vec<(i64, Instant)> {
        self.leases.iter().map(|(id, lease)| (*id, lease.ends)).collect()
    }

    /// There is a new leader: each of them has its full time again.
    pub(super) fn under_a_new_leader(&mut self) {
        self.leases.values_mut().for_each(|lease| lease.ends = after(lease.ttl) + EXTENSION);
    }
}

impl Lease {
    fn is_over(&self) -> bool {
        self.ends <= Instant::now()
    }
}

fn after(seconds: i64) -> Instant {
    // As long as a clock can count.
    Instant::now() + Duration::from_secs(seconds.clamp(0, 1_000_000_000) as u64)
}

fn left(ends: Instant) -> i64 {
    let left = ends.saturating_duration_since(Instant::now()).as_secs();
    i64::try_from(left).unwrap_or(i64::MAX)
}
