//! What operators ask, while jobs run and while they do not.

use super::world::{MS, S, World, sleep};
use cotter_scheduler::{Ending, ErrorKind, EventKind, Job, Jobs, Run, Trigger};
use cotter_testkit::history::{Kind, demand};
use std::sync::{Arc, Mutex};

#[tokio::test(start_paused = true)]
async fn pause_resume_trigger_list_history() {
    let world = World::new();
    let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS * 100);
    let replica = world.start(|s| s.job(job)).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice");
    sleep(S * 2 + MS * 500).await;
    assert_eq!(world.log.count(), 3);
    jobs.pause("a").await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 3, "paused");
    let status = &jobs.list().await.unwrap()[0];
    assert_eq!((status.name.as_str(), status.paused, status.asked_by.as_deref()), ("a", true, Some("alice")));
    assert_eq!((status.trigger.as_str(), status.ending.clone()), ("fixed rate 1s", Some(Ending::Ok)));
    Jobs::new(&replica.client, "g").by("bob").trigger("a").await.unwrap();
    let status = &jobs.list().await.unwrap()[0];
    let by = (status.paused_by.as_deref(), status.asked_by.as_deref());
    assert_eq!(by, (Some("alice"), Some("bob")));
    sleep(MS * 50).await;
    assert_eq!(world.log.count(), 4, "asked for, though paused");
    for _ in 0..3 {
        jobs.trigger("a").await.unwrap();
    }
    sleep(S).await;
    assert_eq!(world.log.count(), 5, "several requests while it runs are one");
    jobs.resume("a").await.unwrap();
    sleep(S * 2).await;
    assert_eq!(world.log.count(), 7, "slots of the pause are not missed");
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Missed { .. })), 0, "{:?}", world.log.told());
    replica.stop().await;
    let history = jobs.history("a").await.unwrap();
    assert_eq!(
        history.iter().map(|e| e.asked).collect::<Vec<_>>(),
        [false, false, false, true, true, false, false]
    );
    assert!(history.iter().all(|e| e.ending == Ending::Ok && e.ended.since(e.started).as_millis() >= 100));
}

/// The arguments of a request, and of each run that had some.
type Given = Vec<(u32, String)>;

#[tokio::test(start_paused = true)]
async fn each_request_with_arguments_is_a_run_of_its_own_and_keeps_them_when_repeated() {
    let world = World::new();
    let given = Arc::<Mutex<Given>>::default();
    let seen = given.clone();
    let job = Job::new("a", Trigger::fixed_rate(S * 3600).unwrap(), move |run: Run| {
        let seen = seen.clone();
        async move {
            let text: Vec<_> =
                run.arguments().iter().map(|(name, value)| format!("{name}={value}")).collect();
            seen.lock().unwrap().push((run.attempt(), text.join(" ")));
            sleep(S).await;
            if run.attempt() == 1 && text.contains(&"fail=yes".to_owned()) { Err("once") } else { Ok(()) }
        }
    });
    let job = || job.clone().retries(1).retry_delay(S * 10);
    let replica = world.start(|s| s.job(job())).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&replica.client, "g");
    let with = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        jobs.trigger_with("a", pairs)
    };
    jobs.trigger("a").await.unwrap();
    jobs.trigger("a").await.unwrap();
    with(&[("since", "monday"), ("fail", "yes")]).await.unwrap();
    with(&[("since", "monday")]).await.unwrap();
    sleep(S * 4).await;
    // The second attempt is made by another process, which finds the arguments in the note.
    replica.kill().await;
    let replica = world.start(|s| s.job(job())).await;
    sleep(S * 30).await;
    let wanted =
        [(1, ""), (1, ""), (1, "fail=yes since=monday"), (2, "fail=yes since=monday"), (1, "since=monday")];
    let given = given.lock().unwrap().clone();
    let is_same = given == wanted.map(|(attempt, text)| (attempt, text.to_owned()));
    demand(is_same, Kind::SlotMissing, format!("the requested runs were {given:?}"));
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn arguments_that_no_note_could_hold_are_refused() {
    let world = World::new();
    let replica = world.start(|s| s.job(world.log.job("a", Trigger::fixed_rate(S * 3600).unwrap(), S))).await;
    sleep(S * 2).await;
    replica.handle.replace([]).await.unwrap();
    let jobs = Jobs::new(&replica.client, "g");
    let refused =
        async |pairs: Vec<(String, String)>| jobs.trigger_with("a", pairs).await.unwrap_err().to_string();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert!(refused(vec![pair("", "x")]).await.contains("no name"));
    assert!(refused(vec![pair("a", "1"), pair("a", "2")]).await.contains("\"a\" occurs twice"));
    assert!(refused(vec![pair("a", &"x".repeat(1024))]).await.contains("1025 bytes"));
    for number in 0..Jobs::MAX_REQUESTS {
        jobs.trigger_with("a", [pair("number", &number.to_string())]).await.unwrap();
    }
    assert!(refused(vec![pair("a", "1")]).await.contains("too many requests"));
    jobs.trigger("a").await.unwrap();
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_has_started_is_not_known() {
    let world = World::new();
    let jobs = Jobs::new(&world.client().await, "g");
    let error = jobs.pause("typo").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownJob);
    assert_eq!(
        error.to_string(),
        "group \"g\" has no job \"typo\"; only jobs that have already been started are known"
    );
    assert!(jobs.list().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_starts_says_which_jobs_are_paused() {
    let world = World::new();
    let job = world.log.job("a", Trigger::fixed_rate(S).unwrap(), MS);
    let first = world.start(|s| s.job(job.clone())).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&first.client, "g").by("alice");
    jobs.pause("a").await.unwrap();
    jobs.pause("a").await.unwrap();
    sleep(S).await;
    first.stop().await;
    let second = world.start(|s| s.job(job)).await;
    sleep(S).await;
    let paused = EventKind::Paused { yes: true, by: "alice".into(), reason: String::new(), until: None };
    assert_eq!(world.log.events(|e| *e == paused), 2, "{:?}", world.log.told());
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_is_paused_with_a_reason_and_resumed() {
    let world = World::new();
    let job = |name| world.log.job(name, Trigger::fixed_rate(S).unwrap(), MS);
    let replica = world.start(|s| s.jobs([job("a"), job("b")])).await;
    sleep(MS * 500).await;
    let jobs = Jobs::new(&replica.client, "g").by("alice").reason("the database moves");
    jobs.pause_all().await.unwrap();
    jobs.pause("b").await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2, "{:?}", world.log.told());
    assert!(
        world.log.told().contains(&"paused by alice: the database moves".to_owned()),
        "{:?}",
        world.log.told()
    );
    replica.handle.replace([job("a"), job("b"), job("c")]).await.unwrap();
    sleep(S * 5).await;
    assert_eq!(world.log.count(), 2, "nor does one that is added");
    let status = &jobs.list().await.unwrap()[0];
    let pause = (status.paused, status.paused_by.as_deref(), status.pause_reason.as_deref());
    assert_eq!(pause, (true, Some("alice"), Some("the database moves")));
    jobs.trigger("a").await.unwrap();
    sleep(MS * 100).await;
    assert_eq!(world.log.count(), 3, "asked for");
    jobs.resume_all().await.unwrap();
    sleep(S * 3).await;
    let ran = |name| world.log.starts()[3..].iter().filter(|s| s.job == name).count();
    assert_eq!((ran("a"), ran("b"), ran("c")), (3, 0, 3), "b was paused by itself");
    assert_eq!(world.log.events(|e| matches!(e, EventKind::Missed { .. })), 0, "{:?}", world.log.told());
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_forgotten_begins_anew() {
    let world = World::new();
    let job = |name| world.log.job(name, Trigger::fixed_rate(S).unwrap(), MS * 300);
    let replica = world.start(|s| s.jobs([job("a"), job("b")])).await;
    let jobs = Jobs::new(&replica.client, "g");
    sleep(S * 9 + MS * 100).await;
    jobs.trigger("a").await.unwrap();
    sleep(MS * 100).await;
    assert_eq!(jobs.forget("a").await.unwrap_err().kind(), ErrorKind::Job, "it runs");
    sleep(MS * 500).await;
    jobs.pause("a").await.unwrap();
    replica.handle.replace([job("b")]).await.unwrap();
    sleep(S).await;
    jobs.forget("a").await.unwrap();
    let names: Vec<_> = jobs.list().await.unwrap().into_iter().map(|job| job.name).collect();
    assert_eq!(names, ["b"]);
    assert_eq!(jobs.history("a").await.unwrap_err().kind(), ErrorKind::UnknownJob);
    replica.handle.replace([job("a"), job("b")]).await.unwrap();
    sleep(MS * 500).await;
    let status = jobs.list().await.unwrap();
    assert_eq!((status[0].name.as_str(), status[0].paused, status.len()), ("a", false, 2));
    assert_eq!(jobs.history("a").await.unwrap().len(), 1, "nothing of before");
    let count = world.log.count();
    jobs.trigger("a").await.unwrap();
    sleep(MS * 800).await;
    assert!(world.log.count() >= count + 2, "a request is a new one");
    replica.stop().await;
}

#[tokio::test(start_paused = true)]
async fn arguments_that_no_longer_fit_are_refused_until_earlier_ones_have_run() {
    let world = World::new();
    let job = world.log.job("a", Trigger::on_demand(), MS);
    let replica = world.start(|s| s.job(job.clone())).await;
    sleep(S).await;
    let (client, jobs) = (replica.client.clone(), Jobs::new(&replica.client, "g"));
    replica.stop().await;
    // In JSON each of these characters takes six bytes: fewer requests than are allowed fill the note.
    let ask = || jobs.trigger_with("a", [("n".to_owned(), "\u{1}".repeat(1000))]);
    let mut asked = 0;
    let error = loop {
        match ask().await {
            Ok(_) => asked += 1,
            Err(error) => break error,
        }
    };
    assert!((5..Jobs::MAX_REQUESTS).contains(&asked), "{asked}");
    assert_eq!(error.kind(), ErrorKind::Job, "{error}");
    for says in ["job \"a\"", "64 KiB", "wait until earlier triggers have run", "smaller arguments"] {
        assert!(error.to_string().contains(says), "{error}");
    }
    let replica = world.start_on(client, |s| s.job(job), S);
    sleep(S * 10).await;
    assert_eq!(world.log.count(), asked);
    ask().await.unwrap();
    sleep(S * 10).await;
    assert_eq!(world.log.count(), asked + 1);
    replica.stop().await;
}
