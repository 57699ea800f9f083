//! Waiting for requested runs.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Ending, Job, Jobs, Run, Trigger};
use cotter_testkit::history::{Kind, demand};

/// It is told by the number of the request, whatever else runs before and after it.
#[tokio::test(start_paused = true)]
async fn a_requested_run_is_waited_for() {
    let world = World::new();
    let job = Job::new("a", Trigger::fixed_rate(S * 5).unwrap(), |run: Run| async move {
        sleep(S).await;
        let fails = run.arguments().get("fails").map_or(0, |fails| fails.parse().unwrap());
        if run.attempt() <= fails { Err(format!("attempt {}", run.attempt())) } else { Ok(()) }
    });
    let job = || job.clone().retries(1).retry_delay(S * 2);
    let replica = world.start(|s| s.job(job())).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&replica.client, "g");
    let fails = |times: &str| jobs.trigger_with("a", [("fails".to_owned(), times.to_owned())]);
    // All of them while the first slot runs, so that they follow each other.
    let (plain, once, twice) = (jobs.trigger("a"), fails("1"), fails("2"));
    let (plain, once, twice) = (plain.await.unwrap(), once.await.unwrap(), twice.await.unwrap());
    let last = jobs.trigger("a").await.unwrap();
    let wait = async |request| jobs.ended(request).await.unwrap().expect("it has run");
    let entry = wait(&twice).await;
    let failed = Ending::Failed("attempt 2".into());
    demand((entry.attempt, &entry.ending) == (2, &failed), Kind::SlotMissing, format!("{entry:?}"));
    let entry = wait(&last).await;
    assert_eq!((entry.attempt, entry.asked, &entry.ending), (1, true, &Ending::Ok), "{entry:?}");
    // Those that have ended long ago are found as well.
    sleep(S * 60).await;
    let (first, second) = (wait(&plain).await, wait(&once).await);
    assert_eq!((first.attempt, &first.ending), (1, &Ending::Ok), "{first:?}");
    assert_eq!((second.attempt, &second.ending), (2, &Ending::Ok), "{second:?}");
    assert!(first.asked && second.asked && first.started < second.started && second.started < entry.started);
    // One that crashed and is not repeated has ended, and one that never starts has no end.
    let request = jobs.trigger("a").await.unwrap();
    sleep(S + MS * 500).await;
    replica.kill().await;
    let replica = world.start(|s| s.job(job())).await;
    let jobs = Jobs::new(&replica.client, "g");
    let entry = jobs.ended(&request).await.unwrap().expect("it is in the history");
    assert!(matches!(entry.ending, Ending::Crashed | Ending::Ok), "{entry:?}");
    let request = jobs.trigger("a").await.unwrap();
    replica.handle.replace([job().enabled(false)]).await.unwrap();
    let unstarted = tokio::time::timeout(S * 600, jobs.ended(&request)).await.expect("it is settled");
    assert_eq!(unstarted.unwrap(), None);
    replica.stop().await;
}
