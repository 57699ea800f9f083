//! Several replicas of one group.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{Ending, EventKind, Job, Trigger};
use std::collections::HashSet;

fn secondly() -> Trigger {
    Trigger::cron("* * * * * ?").unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_cron_slot_is_started_once_on_time() {
    let world = World::new();
    let job = world.log.job("a", secondly(), MS * 300);
    let one = world.start(|s| s.job(job.clone())).await;
    let other = world.start(|s| s.job(job.clone())).await;
    sleep(S * 20).await;
    let late: Vec<u64> = {
        let now = one.handle.now();
        let begin = tokio::time::Instant::now();
        let late = |s: &super::world::Started| (begin - s.at, now.since(s.slot));
        world.log.starts().iter().map(late).map(|(ago, slot)| (slot - ago).as_millis() as u64).collect()
    };
    assert!((19..=21).contains(&late.len()), "{late:?}");
    assert_times(&late, &vec![0; late.len()]);
    let slots: HashSet<_> = world.log.starts().iter().map(|s| s.slot).collect();
    assert_eq!(slots.len(), late.len(), "each once");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_next_replica_finds_the_crash_and_runs_the_slot_again_three_times_at_most() {
    let world = World::new();
    let job = |world: &World| {
        let log = world.log.clone();
        Job::new("a", Trigger::fixed_delay(S * 3600).unwrap(), move |run| {
            log.add("a", &run);
            std::future::pending::<()>()
        })
        .on_crash(cotter_scheduler::OnCrash::Rerun)
    };
    for crash in 1..=4 {
        let replica = world.start(|s| s.job(job(&world))).await;
        sleep(S).await;
        assert_eq!(world.log.count(), crash.min(3));
        replica.kill().await;
    }
    let starts = world.log.starts();
    assert_eq!(starts.iter().map(|s| s.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(starts.windows(2).all(|p| p[0].slot == p[1].slot && p[0].token < p[1].token));
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Crashed { again: true, .. })), 2);
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Crashed { again: false, .. })), 1);
    let jobs = cotter_scheduler::Jobs::new(&world.client().await, "g");
    let endings: Vec<Ending> = jobs.history("a").await.unwrap().into_iter().map(|e| e.ending).collect();
    assert_eq!(endings, [Ending::Crashed, Ending::Crashed, Ending::Crashed]);
}
