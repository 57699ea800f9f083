//! What a dashboard lets somebody ask of jobs.

use super::between;
use super::owner::{Owner, link};
use crate::env::TestEnv;
use crate::schedule::metrics::status;
use cotter_testkit::timing::until;
use rustix::process::Signal;

#[test]
fn a_job_is_paused_resumed_run_and_stopped_as_the_log_tells() {
    let env = TestEnv::new();
    let name = "<b>\"'&c%41";
    let hostile =
        format!("[job.\"{}\"]\non_demand = true\nshell = \"exec sleep 600\"\n", name.replace('"', "\\\""));
    let path = env.jobs(&hostile);
    let schedule = env.start(["schedule", path.to_str().unwrap()]);
    let owner = Owner::start(&env, &["--group", "g"]);
    let jobs = |words: &[&str]| env.run([&["--json", "jobs", "--group", "g"], words].concat()).code(0).json();
    until("it is known", || jobs(&["list"]).len() == 1);
    let job = || {
        let page = owner.get("/jobs");
        page.contains("href=\"/job?").then(|| link(&page, "/job?"))
    };
    until("it is listed", || job().is_some());
    let page = owner.get(&job().unwrap());
    assert!(!page.contains("<b>") && !page.contains("what=stop"), "{page}");
    let change = |what: &str, fields: &str| {
        let page = owner.get(&job().unwrap());
        assert!(page.contains(what), "no {what} in {page}");
        let asked = link(&page, "/job/change?");
        let (job, _) = asked.rsplit_once("what=").unwrap();
        let shown = owner.press(&format!("{job}{what}"), fields);
        between(&shown, "role=\"status\">", "</p>").to_owned()
    };

    let said = change("what=pause", "&reason=%3Cb%3Ewhy%3C%2Fb%3E+100+%25");
    assert!(said.ends_with(": paused; no slots are started until it is resumed"), "{said}");
    assert_eq!(jobs(&["list"])[0]["pause_reason"], "<b>why</b> 100 %", "violation[not-paused]");
    assert!(change("what=run", "").contains("triggered; a scheduler of the group will run it once"));
    until("it runs", || owner.get(&job().unwrap()).contains("what=stop"));
    let said = change("what=stop", "");
    assert!(said.contains(": stopped on "), "violation[not-stopped] {said}");
    let shown = owner.get(&job().unwrap());
    assert!(shown.contains("what=resume"), "{shown}");
    let said = change("what=resume", "");
    assert!(said.ends_with(": resumed"), "{said}");

    let log = jobs(&["log"]);
    let told: Vec<_> = log.iter().map(|one| one["action"].as_str().unwrap_or_default()).collect();
    assert_eq!(told, ["pause", "trigger", "stop", "resume"], "{log:?}");
    let by = |one: &serde_json::Value| one["by"].as_str().unwrap_or_default().to_owned();
    assert!(
        log.iter().all(|one| by(one).contains(" on ") && by(one).ends_with(" (cotter dashboard)")),
        "{log:?}"
    );
    assert_eq!((&log[0]["job"], &log[0]["about"]), (&name.into(), &"<b>why</b> 100 %".into()));

    let said = change("what=pause", "&for=2h");
    assert!(said.contains(": paused; no slots are started before "), "{said}");
    let again = job().unwrap().replace("/job?", "/job/change?") + "&what=pause";
    assert!(owner.press(&again, "&for=1h").contains("was paused already until "));
    let (action, with) = owner.form("/job/change?group=g&name=a&what=pause");
    let answer = owner.post(&action, &with, "&for=soon");
    assert!(status(&answer) == "400" && answer.contains("Nothing was changed."), "{answer}");

    for (path, code) in [
        ("/job/change?group=g&name=other&what=pause", "409"),
        ("/job/change?group=g&name=other&what=stop", "409"),
    ] {
        let (action, with) = owner.form(path);
        let answer = owner.post(&action, &with, "");
        assert_eq!(status(&answer), code, "{answer}");
        assert!(answer.contains("has no job &#34;other&#34;"), "{answer}");
    }
    assert_eq!(status(&owner.get("/job/change?group=other&name=a&what=run")), "404");
    assert_eq!(status(&owner.get("/job/change?group=g&name=a&what=forget")), "400");
    assert_eq!(jobs(&["log"]).len(), 5, "violation[a-page-that-asks-has-done-it]");
    schedule.signal(Signal::TERM);
    schedule.end().code(0);
}
