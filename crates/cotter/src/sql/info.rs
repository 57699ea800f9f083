//! The description of a store that keeps leases in tables.

use crate::backend::{Capabilities, Info};
use std::time::Duration;

/// A store on a server, in `mode=lease`.
pub(crate) fn lease_info(scheme: &'static str, instance: &str, min_ttl: Duration) -> Info {
    let mut info = Info::new(scheme, instance);
    info.capabilities = Capabilities {
        leases: true,
        ordered: true,
        names: true,
        distinct: true,
        records: true,
        tickets: true,
        shared: true,
        downgrade: true,
        permits: true,
        notes: true,
        swap: true,
        per_runtime: true,
        keep_for: true,
        min_ttl,
        ..Capabilities::default()
    };
    info
}
