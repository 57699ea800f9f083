//! The log of requests.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{Jobs, OneShot, Trigger, UnixTime};
use cotter_testkit::forgetful::{Forgetful, Losses};
use cotter_testkit::history::{Kind, demand};

async fn begin(world: &World) -> (Replica, Jobs) {
    let trigger = Trigger::cron("0 0 0 * * ? 2020").unwrap();
    let (a, b) = (world.log.job("a", trigger, S * 5), world.log.job("b", Trigger::on_demand(), MS));
    let replica = world.start(|s| s.job(a).job(b)).await;
    sleep(S).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice");
    (replica, jobs)
}

/// Who did what to which job.
async fn told(jobs: &Jobs, job: Option<&str>) -> Vec<String> {
    let text = |about: Option<String>| about.map_or_else(String::new, |about| format!(": {about}"));
    let log = jobs.log(job).await.unwrap();
    assert!(log.is_sorted_by_key(|request| request.at));
    log.into_iter()
        .map(|one| {
            format!("{} {} {}{}", one.by, one.action, one.job.as_deref().unwrap_or("*"), text(one.about))
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn it_tells_who_did_what_and_when() {
    let world = World::new();
    let (replica, jobs) = begin(&world).await;
    let bob = jobs.clone().by("bob").reason("repairs");
    let until = jobs.now().await.unwrap() + S * 3600;
    bob.clone().lasting(S * 3600).pause("a").await.unwrap();
    bob.clone().lasting(S * 60).pause("a").await.unwrap();
    jobs.resume("a").await.unwrap();
    jobs.resume("a").await.unwrap();
    // Requests of the same moment to a job and to the group have no order.
    sleep(MS).await;
    bob.pause_all().await.unwrap();
    sleep(MS).await;
    jobs.resume_all().await.unwrap();
    sleep(MS).await;
    let arguments = [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "x y".to_owned())];
    jobs.trigger_with("a", arguments).await.unwrap();
    sleep(S).await;
    let started = jobs.list().await.unwrap()[0].started.expect("it runs");
    jobs.stop("a", S * 10).await.unwrap();
    jobs.stop("a", S * 10).await.unwrap();
    let day = |day: &str| format!("2020-01-{day}T00:00:00Z").parse::<UnixTime>().unwrap();
    jobs.trigger_slot("a", day("05")).await.unwrap();
    sleep(S).await;
    jobs.backfill("a", day("10"), day("13")).await.unwrap();
    jobs.backfill("a", day("10"), day("13")).await.unwrap();
    sleep(S * 60).await;
    for _ in 0..2 {
        jobs.add("b", OneShot::at(day("01")).id("x").argument("C", "2")).await.unwrap();
    }
    Jobs::new(&replica.client, "g").trigger("b").await.unwrap();
    sleep(S).await;
    jobs.add("b", OneShot::after(S * 3600).id("y")).await.unwrap();
    sleep(MS).await;
    assert!(jobs.cancel("y").await.unwrap() && !jobs.cancel("y").await.unwrap());
    bob.forget("b").await.unwrap();
    let all = told(&jobs, None).await;
    let added = all.iter().position(|one| one.starts_with("alice add-once b: y at ")).expect("it was added");
    let wanted = [
        format!("bob pause a: until {until:.0}: repairs"),
        "alice resume a".to_owned(),
        "bob pause *: repairs".to_owned(),
        "alice resume *".to_owned(),
        "alice trigger a: A=1 B=x y".to_owned(),
        format!("alice stop a: the run that began at {started:.0}"),
        "alice trigger a: slot 2020-01-05T00:00:00Z".to_owned(),
        "alice trigger a: 3 slots, 2020-01-10T00:00:00Z to 2020-01-12T00:00:00Z".to_owned(),
        "alice add-once b: x at 2020-01-01T00:00:00Z C=2".to_owned(),
        all[added].clone(),
        "alice cancel b: y".to_owned(),
        "bob forget b".to_owned(),
    ];
    demand(all == wanted, Kind::Untrue, format!("{all:#?}"));
    assert_eq!(told(&jobs, Some("b")).await, [&wanted[2..4], &wanted[8..]].concat(), "and to the group");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_keeps_the_last_requests_however_long() {
    let world = World::new();
    let (replica, jobs) = begin(&world).await;
    // Each of these characters is six bytes in the note.
    for (reason, at_least) in [("repairs".to_owned(), 100), ("\u{1}".repeat(1000), 20)] {
        for number in 0..120 {
            jobs.clone().by(format!("{number} {reason}")).reason(&reason).pause("a").await.unwrap();
            Jobs::new(&replica.client, "g").resume("a").await.unwrap();
        }
        let log = jobs.log(Some("a")).await.unwrap();
        let newest = log.last().map(|request| request.by.clone()).unwrap_or_default();
        demand(newest.starts_with("119 "), Kind::LostWrite, format!("the newest one is by {newest:?}"));
        let is_bounded = (at_least..=100).contains(&log.len());
        demand(is_bounded, Kind::PermitsOverLimit, format!("{} are kept", log.len()));
    }
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_is_made_even_if_it_cannot_be_logged() {
    let (world, losses) = (World::new(), Losses::default());
    let client = world.client_of(|store| Forgetful::new(store, "g", &losses)).await;
    let job = world.log.job("a", Trigger::on_demand(), MS);
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice");
    losses.refuse(Some("log-0a"));
    jobs.trigger("a").await.unwrap();
    jobs.pause("a").await.unwrap();
    sleep(S).await;
    let (told, count) = (told(&jobs, None).await, world.log.count());
    assert_eq!((told.len(), count), (0, 1), "{told:?}");
    losses.refuse(None);
    jobs.resume("a").await.unwrap();
    assert_eq!(jobs.log(None).await.unwrap().len(), 1);
    replica.stop().await;
}
