//! The page of one job.

use super::{address, between, follow};
use crate::env::TestEnv;
use crate::schedule::metrics::{get, status};
use crate::schedule::once;
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
#[ignore = "needs redis-server"]
fn the_runs_of_a_job_are_there_with_the_output_of_those_that_have_failed() {
    let server = Redis::start();
    let env = TestEnv::on(server.url("timeout=500ms"));
    let bad = once("bad", "echo \"<script>alert(1)</script>\"; echo second line; exit 3");
    let path = env.jobs(&format!("[job.good]\nfixed_rate = \"50ms\"\nshell = \"true\"\n{bad}"));
    let schedule = env.start(["schedule", path.to_str().unwrap()]);
    let mut dashboard = env.start(["dashboard", "--listen", "127.0.0.1:0", "--group", "g"]);
    let at = address(&mut dashboard);
    let live = follow(&at, "/live/job?group=g&name=good");
    let bars = |page: &str, class| page.matches(&format!("<rect class=\"{class}\"")).count();
    // Each is a line of what is sent.
    assert_eq!(live.filter(|line| bars(line, "good") > 0).take(2).count(), 2, "it goes on by itself");
    until("the other one has failed", || get(&at, "/jobs").contains("failed: exit code 3"));

    let jobs = get(&at, "/jobs");
    let link = between(&jobs, "<a href=\"/job?", "\"><strong>bad</strong>").rsplit("/job?").next().unwrap();
    let page = get(&at, &format!("/job?{}", link.replace("&#38;", "&").replace("&amp;", "&")));
    assert!(!page.contains("<script>alert"), "violation[output-becomes-markup] {page}");
    let output = between(&page, "<pre>", "</pre>");
    assert_eq!(output, "&#60;script&#62;alert(1)&#60;/script&#62;\nsecond line");
    assert_eq!((bars(&page, "bad"), bars(&page, "good")), (1, 0), "{page}");
    let line = between(&page, "<tr class=\"problem\">", "</tr>");
    assert!(line.contains("data-label=\"Code\">3<") && line.contains("failed: exit code 3"), "{line}");

    for (path, code, says) in [
        ("/job?group=g&name=other", "200", "No job of this name has ever been started."),
        ("/job?group=other&name=good", "404", "--group NAME"),
        ("/live/job?group=other&name=good", "404", "--group NAME"),
        ("/job?name=good", "400", "group"),
    ] {
        let answer = get(&at, path);
        assert!(status(&answer) == code && answer.contains(says), "{path}: {answer}");
    }

    schedule.signal(Signal::TERM);
    schedule.end().code(0);
    let good = "/job?group=g&name=good";
    let before = bars(&get(&at, good), "good");
    server.stop();
    until("the store is shown as silent", || get(&at, good).contains("The store does not answer"));
    let page = get(&at, good);
    assert!(bars(&page, "good") >= before.min(2), "violation[forgotten] {page}");
    server.go_on();
    until("it is there again", || !get(&at, good).contains("The store does not answer"));
}
