//! `cotter schedule --diff`.

use super::event;
use crate::env::TestEnv;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use rustix::system::uname;

const JOBS: &str = "[job.dump]\nfixed_rate = \"1h\"\nshell = \"true\"\non = \"role=db\"\n\
                    [job.old]\non_demand = true\nshell = \"true\"\n\
                    [job.report]\ncron = \"0 0 9 ? * MON-FRI\"\nshell = \"true\"\ngeneration = 3\n\
                    [job.tidy]\nfixed_rate = \"1h\"\nshell = \"true\"\non = \"each\"\n";

#[test]
fn a_file_is_compared_with_what_is_in_effect() {
    let env = TestEnv::new();
    let path = env.jobs(JOBS).to_str().unwrap().to_owned();
    let diff = |words: &[&str]| env.run([&["schedule", &path, "--diff"], words].concat());
    let own = format!("tidy@{}", uname().nodename().to_string_lossy());
    let all_new = format!("dump: new\nold: new\nreport: new\n{own}: new\n");
    assert_eq!(diff(&[]).code(1).silent().stdout, all_new);
    let mut run = env.start(["--json", "schedule", &path, "--label", "role=db"]);
    event(&mut run, "started");
    until("all are known", || diff(&[]).code == 0);
    run.signal(Signal::TERM);
    run.end().code(0);
    assert_eq!(diff(&[]).code(0).silent().stdout, "");
    let before = env.run(["--json", "jobs", "--group", "g", "list"]).code(0).stdout;

    let changed =
        JOBS.replace("[job.old]", "[job.new]").replace("MON-FRI", "MON").replace("generation = 3", "");
    env.jobs(&changed.replacen("\"true\"", "\"false\"\nretries = 2", 1));
    let host = uname().nodename().to_string_lossy().into_owned();
    let wanted = [
        "dump: retries 2 instead of the default, its work is another one, such as the command or its environment",
        "new: new",
        &format!(
            "report: trigger \"cron 0 0 9 ? * MON in UTC\" instead of \"cron 0 0 9 ? * MON-FRI in UTC\"; without effect: generation 3 of host {host} is larger"
        ),
        "old: not in the file",
        "",
    ];
    assert_eq!(diff(&[]).code(1).silent().stdout, wanted.join("\n"));
    let objects = diff(&["--json"]).code(1).json();
    let told: Vec<_> = objects.iter().map(|job| job["change"].as_str().unwrap()).collect();
    assert_eq!(told, ["changed", "new", "outranked", "not_in_file"]);
    assert_eq!(objects[0]["differences"][0]["file"], "2");
    let after = env.run(["--json", "jobs", "--group", "g", "list"]).code(0).stdout;
    assert_eq!(before, after, "nothing has changed");
    env.jobs("nothing");
    diff(&[]).code(78);
}
