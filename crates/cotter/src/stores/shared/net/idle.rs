//! Connections that nobody has driven for a while.

use crate::Moment;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Handle, RuntimeFlavor};

/// When a connection was used, and whether it is driven in between.
#[derive(Debug)]
pub(crate) struct Idle {
    /// The runtime has no worker threads: the socket is driven only while somebody is in `block_on`.
    driven_by_callers: bool,
    last_used: AtomicU64,
}

/// After a pause of this length, the driver is given the chance to read its socket before the next request.
const PAUSE: Duration = Duration::from_millis(10);

impl Idle {
    /// For a connection that the caller's runtime drives.
    pub(crate) fn new() -> Self {
        let driven_by_callers = Handle::current().runtime_flavor() != RuntimeFlavor::MultiThread;
        Self { driven_by_callers, last_used: AtomicU64::new(0) }
    }

    /// Whether the server may have closed the connection without the driver having had a chance to notice.
    pub(crate) fn may_be_stale(&self, now: impl FnOnce() -> Moment) -> bool {
        self.driven_by_callers && self.was_idle(now())
    }

    fn was_idle(&self, now: Moment) -> bool {
        let last = self.last_used.swap(now.as_nanos(), Ordering::Relaxed);
        now.since(Moment::from_nanos(last)) > PAUSE
    }
}
