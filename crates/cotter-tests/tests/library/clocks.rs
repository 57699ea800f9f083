//! Hosts whose clocks are wrong, on stores that have a clock of their own.

use cotter::backend::{Backend, Leave, Until};
use cotter::clock::Clock;
use cotter::{Client, ManualClock, memory};
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
        // A server that counts in milliseconds may end a lease in the next one.
        tokio::time::sleep(ttl + Duration::from_millis(50)).await;
        last = take(other, &next).await.number;
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as u64;
        assert!(last > held.number && real.abs_diff(last) < 60_000_000, "{last} follows the server's clock");
        other.release(&next, Leave::used(1)).await.unwrap();
    }
}

/// Its clock begins when it is connected, and the store has the clock of the first client.
#[tokio::test(start_paused = true)]
async fn a_client_that_comes_later_waits_as_long_as_it_says() {
    let (store, wait) = (memory::Store::new(), Duration::from_secs(5));
    let connect = || Client::builder().in_this_runtime().connect_to(store.clone());
    let held = connect().await.unwrap().mutex("a").lock().await.unwrap();
    tokio::time::sleep(HOUR).await;
    let late = connect().await.unwrap();
    for waits_for_a_note in [false, true] {
        let start = tokio::time::Instant::now();
        let found = match waits_for_a_note {
            true => late.note_changed("a", "", 0, wait).await.unwrap().is_some(),
            false => late.mutex("a").try_lock_for(wait).await.unwrap().is_some(),
        };
        let end = tokio::time::Instant::now();
        assert!(!found && (start + wait..start + 2 * wait).contains(&end), "{:?}", end - start);
    }
    held.finish().await.unwrap();
}
