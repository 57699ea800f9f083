//! Jobs that no scheduler has.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Job, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};

fn job(world: &World, name: &'static str) -> Job {
    world.log.job(name, Trigger::fixed_rate(S * 3600).unwrap(), MS)
}

/// Longer than it takes until each scheduler has said again what it has.
const ROUND: std::time::Duration = std::time::Duration::from_secs(130);

async fn orphaned(jobs: &Jobs) -> Option<Vec<String>> {
    sleep(S).await;
    jobs.orphaned().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_orphaned_when_the_last_that_has_it_is_gone() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    assert_eq!(orphaned(&jobs).await, None, "nobody runs");
    let (a, b) = (job(&world, "a"), job(&world, "b"));
    let one = world.start(|s| s.host("one").job(a.clone()).job(b.clone())).await;
    let other = world.start(|s| s.host("other").job(b)).await;
    assert_eq!(orphaned(&jobs).await.unwrap(), [""; 0]);
    assert!(one.handle.remove("a").await.unwrap());
    sleep(ROUND).await;
    assert_eq!(orphaned(&jobs).await.unwrap(), ["a"]);
    let listed = jobs.list().await.unwrap();
    assert_eq!(listed.iter().map(|job| job.orphaned).collect::<Vec<_>>(), [true, false]);
    one.handle.put(a).await.unwrap();
    assert_eq!(orphaned(&jobs).await.unwrap(), [""; 0], "it is back");
    one.kill().await;
    sleep(S * 60).await;
    assert_eq!(orphaned(&jobs).await.unwrap(), [""; 0], "it may be cut off");
    sleep(S * 300).await;
    assert_eq!(orphaned(&jobs).await.unwrap(), ["a"]);
    other.stop().await;
    assert_eq!(orphaned(&jobs).await, None, "nobody tells");
    let listed = jobs.list().await.unwrap();
    assert!(listed.iter().all(|job| job.orphaned), "{listed:?}");
}

/// It was removed, and its run goes on.
#[tokio::test(start_paused = true)]
async fn a_job_that_runs_is_not_orphaned() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    let long = world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), S * 60);
    let one = world.start(|s| s.job(long).job(job(&world, "b"))).await;
    sleep(S * 5).await;
    assert!(one.handle.remove("a").await.unwrap());
    assert_eq!(orphaned(&jobs).await.unwrap(), [""; 0], "its run goes on");
    sleep(S * 60).await;
    assert_eq!(orphaned(&jobs).await.unwrap(), ["a"]);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn as_long_as_one_scheduler_does_not_tell_no_job_is_orphaned() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    let many = (0..1001).map(|i| Job::new(format!("many-{i:04}"), Trigger::on_demand(), |_| async {}));
    let small: Replica = world.start(|s| s.job(job(&world, "a"))).await;
    let large = world.start(|s| many.fold(s, |s, job| s.job(job))).await;
    sleep(S * 5).await;
    let found = orphaned(&jobs).await.unwrap();
    demand(found.is_empty(), Kind::Untrue, format!("jobs that a scheduler has: {found:?}"));
    large.stop().await;
    sleep(ROUND).await;
    assert_eq!(orphaned(&jobs).await.unwrap().len(), 1001, "the one that is left tells");
    small.stop().await;
}
