//! Commands under locks of a real etcd.

use crate::bench::measures_and_leaves_nothing;
use crate::elect::the_next_leads_after_a_kill;
use crate::env::TestEnv;
use crate::schedule::a_job_runs_and_is_recorded;
use cotter_testkit::servers::Etcd;

#[test]
#[ignore = "needs etcd"]
fn a_lock_is_listed_shown_and_evicted() {
    let (server, env) = (Etcd::start(1), TestEnv::new());
    let url = server.url("");
    let at = |args: &[&str]| env.run([&["--url", &url], args].concat());
    let script = "echo $COTTER_TOKEN; exec sleep 600";
    let run =
        ["--url", &url, "run", "--label", "deploy", "--ttl", "5s", "orders/night", "--", "sh", "-c", script];
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

    at(&["evict", "--now", "orders/night"]).code(0);
    let ended = run.end();
    assert!(ended.stderr.contains("evicted"), "{ended:?}");
    at(&["run", "-n", "orders/night", "true"]).code(0);
    assert!(at(&["list", "--json"]).code(0).json().is_empty());
}

#[test]
#[ignore = "needs etcd"]
fn the_doctor_tells_versions_and_members() {
    let (mut server, env) = (Etcd::start(3), TestEnv::new());
    let url = server.url("timeout=500ms&connect_timeout=500ms");
    let healthy = env.run(["--url", &url, "doctor"]);
    assert!(healthy.stdout.contains("sees a leader") || healthy.stdout.contains("version 3."), "{healthy:?}");
    assert!(healthy.stdout.contains("lists 3 members"), "{healthy:?}");
    server.kill(2);
    let missing = env.run(["--url", &url, "doctor"]).stdout;
    assert!(missing.contains("does not answer"), "{missing}");
}

/// Somebody has put it there by hand: nothing of cotter's ends it, so whoever waits for the name must be told.
#[test]
#[ignore = "needs etcd"]
fn a_key_without_a_lease_is_named_and_evicted() {
    let (server, env) = (Etcd::start(1), TestEnv::new());
    let url = server.url("");
    let at = |args: &[&str]| env.run([&["--url", &url], args].concat());
    let claim = format!("w{:032x}", 7);
    for last in ["by-hand", &claim] {
        let key = format!("cotter/lock/orders/{last}");
        server.ctl(&["put", &key, "text"]);
        for run in [&["run", "-n", "orders", "true"], &["run", "--wait=300ms", "orders", "true"][..]] {
            at(run).code(75).one_line(&["orders", "held by a key without a lease", &key]);
        }
        let shown = at(&["show", "orders"]).code(0).stdout;
        assert!(shown.contains(&format!("a key without a lease: {key}")), "{shown}");
        let found = at(&["doctor"]).stdout;
        assert!(found.contains(&key) && found.contains("cotter evict"), "{found}");
        let evicted = at(&["evict", "orders"]).code(0).stdout;
        assert!(evicted.contains("no longer holds the lock") && !evicted.contains("renewal"), "{evicted}");
        at(&["run", "-n", "orders", "true"]).code(0).silent();
        assert!(!at(&["doctor"]).stdout.contains("without a lease"));
    }
}

/// The server reads as before, so nothing but the refusal says why the lock does not come.
#[test]
#[ignore = "needs etcd"]
fn a_refusal_is_told_while_it_waits() {
    let (server, env) = (Etcd::start(1), TestEnv::new());
    let full = r#"{"action": "ACTIVATE", "memberID": "1", "alarm": "NOSPACE"}"#;
    server.http("POST", "/v3/maintenance/alarm", full);
    let mut run = env.start(["--url", &server.url(""), "run", "-w", "5m", "a", "--", "echo", "ran"]);
    let line = run.error_line();
    assert!(line.starts_with("cotter: waiting for a: "), "{line}");
    assert!(line.contains("database space exceeded"), "{line}");
    server.ctl(&["alarm", "disarm"]);
    let output = run.end().code(0);
    assert_eq!((&*output.stdout, output.stderr.lines().count()), ("ran\n", 1), "{output:?}");
}

#[test]
#[ignore = "needs etcd"]
fn the_next_candidate_leads_after_a_kill() {
    let (server, env) = (Etcd::start(1), TestEnv::new());
    the_next_leads_after_a_kill(&env, &server.url(""));
}

#[test]
#[ignore = "needs etcd"]
fn a_password_for_a_url_of_etcd_is_read_from_its_file() {
    let env = TestEnv::new();
    let file = env.path("password");
    std::fs::write(&file, "secret\n").unwrap();
    let file = file.to_str().unwrap();
    // A password without a user: the store has read it, and the message does not repeat it.
    let output = env.run(["--url", "etcd://127.0.0.1:1", "--password-file", file, "list"]);
    assert!(output.stderr.contains("no user name") && !output.stderr.contains("secret"), "{output:?}");
}

#[test]
#[ignore = "needs etcd"]
fn it_is_measured_and_jobs_keep_their_notes_there() {
    let server = Etcd::start(1);
    let keys = || {
        let keys = server.ctl(&["get", "--prefix", "--keys-only", "cotter/lock/"]);
        keys.lines().filter(|line| !line.is_empty()).count()
    };
    measures_and_leaves_nothing(&server.url(""), keys);
    a_job_runs_and_is_recorded(&TestEnv::on(server.url("")));
}

#[test]
#[ignore = "needs etcd"]
fn a_user_of_a_cluster_without_logins_is_a_mistake_in_the_url() {
    let (server, env) = (Etcd::start(1), TestEnv::new());
    let url = server.url("").replacen("://", "://ann@", 1);
    let output = env.run(["--url", &url, "list"]).code(78).one_line(&["leave the user out of the URL"]);
    assert_eq!(output.stderr.matches("etcd:").count(), 0, "{output:?}");
}
