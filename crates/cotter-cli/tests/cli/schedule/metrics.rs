//! `cotter schedule --metrics`.

use super::{event, once};
use crate::env::{Running, TestEnv};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::{Stopwatch, until};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const JOBS: &str = include_str!("../../../../../docs/jobs.md");
const SEEN: &str = include_str!("../../../../../docs/observability.md");

/// The address that it serves at.
pub(super) fn address(run: &mut Running) -> String {
    loop {
        let remark = event(run, "remark");
        let text = remark["message"].as_str().unwrap();
        if let Some((_, rest)) = text.split_once("http://") {
            return rest.split_once('/').unwrap().0.to_owned();
        }
    }
}

/// The answer to these bytes, empty if there is none.
pub(crate) fn ask(at: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

pub(crate) fn get(at: &str, path: &str) -> String {
    ask(at, &format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"))
}

pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// The value of a sample.
pub(super) fn value(page: &str, sample: &str) -> Option<f64> {
    let line = page.lines().find_map(|line| line.strip_prefix(sample))?;
    Some(line.trim().parse().unwrap())
}

pub(super) const AT: [&str; 2] = ["--metrics", "127.0.0.1:0"];

#[test]
fn figures_of_runs_are_served_and_bad_requests_do_no_harm() {
    let env = TestEnv::new();
    let text = format!("[job.good]\nfixed_rate = \"50ms\"\nshell = \"true\"\n{}", once("bad", "exit 3"));
    let path = env.jobs(&text);
    let start = || env.start([&["--json", "schedule", path.to_str().unwrap()][..], &AT].concat());
    let mut run = start();
    let at = address(&mut run);
    until("both have run", || {
        let page = get(&at, "/metrics");
        let count = |job, outcome| {
            let sample = format!("cotter_job_runs_total{{group=\"g\",job=\"{job}\",outcome=\"{outcome}\"}}");
            value(&page, &sample)
        };
        count("bad", "failed") == Some(1.0)
            && count("good", "ok") > Some(2.0)
            && count("good", "failed") == Some(0.0)
    });
    let page = get(&at, "/metrics");
    assert!(page.contains("text/plain; version=0.0.4"), "{page}");
    assert!(
        value(&page, "cotter_job_lateness_seconds_count{group=\"g\",job=\"good\"}") > Some(2.0),
        "{page}"
    );
    let late = "cotter_job_lateness_seconds_sum{group=\"g\",job=\"bad\"}";
    assert!(value(&page, late) > Some(1e8), "it was due years ago: {page}");
    assert_eq!(value(&page, "cotter_store_up{group=\"g\"}"), Some(1.0));
    for name in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = name.split(' ').next().unwrap();
        let manual = if name.starts_with("cotter_job_") { JOBS } else { SEEN };
        let is_of_scheduler = JOBS.contains(&format!("| `{name}`"));
        assert!(is_of_scheduler || manual.contains(&format!("| `{name}`")), "no page lists {name}");
    }
    assert_eq!(status(&get(&at, "/healthz")), "200");
    assert_eq!(status(&get(&at, "/")), "404");
    assert_eq!(
        status(&ask(
            &at,
            "POST /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )),
        "405"
    );
    ask(&at, "hello\r\n\r\n");
    ask(&at, &format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)));
    // As many as there is room for, and none of them says anything.
    let idle: Vec<_> = (0..40).map(|_| TcpStream::connect(&at).unwrap()).collect();
    assert_eq!(status(&get(&at, "/healthz")), "200");
    drop(idle);
    // Another one has run nothing, and knows from the store how the job is.
    let mut other = start();
    let there = address(&mut other);
    let age = "cotter_job_last_success_age_seconds{group=\"g\",job=\"good\"}";
    until("the age is there", || value(&get(&there, "/metrics"), age).is_some_and(|age| age < 60.0));
    let page = get(&there, "/metrics");
    let of_bad = |name: &str| value(&page, &format!("{name}{{group=\"g\",job=\"bad\"}}"));
    assert!(
        of_bad("cotter_job_last_success_age_seconds").is_some_and(|age| (0.0..60.0).contains(&age)),
        "it has never succeeded, since it was there: {page}"
    );
    assert_eq!(of_bad("cotter_job_last_success_timestamp_seconds"), None);
    assert_eq!(of_bad("cotter_job_overdue_seconds"), Some(0.0));
    for run in [run, other] {
        run.signal(Signal::TERM);
        run.end().code(0);
    }
    assert!(TcpStream::connect(&at).is_err());
}

#[test]
fn locks_that_jobs_share_have_figures_of_their_own() {
    let env = TestEnv::new();
    let go = env.path("go");
    let script = format!("until [ -e {} ]; do sleep 0.02; done", go.display());
    let path = env.jobs(&format!("{}lock = \"db\"\n{}", once("a", &script), once("b", "true")));
    let mut run = env.start([&["--json", "schedule", path.to_str().unwrap()][..], &AT].concat());
    let at = address(&mut run);
    let is = |metric: &str, lock: &str, wanted: f64| {
        let sample = format!("{metric}{{group=\"g\",lock=\"{lock}\"}}");
        until(&sample, || value(&get(&at, "/metrics"), &sample) == Some(wanted));
    };
    is("cotter_lock_held", "db", 1.0);
    is("cotter_lock_acquired_total", "g/*", 2.0);
    // Whoever waits for the lock has no worker.
    workers_are(&at, 10.0, 1.0);
    fs::write(go, "").unwrap();
    is("cotter_lock_held", "db", 0.0);
    is("cotter_lock_held", "g/*", 0.0);
    is("cotter_lock_hold_seconds_count", "db", 1.0);
    workers_are(&at, 10.0, 0.0);
    let page = get(&at, "/metrics");
    let lost = "cotter_lock_lost_total{group=\"g\",lock=\"db\",cause=\"expired\"}";
    assert_eq!(value(&page, lost), Some(0.0), "a first loss will be an increase: {page}");
    assert_eq!(value(&page, "cotter_store_down{group=\"g\"}"), Some(0.0), "{page}");
    run.signal(Signal::TERM);
    run.end().code(0);
}

fn workers_are(at: &str, all: f64, busy: f64) {
    let of = |metric: &str| value(&get(at, "/metrics"), &format!("{metric}{{group=\"g\"}}"));
    until("all workers are counted, and the busy ones", || {
        of("cotter_scheduler_workers") == Some(all) && of("cotter_scheduler_workers_busy") == Some(busy)
    });
}

#[test]
fn an_address_that_cannot_be_used_is_told() {
    let env = TestEnv::new();
    let path = env.jobs("[job.a]\nfixed_rate = \"1s\"\nshell = \"true\"\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let path = path.to_str().unwrap();
    env.run(["schedule", path, "--metrics", &at]).code(78).one_line(&["--metrics", &at, "cannot listen"]);
    env.run(["schedule", path, "--metrics", "here"]).code(64).one_line(&["--metrics", "127.0.0.1:9464"]);
    env.run(["schedule", path, "--unhealthy-after", "1s"]).code(64);
}

#[test]
#[ignore = "needs redis-server"]
fn a_store_that_does_not_answer_is_unhealthy_until_it_does() {
    let (env, redis) = (TestEnv::new(), Redis::start());
    let path = env.jobs("[job.a]\nfixed_rate = \"1h\"\nshell = \"true\"\n");
    let path = path.to_str().unwrap();
    let url = redis.url("");
    let words = ["--json", "--url", &url, "schedule", path, "--unhealthy-after", "2s"];
    let mut run = env.start([&words[..], &AT].concat());
    let at = address(&mut run);
    let is = |code: &str| status(&get(&at, "/healthz")) == code;
    until("it has answered", || is("200"));
    redis.stop();
    let begin = Stopwatch::start();
    until("it is unhealthy", || is("503"));
    begin.at_most(Duration::from_secs(5), "it is unhealthy");
    assert!(get(&at, "/healthz").contains("the store has not answered for"));
    let page = get(&at, "/metrics");
    assert_eq!(value(&page, "cotter_store_up{group=\"g\"}"), Some(0.0), "{page}");
    assert!(page.contains("cotter_job_runs_total"), "its own figures are there: {page}");
    redis.go_on();
    until("it is healthy", || is("200"));
    run.signal(Signal::TERM);
    run.end().code(0);
}
