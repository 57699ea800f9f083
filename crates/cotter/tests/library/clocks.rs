//! Hosts whose clocks are wrong, on stores that have a clock of their own.

use cotter::ManualClock;
use cotter::backend::{Backend, Leave, Until};
use cotter::clock::Clock;
use cotter_testkit::bare::{claim, take};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3600);

/// One is an hour fast and one an hour slow: the server's clock alone decides.
pub(crate) async fn those_of_clients_do_not_matter(
    connect: impl AsyncFn(Arc<dyn Clock>) -> Arc<dyn Backend>,
) {
    let (fast, slow) = (ManualClock::new(), ManualClock::new());
    fast.set_wall(SystemTime::now() + HOUR);
    slow.set_wall(SystemTime::now() - HOUR);
    let (fast, slow) = (connect(Arc::new(fast)).await, connect(Arc::new(slow)).await);
    let mut last = 0;
    for [holder, other] in [[&fast, &slow], [&slow, &fast]] {
        let ttl = Duration::from_millis(600);
        let held = take(holder, &claim("clocks", ttl)).await;
        assert!(held.number > last);
        let next = claim("clocks", HOUR);
        assert!(other.acquire(&next, Until::Now).await.unwrap().granted().is_none(), "it is held");
        tokio::time::sleep(ttl).await;
        last = take(other, &next).await.number;
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64;
        assert!(last > held.number && real.abs_diff(last) < 60_000_000, "{last} follows the server's clock");
        other.release(&next, Leave::used(1)).await.unwrap();
    }
}
