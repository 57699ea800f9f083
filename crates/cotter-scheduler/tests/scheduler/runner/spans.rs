//! The span of a run: what its work logs is joined to slot, attempt and token.

use super::world::{S, World, sleep};
use cotter_scheduler::{Job, Jobs, OneShot, Run, Trigger};
use cotter_testkit::in_own_process;
use std::io;
use std::sync::Mutex;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Writes into the log.
struct Writer;

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of the work in the log.
fn lines() -> Vec<String> {
    let log = String::from_utf8(LOG.lock().unwrap().clone()).unwrap();
    log.lines().filter(|line| line.contains("at work")).map(str::to_owned).collect()
}

/// The work says what it knows of its run; its first attempt fails.
fn work(run: &Run) -> Result<(), String> {
    tracing::info!("at work: {} {} {}", run.slot(), run.attempt(), run.token());
    if run.attempt() == 1 { Err("the first attempt fails".to_owned()) } else { Ok(()) }
}

#[test]
fn what_work_logs_is_in_the_span_of_its_run() {
    in_own_process(
        "runner::spans::what_work_logs_is_in_the_span_of_its_run",
        |_| (),
        || {
            tracing_subscriber::fmt().without_time().with_ansi(false).with_writer(|| Writer).init();
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().start_paused(true).build().unwrap().block_on(run());
        },
    );
}

async fn run() {
    let later = Job::new("a", Trigger::on_demand(), async |run| {
        sleep(S).await;
        work(&run)
    });
    let blocks = Job::blocking("b", Trigger::on_demand(), |run| work(&run));
    let replica = World::new().start(|s| s.job(later.retries(1)).job(blocks.retries(1))).await;
    sleep(S).await;
    let jobs = Jobs::new(&replica.client, "g");
    jobs.add("a", OneShot::after(S).id("x")).await.unwrap();
    jobs.trigger("b").await.unwrap();
    while lines().len() < 4 {
        sleep(S).await;
    }
    replica.stop().await;
    check("a", " job.one_shot=\"x\"");
    check("b", "");
}

/// Both attempts of this job, each in a span of its own with its fields.
fn check(job: &str, one_shot: &str) {
    let lines = lines();
    for attempt in 1..=2 {
        let is_it = |line: &&String| {
            line.contains(&format!("job.name=\"{job}\"")) && line.contains(&format!(" {attempt} "))
        };
        let line = lines.iter().find(is_it);
        let line = line.unwrap_or_else(|| {
            panic!("violation[run-without-span]: no attempt {attempt} of {job}: {lines:#?}")
        });
        let said: Vec<_> = line.split("at work: ").nth(1).unwrap().split(' ').collect();
        let (slot, token) = (said[0], said[2]);
        let span = format!(
            "cotter.run{{job.name=\"{job}\" job.slot={slot} job.attempt={attempt}{one_shot} lock.token={token}}}:"
        );
        assert!(line.contains(&span), "violation[run-without-span]: {line:?} has not {span:?}");
    }
}
