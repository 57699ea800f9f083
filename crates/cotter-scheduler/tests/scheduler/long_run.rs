//! Schedulers behind pgpool2, which sends reads to a standby that is behind. `scripts/test --long` installs it and runs this; any
//! other run leaves it out.

use cotter::{Client, Severity};
use cotter_scheduler::{Job, Run, Scheduler, Trigger};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::{Pgpool, Postgres};
use cotter_testkit::timing::eventually;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Between two slots.
const PERIOD: Duration = Duration::from_millis(500);
/// How far the standby is behind: a few slots.
const BEHIND: &str = "2s";
const SLOTS: usize = 24;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs pgpool2"]
async fn what_was_written_is_read_although_the_standby_does_not_have_it_yet() {
    let primary = Postgres::start();
    primary.migrate("");
    let standby = Postgres::builder().with("recovery_min_apply_delay", BEHIND).start_standby_of(&primary);
    let pgpool = Pgpool::before(&primary, &standby);
    spreads_reads(&primary, &pgpool).await;
    notes_are_read(&pgpool).await;

    let starts = Arc::new(Mutex::new(BTreeMap::new()));
    let mut running = Vec::new();
    for _ in 0..3 {
        let client = Client::connect(pgpool.url("")).await.unwrap();
        let starts = starts.clone();
        let job = Job::new("job", Trigger::fixed_rate(PERIOD).unwrap(), move |run: Run| {
            *starts.lock().unwrap().entry(run.slot()).or_insert(0) += 1;
            async {}
        });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let scheduler = Scheduler::new(&client, "g").job(job);
        running.push((stop, tokio::spawn(scheduler.run_until(stopped, Duration::from_secs(5)))));
    }
    eventually("slots are started", || starts.lock().unwrap().len() >= SLOTS).await;
    for (stop, scheduler) in running {
        drop(stop);
        scheduler.await.unwrap().unwrap();
    }
    let starts = starts.lock().unwrap().clone();
    let all: usize = starts.values().sum();
    demand(
        all == starts.len(),
        Kind::SlotTwice,
        format!("{all} starts of {} slots: {starts:?}", starts.len()),
    );
}

/// Without this the run would prove nothing: pgpool answers a plain read from the standby.
async fn spreads_reads(primary: &Postgres, pgpool: &Pgpool) {
    primary.sql("create table seen (n int); grant select on seen to app");
    primary.sql("select pg_switch_wal()");
    let ask = |statement: &str| {
        let mut psql = primary.psql("cotter");
        // The last of each option counts.
        psql.args(["-h", "127.0.0.1", "-U", "app", "-p", &pgpool.port().to_string(), "-c", statement]);
        let said = psql.output().expect("it starts");
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    eventually("the table is there", || ask("select count(*) from seen") == "0").await;
    primary.sql("insert into seen values (1)");
    demand(ask("select count(*) from seen") == "0", Kind::Void, "reads go to the primary");
}

/// What one client has written, another one reads at once.
async fn notes_are_read(pgpool: &Pgpool) {
    let one = Client::connect(pgpool.url("")).await.unwrap();
    for turn in 0..10_u32 {
        let other = Client::connect(pgpool.url("")).await.unwrap();
        let guard = one.mutex("note").lock().await.unwrap();
        guard.put_note(turn.to_string()).await.unwrap();
        guard.finish().await.unwrap();
        let note = other.note("note").await.unwrap().map(|note| note.bytes);
        let text = format!("{note:?} was read after {turn} was written");
        demand(note == Some(turn.to_string().into_bytes()), Kind::LostWrite, text);
        one.latch(format!("latch {turn}")).create(1).await.unwrap();
        assert!(other.latch(format!("latch {turn}")).state().await.unwrap().is_some(), "it was created");
    }
    let findings = one.admin().diagnose().await.unwrap();
    let reads = findings.iter().find(|finding| finding.subject == "reads").expect("it is looked at");
    assert_eq!(reads.severity, Severity::Ok, "{reads}");
}
