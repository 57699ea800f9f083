//! Commands under locks of a real ZooKeeper.

use crate::bench::measures_and_leaves_nothing;
use crate::elect::the_next_leads_after_a_kill;
use crate::env::TestEnv;
use crate::schedule::a_job_runs_and_is_recorded;
use cotter_testkit::servers::ZooKeeper;

#[test]
#[ignore = "needs zookeeper"]
fn a_lock_is_listed_shown_and_evicted_and_the_doctor_looks() {
    let (server, env) = (ZooKeeper::start(1), TestEnv::new());
    let url = server.url("session=5s");
    let at = |args: &[&str]| env.run([&["--url", &url], args].concat());
    let script = "echo $COTTER_TOKEN; exec sleep 600";
    let run = ["--url", &url, "run", "--label", "deploy", "orders/night", "--", "sh", "-c", script];
    let mut run = env.start(run);
    let token = run.line();
    at(&["run", "-n", "orders/night", "true"]).code(75);

    let listed = at(&["list", "--json"]).code(0).json();
    let holder = &listed[0]["holders"][0];
    assert_eq!(
        (listed.len(), &listed[0]["name"], &listed[0]["waiters"]),
        (1, &"orders/night".into(), &0.into())
    );
    assert_eq!((&holder["token"], &holder["mode"]), (&token.as_str().into(), &"exclusive".into()));
    assert!(holder["label"].as_str().unwrap().ends_with("(deploy)"), "{holder}");
    let shown = at(&["show", "orders/night"]).code(0).stdout;
    assert!(shown.contains("(deploy)") && shown.contains(&token), "{shown}");

    at(&["evict", "orders/night"]).code(0);
    let ended = run.end();
    assert!(ended.stderr.contains("evicted"), "{ended:?}");
    at(&["run", "-n", "orders/night", "true"]).code(0);
    at(&["run", "-s", "-n", "orders/night", "true"]).code(0);
    assert!(at(&["list", "--json"]).code(0).json().is_empty());

    let doctor = at(&["doctor"]).stdout;
    for said in ["lists one member", "session timeout is 5s", "has version 3.", "mode standalone"] {
        assert!(doctor.contains(said), "{said}: {doctor}");
    }
    let long = env.run(["--url", &server.url("session=10m"), "doctor"]).stdout;
    assert!(long.contains("the servers granted 120s"), "{long}");
    the_next_leads_after_a_kill(&env, &server.url("session=2s"));
}

#[test]
#[ignore = "needs zookeeper"]
fn a_password_for_a_url_of_zookeeper_is_read_from_its_file() {
    let env = TestEnv::new();
    let file = env.path("password");
    std::fs::write(&file, "secret\n").unwrap();
    let file = file.to_str().unwrap();
    let output = env.run(["--url", "zookeeper://127.0.0.1:1", "--password-file", file, "list"]);
    assert!(output.stderr.contains("require a user name") && !output.stderr.contains("secret"), "{output:?}");
}

#[test]
#[ignore = "needs zookeeper"]
fn it_is_measured_and_jobs_keep_their_notes_there() {
    let server = ZooKeeper::start(1);
    let places = || {
        let mut nodes = server.nodes(0);
        let names = nodes.children("/cotter/lock");
        names.iter().map(|name| nodes.children(&format!("/cotter/lock/{name}")).len()).sum()
    };
    measures_and_leaves_nothing(&server.url("session=5s"), places);
    a_job_runs_and_is_recorded(&TestEnv::on(server.url("session=5s")));
}
