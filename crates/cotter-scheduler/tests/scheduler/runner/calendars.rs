//! Slots that do not count.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{EventKind, Job, Jobs, Misfire, Trigger, UnixTime};

fn at(seconds: i64) -> UnixTime {
    // A whole minute in the future of every store.
    UnixTime::from_seconds(4_000_000_000 / 60 * 60 + seconds)
}

/// The seconds of a minute at which slots were started.
fn seconds(world: &World) -> Vec<i64> {
    world.log.starts().iter().map(|start| start.slot.seconds() % 60).collect()
}

#[tokio::test(start_paused = true)]
async fn excluded_slots_are_not_run_nor_missed() {
    for misfire in [Misfire::Skip, Misfire::Once, Misfire::All] {
        let world = World::new();
        let trigger = Trigger::cron("0/5 * * * * ?").unwrap().except_cron("10-39 * * * * ?").unwrap();
        let job = world.log.job("a", trigger, MS).misfire(misfire);
        let replicas = [world.client().await, world.client().await];
        let replicas = replicas.map(|client| world.start_on(client, |s| s.job(job.clone()), S));
        sleep(S * 120).await;
        let next = Jobs::new(&replicas[0].client, "g").list().await.unwrap()[0].next_slot.unwrap();
        assert!(![10, 15, 20, 25, 30, 35].contains(&(next.seconds() % 60)), "{next}");
        for replica in replicas {
            replica.stop().await;
        }
        let seconds = seconds(&world);
        assert!((11..=13).contains(&seconds.len()), "{seconds:?}");
        assert!(seconds.iter().all(|second| !(10..40).contains(second)), "{seconds:?}");
        let lost = |e: &EventKind| matches!(e, EventKind::Missed { .. } | EventKind::Skipped { .. });
        assert_eq!(world.log.events(lost), 0, "{misfire:?} {:?}", world.log.told());
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_starts_and_ends() {
    for make in [|| Trigger::cron("0/5 * * * * ?").unwrap(), || Trigger::fixed_rate(S * 5).unwrap()] {
        let world = World::new();
        let probe = world.start(|s| s).await;
        let now = probe.handle.now();
        let trigger = make().starting(now + S * 12).ending(now + S * 31);
        probe.handle.put(world.log.job("a", trigger, MS)).await.unwrap();
        sleep(S * 60).await;
        assert_eq!(probe.handle.next().await[0].at, None, "it has ended");
        assert_eq!(Jobs::new(&probe.client, "g").list().await.unwrap()[0].next_slot, None);
        probe.stop().await;
        let slots: Vec<_> = world.log.starts().iter().map(|start| start.slot).collect();
        assert!((3..=4).contains(&slots.len()), "{slots:?}");
        assert!(slots.iter().all(|slot| (now + S * 12..=now + S * 31).contains(slot)), "{slots:?}");
        let late = |start: &super::world::Started| start.slot;
        assert!(world.log.starts().iter().map(late).is_sorted());
    }
}

#[test]
fn only_cron_has_exclusions() {
    let error = Trigger::fixed_rate(S).unwrap().except_days("2031-12-25").unwrap_err().to_string();
    assert!(error.contains("only slots of a cron expression can be excluded"), "{error}");
    let days = Trigger::cron("0 0 12 * * ?").unwrap().except_days("2096-10-02/2096-10-04").unwrap();
    let next = days.next_after(at(0)).unwrap();
    assert_eq!(next.to_string(), "2096-10-05T12:00:00Z");
    let never = Trigger::cron("0 0 12 * * ?").unwrap().except_cron("* * * * * ?").unwrap();
    assert_eq!(never.next_after(at(0)), None);
    let job = Job::new("a", never, |_| async {});
    assert!(job.check("g").is_ok());
}
