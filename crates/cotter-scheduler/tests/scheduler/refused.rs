//! What is refused before anything runs, by its text.

use cotter::Client;
use cotter_scheduler::{ErrorKind, Job, Scheduler, Trigger, UnixTime};
use cotter_testkit::servers;
use std::time::Duration;

fn job(name: &str) -> Job {
    Job::new(name, Trigger::fixed_rate(Duration::from_secs(1)).unwrap(), |_| async {})
}

async fn refused(scheduler: Scheduler) -> (ErrorKind, String) {
    let error = scheduler.run_until(std::future::pending::<()>(), Duration::ZERO).await.unwrap_err();
    (error.kind(), error.to_string())
}

#[tokio::test]
async fn jobs_that_cannot_work() {
    let client = Client::connect("memory:").await.unwrap();
    let cases = [
        (vec![job("")], "job \"\": a job needs a name"),
        (vec![job("a"), job("a")], "job \"a\": two jobs have this name; rename one of them"),
        (
            vec![job("a").ttl(Duration::ZERO)],
            "job \"a\": the lease is zero; leave it out to use that of the client",
        ),
        (vec![job("a").max_run(Duration::ZERO)], "job \"a\": max_run is zero; leave it out for no limit"),
        (vec![job("a").max_backlog(0)], "job \"a\": max_backlog is zero; set it to 1 or more"),
        (
            vec![job("a/b")],
            "job \"a/b\": the name contains '/', which separates it from the group in the name of the lock; use '-' or '.'",
        ),
        (
            vec![job("a\nb")],
            "job \"a\\nb\": invalid name: the name has the control character '\\n' at byte 3; leave it out",
        ),
    ];
    for (jobs, text) in cases {
        let told = refused(Scheduler::new(&client, "g").jobs(jobs)).await;
        assert_eq!(told, (ErrorKind::Job, text.to_owned()));
    }
}

#[test]
fn triggers_that_cannot_be() {
    let text = |trigger: Result<Trigger, cotter_scheduler::Error>| trigger.unwrap_err().to_string();
    assert_eq!(
        text(Trigger::fixed_rate(Duration::ZERO)),
        "a fixed rate of 0ns is out of range: 1 ms to 100 years"
    );
    assert_eq!(
        text(Trigger::fixed_delay(Duration::MAX)),
        "a fixed delay of 18446744073709551615.999999999s is out of range: 1 ms to 100 years"
    );
    assert_eq!(
        text(Trigger::once_at(UnixTime::from_seconds(-1))),
        "once at 1969-12-31T23:59:59Z is out of range: 1970 to 2099"
    );
    assert_eq!(
        text(Trigger::cron("0 60 * * * ?")),
        "minutes, column 3: 60 is out of range; write a number from 0 to 59"
    );
}

#[tokio::test]
#[ignore = "needs redis-server"]
async fn stores_without_notes() {
    let server = servers::Redis::start();
    for mode in ["plain", "getset"] {
        let client = Client::connect(server.url(&format!("mode={mode}"))).await.unwrap();
        let (kind, text) = refused(Scheduler::new(&client, "g").job(job("a"))).await;
        assert_eq!(kind, ErrorKind::NoNotes, "{text}");
        assert!(text.ends_with("use a store that keeps notes (Redis: mode=native)"), "{text}");
    }
}
