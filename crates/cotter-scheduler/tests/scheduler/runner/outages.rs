//! A store that does not answer for a while.

use super::world::{MS, S, World, assert_times, sleep};
use cotter_scheduler::{EventKind, Jobs, Misfire, Trigger};
use cotter_testkit::faulty::{Call, Faults, Faulty, Plan};
use tokio::time::Instant;

fn down(kind: &EventKind) -> bool {
    matches!(kind, EventKind::StoreDown { .. })
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_at_a_slot_and_back_in_time_delays_it() {
    let (world, begin, faults) = (World::new(), Instant::now(), Faults::seeded(1));
    let client = world.client_of(|store| Faulty::new(store, &faults)).await;
    let job = world.log.job("a", Trigger::fixed_rate(S * 10).unwrap(), MS * 100).misfire(Misfire::All);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S * 5).await;
    faults.set(Plan { down: true, ..Plan::default() });
    sleep(S * 30).await;
    assert_eq!((world.log.count(), world.log.events(down)), (1, 1), "told once: {:?}", world.log.told());
    faults.set(Plan::default());
    sleep(S * 20).await;
    replica.stop().await;
    let times = world.log.millis(begin);
    assert!((35_000..=40_200).contains(&times[1]), "within the longest pause: {times:?}");
    let slots = world.log.starts();
    assert!(slots.windows(2).all(|p| p[1].slot.since(p[0].slot) == S * 10), "none is missing: {times:?}");
    assert_times(&times[times.len() - 1..], &[50_000]);
    assert_eq!(world.log.events(|e| *e == EventKind::StoreBack), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_at_the_start_is_waited_for() {
    let (world, begin, faults) = (World::new(), Instant::now(), Faults::seeded(1));
    let client = world.client_of(|store| Faulty::new(store, &faults)).await;
    faults.set(Plan { down: true, ..Plan::default() });
    let job = world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), MS);
    let replica = world.start_on(client.clone(), |s| s.job(job.clone()), S);
    sleep(S * 20).await;
    faults.set(Plan::default());
    sleep(S * 10).await;
    replica.stop().await;
    assert_eq!(world.log.count(), 1);
    assert!(world.log.millis(begin)[0] >= 20_000);
    faults.set(Plan { down: true, ..Plan::default() });
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S).await;
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn lost_replies_and_refusals_start_no_slot_twice() {
    for seed in 0..20 {
        let (world, faults) = (World::new(), Faults::seeded(seed));
        let mut replicas = Vec::new();
        for _ in 0..3 {
            let client = world.client_of(|store| Faulty::new(store, &faults)).await;
            let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS * 100).misfire(Misfire::All);
            replicas.push(world.start_on(client, |s| s.job(job.max_backlog(1000)), S));
        }
        let plan =
            Plan { lost_replies: 0.1, refused: 0.1, before: MS * 50, after: MS * 50, ..Plan::default() };
        sleep(S).await;
        faults.set(plan);
        sleep(S * 60).await;
        faults.set(Plan::default());
        sleep(S * 30).await;
        for replica in replicas {
            replica.stop().await;
        }
        let mut slots = world.log.slots();
        let started = slots.len();
        assert!(started >= 89, "seed {seed}: {started} {:?}", world.log.told());
        slots.dedup();
        assert_eq!(slots.len(), started, "seed {seed}: no slot twice");
        let starts = world.log.starts();
        assert!(starts.windows(2).all(|p| p[1].slot.since(p[0].slot) == S), "seed {seed}: none is missing");
        assert!(faults.counts().lost_replies > 20 && faults.calls(Call::Note) > 100, "{:?}", faults.counts());
    }
}

/// A run crashes; the one who finds that dies too, at every moment in turn; the next one works. All that was started
/// stands in the history.
#[tokio::test(start_paused = true)]
async fn who_dies_while_it_takes_over_takes_no_run_out_of_the_history() {
    let mut taken_over = 0;
    for moment in 0..100 {
        let (world, faults) = (World::new(), Faults::seeded(moment));
        // All at once: each client takes the time of day when it is made.
        let clients =
            (world.client().await, world.client_of(|s| Faulty::new(s, &faults)).await, world.client().await);
        let job = |takes| world.log.job("a", Trigger::fixed_rate(S).unwrap(), takes).misfire(Misfire::All);
        let first = world.start_on(clients.0, |s| s.job(job(S * 10)), S);
        sleep(S * 5).await;
        first.kill().await;
        faults.set(Plan { before: MS * 100, after: MS * 100, ..Plan::default() });
        let second = world.start_on(clients.1, |s| s.job(job(S * 10)), S);
        sleep(MS * 20 * moment as u32).await;
        taken_over += usize::from(world.log.count() > 1);
        second.kill().await;
        let third = world.start_on(clients.2, |s| s.job(job(MS)), S);
        sleep(S * 60).await;
        let history = Jobs::new(&third.client, "g").history("a").await.unwrap();
        third.stop().await;
        let told: Vec<_> = history.iter().map(|entry| (entry.token, entry.slot)).collect();
        for start in world.log.starts().iter().take(3) {
            let told = told.iter().filter(|told| **told == (start.token, start.slot)).count();
            assert_eq!(told, 1, "moment {moment}: {start:?} in {history:?}");
        }
    }
    assert!((20..80).contains(&taken_over), "{taken_over} times it was taken over before the next one died");
}
