//! Runs that operators stop.

use super::world::{S, World, sleep};
use cotter_scheduler::{Ending, ErrorKind, Job, Jobs, OnCrash, OnStop, Run, Stopping, Trigger};
use cotter_testkit::history::{Kind, demand};

/// A job whose runs take a minute, and are repeated wherever a policy allows that.
fn stubborn(world: &World) -> Job {
    let job = world.log.job("a", Trigger::fixed_rate(S * 600).unwrap(), S * 60);
    job.retries(3).on_stop(OnStop::Rerun).on_crash(OnCrash::Rerun)
}

fn by_alice() -> Ending {
    Ending::StoppedBy("alice".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_ends_at_once_and_is_not_repeated() {
    let world = World::new();
    let one = world.start(|s| s.host("one").job(stubborn(&world))).await;
    sleep(S * 5).await;
    let other = world.start(|s| s.host("other").job(stubborn(&world))).await;
    let jobs = Jobs::new(&world.client().await, "g").by("alice");
    let Stopping::Ended(Some(entry)) = jobs.stop("a", S * 10).await.unwrap() else {
        panic!("it has not ended")
    };
    assert_eq!((&*entry.host, &entry.ending), ("one", &by_alice()));
    assert!(entry.ended.since(entry.started) < S * 10, "{entry:?}");
    assert_eq!(jobs.stop("a", S * 10).await.unwrap(), Stopping::NotRunning);
    sleep(S * 300).await;
    let again = world.log.count() - 1;
    demand(again == 0, Kind::SlotTwice, format!("it was run again {again} times"));
    // What comes later is not meant.
    jobs.trigger("a").await.unwrap();
    sleep(S * 70).await;
    let history = jobs.history("a").await.unwrap();
    let endings: Vec<_> = history.iter().map(|entry| entry.ending.clone()).collect();
    demand(endings == [by_alice(), Ending::Ok], Kind::SlotMissing, format!("{endings:?}"));
    sleep(S * 300).await;
    assert_eq!(world.log.count(), 3, "the next slot");
    let error = jobs.stop("b", S).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownJob);
    one.stop().await;
    other.stop().await;
}

/// Whoever finds the dead run would run it again.
#[tokio::test(start_paused = true)]
async fn a_host_that_dies_while_it_is_asked_is_waited_for_and_its_run_is_over() {
    let world = World::new();
    let one = world.start(|s| s.host("one").job(stubborn(&world))).await;
    sleep(S * 5).await;
    one.kill().await;
    let jobs = Jobs::new(&world.client().await, "g").by("alice");
    let told = jobs.stop("a", S * 5).await.unwrap();
    assert!(matches!(&told, Stopping::Waiting { host: Some(host), .. } if host == "one"), "{told:?}");
    let other = world.start(|s| s.host("other").job(stubborn(&world))).await;
    sleep(S * 100).await;
    let again = world.log.count() - 1;
    demand(again == 0, Kind::SlotTwice, format!("it was run again {again} times"));
    let history = jobs.history("a").await.unwrap();
    assert_eq!(history.iter().map(|entry| entry.ending.clone()).collect::<Vec<_>>(), [Ending::Crashed]);
    other.stop().await;
}

/// Within the time that the job has for that; it may also end well, or not hurry.
#[tokio::test(start_paused = true)]
async fn a_run_may_finish_what_it_does() {
    for (takes, wanted) in [(S * 3, Ending::Ok), (S * 100, by_alice())] {
        let world = World::new();
        let job = Job::new("a", Trigger::fixed_rate(S * 600).unwrap(), move |run: Run| async move {
            run.cancelled().await;
            sleep(takes).await;
        });
        let one = world.start(|s| s.job(job.stop_within(S * 6))).await;
        sleep(S * 5).await;
        let jobs = Jobs::new(&world.client().await, "g").by("alice");
        assert!(matches!(jobs.stop("a", S).await.unwrap(), Stopping::Waiting { host: None, .. }));
        let told = jobs.stop("a", S * 20).await.unwrap();
        let Stopping::Ended(Some(entry)) = told else { panic!("it has not ended: {told:?}") };
        assert_eq!(entry.ending, wanted);
        one.stop().await;
    }
}

/// Its scheduler ends as well, and the next one would run the slot again.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_stopped_during_a_deploy_is_not_left_to_the_next_host() {
    // Within the grace period, and when it is over.
    for (after, wanted) in [(S * 2, by_alice()), (S * 12, Ending::Stopped)] {
        let world = World::new();
        let job = stubborn(&world).stop_within(S * 6);
        let one = world.start_on(world.client().await, |s| s.job(job.clone()), S * 10);
        sleep(S * 5).await;
        let stopping = tokio::spawn(one.stop());
        sleep(after).await;
        let jobs = Jobs::new(&world.client().await, "g").by("alice");
        let told = jobs.stop("a", S * 20).await.unwrap();
        let Stopping::Ended(Some(entry)) = told else { panic!("it has not ended: {told:?}") };
        assert_eq!(entry.ending, wanted);
        stopping.await.unwrap();
        let other = world.start(|s| s.job(job)).await;
        sleep(S * 100).await;
        demand(world.log.count() == 1, Kind::SlotTwice, format!("it was run again after {wanted:?}"));
        other.stop().await;
    }
}
