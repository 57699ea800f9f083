//! Work that never yields: nothing can stop it, and nobody else starts beside it.

use cotter::Client;
use cotter_scheduler::{Job, Run, Scheduler, Trigger};
use cotter_testkit::timing::eventually;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_never_yields_keeps_its_lock_and_does_not_keep_the_runner() {
    let client = Client::connect("memory:").await.unwrap();
    let (go, runs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (over, count) = (go.clone(), runs.clone());
    let trigger = Trigger::fixed_rate(Duration::from_millis(50)).unwrap();
    let job = Job::new("a", trigger, move |run: Run| {
        let (over, count) = (over.clone(), count.clone());
        async move {
            count.fetch_add(1, Ordering::Relaxed);
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            drop(run);
        }
    });
    let job = job.max_run(Duration::from_millis(50));
    let stop = async {
        eventually("it runs", || runs.load(Ordering::Relaxed) == 1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    let scheduler = Scheduler::new(&client, "g").job(job).observe(|_| {});
    scheduler.run_until(stop, Duration::ZERO).await.unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 1, "it does not overlap itself");
    assert!(client.mutex("g/a").try_lock().await.unwrap().is_none(), "its lock is kept");
    go.store(true, Ordering::Relaxed);
    let freed = client.mutex("g/a").try_lock_for(Duration::from_secs(20)).await.unwrap();
    assert!(freed.is_some(), "until it ends");
}
