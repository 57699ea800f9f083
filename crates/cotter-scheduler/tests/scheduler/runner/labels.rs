//! Jobs on hosts with labels.

use super::world::{MS, Replica, S, World, sleep};
use cotter_scheduler::{
    ErrorKind, EventKind, Job, JobStatus, Jobs, Label, Misfire, OneShot, Run, Scheduler, Trigger,
};
use cotter_testkit::history::{Kind, demand};

/// Longer than a scheduler that was killed is listed.
const SILENCE: std::time::Duration = std::time::Duration::from_secs(400);

fn label(text: &str) -> Label {
    Label::new(text).unwrap()
}

/// A job on `role=db` with a slot each 10 s.
fn on_db(world: &World) -> Job {
    let job = world.log.job("a", Trigger::fixed_rate(S * 10).unwrap(), S);
    job.misfire(Misfire::All).on(label("role=db"))
}

/// One for every host.
fn anywhere() -> Job {
    Job::new("b", Trigger::fixed_rate(S * 10).unwrap(), |_| async {})
}

fn db(scheduler: Scheduler) -> Scheduler {
    scheduler.host("db").label(label("role=db")).label(label("zone=a"))
}

fn web(scheduler: Scheduler) -> Scheduler {
    scheduler.host("web").label(label("role=web")).label(label("zone=a"))
}

/// The hosts of all runs of a job.
async fn hosts(jobs: &Jobs, job: &str) -> Vec<String> {
    jobs.history(job).await.unwrap().into_iter().map(|entry| entry.host).collect()
}

async fn status(jobs: &Jobs, job: &str) -> JobStatus {
    jobs.list().await.unwrap().into_iter().find(|found| found.name == job).expect("it is known")
}

#[track_caller]
fn demand_only_db(hosts: &[String]) {
    let why = format!("a host without the label has run it: {hosts:?}");
    demand(hosts.iter().all(|host| host == "db"), Kind::SlotTwice, why);
}

/// Also not those of an outage, which are run as after any other.
#[tokio::test(start_paused = true)]
async fn nobody_without_the_label_takes_slots_requests_one_shot_runs_or_what_has_crashed() {
    let world = World::new();
    let start = async |set: fn(Scheduler) -> Scheduler| {
        world.start(|s| set(s).job(on_db(&world)).job(anywhere())).await
    };
    let (first, other) = (start(db).await, start(web).await);
    let jobs = Jobs::new(&other.client, "g");
    sleep(S * 60).await;
    let before = hosts(&jobs, "a").await;
    assert!(before.len() > 4, "{before:?}");
    demand_only_db(&before);
    let told = jobs.hosts().await.unwrap();
    let labels: Vec<_> = told.iter().map(|host| host.labels.join(" ")).collect();
    assert_eq!(labels, ["role=db zone=a", "role=web zone=a"]);
    let (of_a, of_b) = (status(&jobs, "a").await, status(&jobs, "b").await);
    assert_eq!((of_a.on, of_b.on), (vec!["role=db".to_owned()], vec![]));
    assert!(!of_a.orphaned && !of_a.unlabelled && !of_b.unlabelled);
    // In a run.
    while status(&jobs, "a").await.ended.is_some() {
        sleep(MS * 100).await;
    }
    first.kill().await;
    let started = world.log.count();
    jobs.trigger("a").await.unwrap();
    jobs.add("a", OneShot::after(S)).await.unwrap();
    sleep(SILENCE).await;
    demand(world.log.count() == started, Kind::SlotTwice, "a host without the label has run it".to_owned());
    let on_b = hosts(&jobs, "b").await;
    assert_eq!(on_b.last().map(String::as_str), Some("web"), "it runs what is not on a label");
    let again = start(db).await;
    sleep(S * 120).await;
    let slots: Vec<_> = jobs.history("a").await.unwrap();
    demand_only_db(&hosts(&jobs, "a").await);
    assert_eq!(slots.iter().filter(|entry| entry.ending.word() == "crashed").count(), 1, "{slots:?}");
    assert_eq!(slots.iter().filter(|entry| entry.asked).count(), 2, "{slots:?}");
    let of_trigger: Vec<_> = slots.iter().filter(|entry| !entry.asked).map(|entry| entry.slot).collect();
    let gaps = of_trigger.windows(2).filter(|pair| pair[1].since(pair[0]) != S * 10).count();
    demand(gaps == 0, Kind::SlotMissing, format!("{of_trigger:?}"));
    assert!(of_trigger.len() > 50, "those of the outage are among them: {of_trigger:?}");
    let differ = world.log.events(|kind| matches!(kind, EventKind::Standby { .. }));
    demand(differ == 0, Kind::Untrue, "hosts with the same definition differ".to_owned());
    again.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_a_host_with_the_label() {
    let world = World::new();
    let job = || {
        let log = world.log.clone();
        let job = Job::new("a", Trigger::fixed_rate(S * 3600).unwrap(), move |run: Run| {
            log.add("a", &run);
            async { Err::<(), _>("no") }
        });
        job.retries(1).retry_delay(S * 20).on(label("role=db"))
    };
    let first = world.start(|s| db(s).job(job())).await;
    let other = world.start(|s| web(s).job(job())).await;
    sleep(S * 5).await;
    first.stop().await;
    let jobs = Jobs::new(&other.client, "g");
    let seen = status(&jobs, "a").await;
    assert!(seen.orphaned && seen.unlabelled, "it is told at once: {seen:?}");
    sleep(S * 600).await;
    let attempts = world.log.count();
    demand(attempts == 1, Kind::SlotTwice, "a host without the label has retried".to_owned());
    let seen = status(&jobs, "a").await;
    assert!(seen.retry_at.is_some() && seen.overdue_since.is_some() && seen.orphaned, "{seen:?}");
    let again = world.start(|s| db(s).job(job())).await;
    sleep(S * 5).await;
    let attempts: Vec<_> = world.log.starts().iter().map(|started| started.attempt).collect();
    demand(attempts == [1, 2], Kind::SlotMissing, format!("{attempts:?}"));
    demand_only_db(&hosts(&jobs, "a").await);
    again.stop().await;
    other.stop().await;
}

/// Its run has no end, for nobody who could notice its death is there.
#[tokio::test(start_paused = true)]
async fn a_job_whose_only_host_has_died_is_overdue_and_is_kept() {
    let world = World::new();
    let long = || {
        let job = world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), S * 1800);
        job.on(label("role=db"))
    };
    let first = world.start(|s| db(s).job(long())).await;
    let other = world.start(|s| web(s).job(long()).job(anywhere())).await;
    let jobs = Jobs::new(&other.client, "g");
    sleep(S * 200).await;
    let running = status(&jobs, "a").await;
    assert!(!running.orphaned && !running.unlabelled && running.overdue_since.is_none(), "{running:?}");
    first.kill().await;
    sleep(SILENCE).await;
    let left = status(&jobs, "a").await;
    let is_told = left.orphaned && left.unlabelled && left.overdue_since.is_some();
    demand(is_told, Kind::Untrue, format!("a job that nobody runs seems to run: {left:?}"));
    let removed = jobs.orphaned().await.unwrap().expect("one runs");
    let why = format!("a job that waits for its hosts is taken for one that was removed: {removed:?}");
    demand(removed.is_empty(), Kind::Untrue, why);
    // A host that has the label, and not the job, tells that it was removed.
    let again = world.start(|s| db(s).job(anywhere())).await;
    sleep(SILENCE).await;
    let removed = jobs.orphaned().await.unwrap().expect("two run");
    assert!(removed.is_empty(), "its last run is not known to be over: {removed:?}");
    assert!(!status(&jobs, "a").await.unlabelled);
    again.stop().await;
    other.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_a_host_with_the_label_does_not_have_was_removed() {
    let world = World::new();
    let first = world.start(|s| db(s).job(on_db(&world)).job(anywhere())).await;
    let jobs = Jobs::new(&world.client().await, "g");
    sleep(S * 5).await;
    assert!(first.handle.remove("a").await.unwrap());
    sleep(S * 130).await;
    assert_eq!(jobs.orphaned().await.unwrap().unwrap(), ["a"]);
    let seen = status(&jobs, "a").await;
    assert!(seen.orphaned && !seen.unlabelled, "{seen:?}");
    first.stop().await;
}

/// A job comes to a host, and leaves it, with what it is on.
#[tokio::test(start_paused = true)]
async fn jobs_of_a_running_scheduler_are_those_for_its_labels() {
    let world = World::new();
    let web: Replica = world.start(|s| web(s).job(anywhere())).await;
    let names = async |replica: &Replica| -> Vec<String> {
        replica.handle.next().await.iter().map(|next| next.job.to_string()).collect()
    };
    let nothing = || {
        demand(world.log.count() == 0, Kind::SlotTwice, "a host without the label has run it".to_owned());
    };
    web.handle.replace([on_db(&world), anywhere()]).await.unwrap();
    sleep(S * 60).await;
    nothing();
    web.handle.put(on_db(&world)).await.unwrap();
    sleep(S * 60).await;
    nothing();
    assert_eq!(names(&web).await, ["b"]);
    let for_web = || world.log.job("a", Trigger::fixed_rate(S * 10).unwrap(), S).on(label("role=web"));
    web.handle.put(for_web().on(label("zone=a"))).await.unwrap();
    sleep(S * 60).await;
    let started = world.log.count();
    assert!(started > 4, "it has both labels");
    web.handle.put(for_web().on(label("zone=b"))).await.unwrap();
    sleep(S * 60).await;
    demand(world.log.count() == started, Kind::SlotTwice, "it has one of two labels only".to_owned());
    assert_eq!(names(&web).await, ["b"]);
    web.stop().await;
}

/// Its definition is known to whoever may not run it.
#[tokio::test(start_paused = true)]
async fn a_job_whose_label_no_host_has_ever_had_is_known() {
    let world = World::new();
    let web = world.start(|s| web(s).job(on_db(&world)).job(anywhere())).await;
    let jobs = Jobs::new(&web.client, "g");
    sleep(S * 25).await;
    let known = jobs.list().await.unwrap();
    let a = known.iter().find(|job| job.name == "a");
    let is_told = a.is_some_and(|job| job.orphaned && job.unlabelled && job.overdue_since.is_some());
    demand(is_told, Kind::Untrue, format!("a job that nobody may run is not listed as one: {known:?}"));
    assert_eq!(world.log.count(), 0);
    let removed = jobs.orphaned().await.unwrap().expect("one runs");
    assert!(removed.is_empty(), "{removed:?}");
    jobs.trigger("a").await.unwrap();
    // One that was forgotten, and is still in the file.
    jobs.forget("a").await.unwrap();
    web.handle.replace([on_db(&world), anywhere()]).await.unwrap();
    sleep(S * 25).await;
    let again = status(&jobs, "a").await;
    assert!(again.unlabelled && again.requests == 0, "{again:?}");
    // As after any other outage.
    let db = world.start(|s| db(s).job(on_db(&world))).await;
    sleep(S * 15).await;
    let slots = jobs.history("a").await.unwrap();
    assert!(slots.len() >= 3 && slots[0].slot == again.first_started, "{slots:?}");
    assert!(!status(&jobs, "a").await.orphaned);
    let differ = world.log.events(|kind| matches!(kind, EventKind::Standby { .. }));
    assert_eq!(differ, 0, "{:?}", world.log.told());
    db.stop().await;
    web.stop().await;
}

/// What hosts with the label have written stays as it is.
#[tokio::test(start_paused = true)]
async fn a_host_without_the_label_changes_nothing_about_a_job_that_is_known() {
    let world = World::new();
    let db = world.start(|s| db(s).job(on_db(&world))).await;
    sleep(S * 15).await;
    let jobs = Jobs::new(&db.client, "g");
    db.stop().await;
    let before = status(&jobs, "a").await;
    let other = world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), S).on(label("role=db"));
    let web = world.start(|s| web(s).job(other.generation(2))).await;
    sleep(S * 25).await;
    let after = status(&jobs, "a").await;
    assert_eq!((before.trigger, before.generation), (after.trigger, after.generation));
    web.stop().await;
}

/// One job for each host, each with its own slots.
#[tokio::test(start_paused = true)]
async fn every_scheduler_has_the_label_of_its_host() {
    let world = World::new();
    let of = |host: &str| {
        let name = format!("tidy@{host}");
        Job::new(name, Trigger::fixed_rate(S * 10).unwrap(), |_| async {}).on(Label::of_host(host).unwrap())
    };
    let both = |s: Scheduler| s.job(of("db")).job(of("web"));
    let (one, twin) = (world.start(|s| both(db(s))).await, world.start(|s| both(db(s))).await);
    let other = world.start(|s| both(web(s))).await;
    sleep(S * 60).await;
    let jobs = Jobs::new(&other.client, "g");
    for host in ["db", "web"] {
        let history = jobs.history(&format!("tidy@{host}")).await.unwrap();
        let strangers = history.iter().filter(|entry| entry.host != host).count();
        demand(strangers == 0, Kind::SlotTwice, format!("another host has run it: {history:?}"));
        assert!((5..=7).contains(&history.len()), "once for each slot: {history:?}");
    }
    let error = jobs.trigger("tidy").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownJob);
    let says = error.to_string();
    assert!(says.contains("has \"tidy\" for each host by itself: name \"tidy@db\" or 1 more"), "{says}");
    let error = jobs.histories_of(&["tid".to_owned()], None).await.unwrap_err().to_string();
    assert!(error.contains("no job \"tid\""), "{error}");
    other.kill().await;
    sleep(SILENCE).await;
    let (ours, theirs) = (status(&jobs, "tidy@db").await, status(&jobs, "tidy@web").await);
    assert!(!ours.orphaned && !ours.unlabelled && ours.overdue_since.is_none(), "{ours:?}");
    assert!(theirs.orphaned && theirs.unlabelled && theirs.overdue_since.is_some(), "{theirs:?}");
    one.stop().await;
    twin.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_label_is_a_key_and_a_value_and_there_are_not_too_many() {
    for text in ["role=db", "topology.kubernetes.io/zone=eu-1", "größe=数据", "rack=a:7"] {
        assert_eq!(Label::new(text).unwrap().to_string(), text);
    }
    for text in ["", "db", "=db", "role=", "role=a=b", "role = db", "role=a,b", "role=\"db\"", "role=a\nb"] {
        let error = Label::new(text).unwrap_err();
        let says = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Label);
        assert!(
            says.contains(&format!("{text:?} is not a label: write key=value, such as role=db")),
            "{says}"
        );
    }
    let long = Label::new(format!("key={}", "v".repeat(97))).unwrap_err().to_string();
    assert!(long.contains("a label of 101 bytes is too long; the maximum is 100"), "{long}");
    let many = || (0..=Label::MAX).map(|i| label(&format!("k={i}")));
    let job = many().fold(anywhere(), Job::on).check("g").unwrap_err().to_string();
    assert!(job.contains("more than 16 labels"), "{job}");
    let client = World::new().client().await;
    let scheduler = many().fold(Scheduler::new(&client, "g"), Scheduler::label);
    let error = scheduler.run_until(std::future::pending::<()>(), S).await.unwrap_err();
    assert!(error.to_string().contains("a scheduler can have 16 labels"), "{error}");
}
