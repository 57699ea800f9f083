//! Periodic comparison of this host's clock with the store's.

use super::context::Context;
use std::sync::Arc;
use std::time::Duration;

/// Interval between two queries.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// The same while the clock is off.
const CHECK_INTERVAL_WHILE_OFF: Duration = Duration::from_secs(5);

/// Runs for as long as the runner does. It reports only changes of the clock; outages of the store are reported by the
/// requests that need it.
pub(super) async fn run(context: Arc<Context>) {
    let mut off = context.clock_off.subscribe();
    loop {
        let pause = if *off.borrow_and_update() { CHECK_INTERVAL_WHILE_OFF } else { CHECK_INTERVAL };
        tokio::select! {
            () = context.clock.sleep(pause) => {}
            _ = off.changed() => continue,
        }
        if context.clock.measure().await.is_ok() {
            context.is_clock_off();
        }
    }
}
