//! Fixed rates and delays: exact start times.

use crate::world::{S, World, assert_times, sleep};
use cotter_scheduler::{EventKind, Trigger};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_backlog_follows_back_to_back_and_none_is_dropped() {
    let (world, begin) = (World::new(), Instant::now());
    // The second and later runs are quick: they catch up.
    let log = world.log.clone();
    let job = cotter_scheduler::Job::new("a", Trigger::fixed_rate(S).unwrap(), move |run| {
        let log = log.clone();
        async move {
            log.add("a", &run);
            sleep(if log.count() == 1 { S * 4 } else { S / 10 }).await;
        }
    });
    let replica = world.start(|s| s.job(job)).await;
    sleep(S * 7 - S / 2).await;
    replica.stop().await;
    assert_times(&world.log.millis(begin), &[0, 4000, 4100, 4200, 4300, 5000, 6000]);
    let slots = world.log.starts();
    for pair in slots.windows(2) {
        assert_eq!(pair[1].slot.since(pair[0].slot), S, "each slot once");
    }
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Merged { .. } | EventKind::Missed { .. })), 0);
}
