//! Schedulers that say that they run.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Host, Jobs, Trigger};
use cotter_testkit::history::{Kind, demand};

fn names(hosts: &[Host]) -> Vec<&str> {
    hosts.iter().map(|host| host.name.as_deref().unwrap_or_default()).collect()
}

/// Also two of one host: each is listed, and none takes back what the other has said.
#[tokio::test(start_paused = true)]
async fn each_scheduler_is_listed_until_it_ends() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    assert_eq!(jobs.hosts().await.unwrap(), []);
    let long = || world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), S * 1800);
    let one = world.start(|s| s.host("b").workers(3).job(long())).await;
    sleep(S * 10).await;
    let other = world.start(|s| s.host("a").job(long())).await;
    let twin = world.start(|s| s.host("b").job(long())).await;
    sleep(S * 300).await;
    let hosts = jobs.hosts().await.unwrap();
    assert_eq!(names(&hosts), ["a", "b", "b"]);
    assert!(hosts[1].since < hosts[2].since && hosts[1].seen > hosts[1].since + S * 200, "{hosts:?}");
    assert_eq!((hosts[1].workers, hosts[1].busy), (3, 1), "it runs the job: {hosts:?}");
    let now = jobs.now().await.unwrap();
    assert!(hosts.iter().all(|host| now.since(host.seen) <= S * 121), "{hosts:?}");
    twin.stop().await;
    other.stop().await;
    assert_eq!(names(&jobs.hosts().await.unwrap()), ["b"]);
    one.kill().await;
    sleep(S * 60).await;
    assert_eq!(names(&jobs.hosts().await.unwrap()), ["b"], "it may be cut off");
    sleep(S * 300).await;
    let left = jobs.hosts().await.unwrap();
    demand(left.is_empty(), Kind::LeftBehind, format!("who is gone is listed as running: {left:?}"));
}

/// What one of them has written over is written again by those that run.
#[tokio::test(start_paused = true)]
async fn a_hundred_schedulers_are_all_listed() {
    let world = World::new();
    let mut running = Vec::new();
    for i in 0..100 {
        running.push(
            world
                .start(|s| s.host(format!("h{i:02}")).job(world.log.job("a", Trigger::on_demand(), MS)))
                .await,
        );
    }
    sleep(S).await;
    let jobs = Jobs::new(&running[0].client, "g");
    let all: Vec<String> = (0..100).map(|i| format!("h{i:02}")).collect();
    assert_eq!(names(&jobs.hosts().await.unwrap()), all);
    for replica in running {
        replica.stop().await;
    }
    assert_eq!(Jobs::new(&world.client().await, "g").hosts().await.unwrap(), []);
}
