//! Compares this host's clock with the store's, all the time.

use super::context::Context;
use std::sync::Arc;
use std::time::Duration;

/// Between two questions.
const OFTEN: Duration = Duration::from_secs(60);
/// The same while the clock is off.
const OFTENER: Duration = Duration::from_secs(5);

/// Goes on for as long as the runner lives. Only the change is told: that the store is down is heard from those who need
/// it.
pub(super) async fn keep(context: Arc<Context>) {
    let mut off = context.off.subscribe();
    loop {
        let pause = if *off.borrow_and_update() { OFTENER } else { OFTEN };
        tokio::select! {
            () = context.clock.sleep(pause) => {}
            _ = off.changed() => continue,
        }
        if context.clock.measure().await.is_ok() {
            context.is_off();
        }
    }
}
