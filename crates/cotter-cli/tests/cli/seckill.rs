//! `cotter demo seckill`.

use crate::env::{Output, Running, TestEnv, is_alive};
use crate::plays::{children, kinds, parts, play};
#[cfg(feature = "etcd")]
use cotter_testkit::servers::Etcd;
#[cfg(feature = "mysql")]
use cotter_testkit::servers::Mariadb;
#[cfg(feature = "postgres")]
use cotter_testkit::servers::Postgres;
use cotter_testkit::servers::Redis;
#[cfg(feature = "zookeeper")]
use cotter_testkit::servers::ZooKeeper;
use cotter_testkit::sized;
use cotter_testkit::timing::until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// How often a demonstration is repeated at full length.
const LONG: usize = 20;

fn seckill(env: &TestEnv, url: &str, options: &[&str]) -> Output {
    play(env, url, "seckill", options)
}

/// What whoever uses this protocol is told, once for all processes.
const FLAWS: [&str; 4] = ["three flaws", "clocks", "overwrite", "late release"];

fn token(sale: &Value) -> u64 {
    sale["token"].as_str().expect("a token is a string").parse().unwrap()
}

/// A sale on this store is exact, again and again.
#[track_caller]
pub(crate) fn exact(env: &TestEnv, url: &str, options: &[&str], times: usize) {
    for _ in 0..times {
        let output = seckill(env, url, options).code(0);
        let output = if url.contains("getset") { output.one_line(&FLAWS) } else { output.silent() };
        let (audit, sales) = parts(&output, "sale");
        assert_eq!(audit["clean"], true, "{output:?}");
        assert_eq!(
            [&audit["sold"], &audit["sold_out"], &audit["answered"]],
            [&10.into(), &90.into(), &Value::from(100)]
        );
        let left: Vec<_> = sales.iter().map(|sale| sale["remaining"].as_u64().unwrap()).collect();
        assert_eq!(left, (0..10).rev().collect::<Vec<_>>());
        assert!(sales.windows(2).all(|w| token(&w[0]) < token(&w[1])), "{output:?}");
    }
}

#[test]
fn exact_on_files() {
    let env = TestEnv::new();
    exact(&env, &env.url(), &[], sized(3, LONG));
    exact(&env, &env.url(), &["--processes", "4", "--item", "a 'quoted' item"], 1);
    exact(&env, "memory:", &["--processes", "1"], 1);
}

#[test]
fn lines_for_people() {
    let env = TestEnv::new();
    let output = env.run(["demo", "seckill", "--buyers", "5", "--stock", "2"]).code(0).silent();
    let lines: Vec<_> = output.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{output:?}");
    assert!(lines[0].contains(" bought iPhone 7: 1 left, token "), "{output:?}");
    let due = "audit: clean: sold 2 of 2, in order, tokens increasing; 3 told \"sold out\"; 5 of 5 answered";
    assert_eq!(lines[2], due);
}

#[test]
fn without_a_lock_it_oversells_and_says_by_how_much() {
    let env = TestEnv::new();
    // All have read the stock long before the first writes it back.
    let output = seckill(&env, &env.url(), &["--lock", "off", "--work", "500ms"]).code(1).silent();
    let (audit, sales) = parts(&output, "sale");
    assert_eq!(kinds(&audit), ["oversold", "out_of_order"], "{output:?}");
    assert_eq!(sales.len(), 100);
    assert_eq!(audit["findings"][0]["message"], "oversold by 90: 100 sold, 10 in stock");
    assert!(sales.iter().all(|sale| sale["token"].is_null()));
}

#[test]
fn what_makes_no_sense_is_refused_in_one_line() {
    let env = TestEnv::new();
    for (url, options, says) in [
        (env.url(), &["--lock", "check-then-del"][..], "use a redis:// or unix: store"),
        ("memory:".into(), &[], "--processes 1"),
        (env.url(), &["--item", "a\nb"], "control"),
    ] {
        seckill(&env, &url, options).code(64).one_line(&[says]);
    }
    env.run(["demo", "seckill", "--buyers", "0"]).code(64);
    let gone = ["--lock", "check-then-del"];
    seckill(&env, "redis://127.0.0.1:1", &gone).code(69).one_line(&["cannot be reached"]);
    seckill(&env, "redis://127.0.0.1:1", &[]).code(69);
}

#[test]
fn a_signal_ends_all_processes_and_gives_the_lock_back() {
    let env = TestEnv::new();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::KILL, -9)] {
        let mut sale = env.start(["demo", "seckill", "--work", "100ms", "--stock", "50"]);
        sale.line();
        let children = children(sale.pid());
        assert_eq!(children.len(), 2);
        sale.signal(signal);
        sale.end().code(code).silent();
        until("no buyer is left", || !children.iter().any(|pid| is_alive(*pid)));
        exact(&env, &env.url(), &[], 1);
    }
}

#[test]
#[ignore = "needs redis-server"]
fn exact_on_redis_in_every_mode() {
    let redis = Redis::start();
    let env = TestEnv::new();
    for mode in ["native", "plain", "getset", "redisson", "redisson&recipe=fair"] {
        let url = redis.url(&format!("mode={mode}"));
        exact(&env, &url, &[], sized(1, LONG));
    }
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "needs postgres"]
fn exact_on_postgres_in_every_mode() {
    let server = Postgres::migrated();
    for mode in ["lease", "row", "advisory", "shedlock"] {
        let url = server.url(&format!("mode={mode}"));
        exact(&TestEnv::new(), &url, &["--work", "1ms"], 1);
    }
}

#[cfg(feature = "mysql")]
#[test]
#[ignore = "needs mariadbd"]
fn exact_on_mariadb_in_every_mode() {
    let server = Mariadb::migrated();
    for mode in ["lease", "row", "advisory", "shedlock"] {
        let url = server.url(&format!("mode={mode}"));
        exact(&TestEnv::new(), &url, &["--work", "1ms"], 1);
    }
}

#[cfg(feature = "etcd")]
#[test]
#[ignore = "needs etcd"]
fn exact_on_etcd() {
    let server = Etcd::start(1);
    exact(&TestEnv::new(), &server.url(""), &["--work", "1ms"], 1);
}

#[cfg(feature = "zookeeper")]
#[test]
#[ignore = "needs zookeeper"]
fn exact_on_zookeeper() {
    let server = ZooKeeper::start(1);
    exact(&TestEnv::new(), &server.url(""), &["--work", "1ms"], 1);
}

#[test]
fn exact_on_sqlite() {
    let env = TestEnv::new();
    let url = format!("sqlite://{}", env.path("locks.db").display());
    TestEnv::on(url.clone()).run(["migrate"]).code(0);
    exact(&env, &url, &[], 1);
}

#[test]
#[ignore = "needs redis-server"]
fn a_lease_that_is_shorter_than_the_sale_is_found() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let url = redis.url("mode=getset");
    exact(&env, &url, &["--ttl", "2s", "--work", "1ms"], sized(1, LONG));
    for _ in 0..sized(1, LONG) {
        // 100 ms are enough for 1 ms of work, but for those who are kept waiting by the machine; and that is said.
        let output = seckill(&env, &url, &["--ttl", "100ms", "--work", "1ms"]).one_line(&FLAWS);
        let audit = parts(&output, "sale").0;
        let found = kinds(&audit);
        assert!(found.is_empty() || found.contains(&"lease_ended"), "{found:?}");
    }
    // 10 ms never are for 20.
    let output = seckill(&env, &url, &["--ttl", "10ms", "--work", "20ms"]).code(1).one_line(&FLAWS);
    assert!(kinds(&parts(&output, "sale").0).contains(&"lease_ended"), "{output:?}");
}

#[test]
#[ignore = "needs redis-server"]
fn check_then_del_frees_the_locks_of_others() {
    let redis = Redis::start();
    let env = TestEnv::new();
    let socket = format!("unix:{}", redis.socket().display());
    // As programs do it that are not cotter's, with commands of which its users need nothing.
    for url in [redis.open_url("mode=plain"), socket] {
        let options = ["--lock", "check-then-del", "--buyers", "20"];
        for _ in 0..sized(1, LONG) {
            let output = seckill(&env, &url, &options).code(1);
            assert!(kinds(&parts(&output, "sale").0).contains(&"wrong_release"), "{output:?}");
        }
    }
}

#[test]
#[ignore = "needs redis-server"]
fn a_password_stays_out_of_the_arguments() {
    let redis = Redis::builder().with("requirepass", "s3cret").start();
    let env = TestEnv::new();
    let url = format!("redis://:s3cret@127.0.0.1:{}", redis.port());
    let mut command = env.cotter(["demo", "seckill", "--work", "50ms"]);
    let mut sale = Running::start(command.env("COTTER_URL", url));
    sale.line();
    let children = children(sale.pid());
    assert_eq!(children.len(), 2);
    for pid in children {
        let proc = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        let arguments = fs::read(proc.join("cmdline")).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains("s3cret"));
    }
    sale.end().code(0).silent();
}

#[test]
fn without_a_temporary_folder_it_is_said_what_to_set() {
    let env = TestEnv::new();
    for demo in ["seckill", "clear-orders"] {
        let mut command = env.cotter(["demo", demo]);
        let output = Running::start(command.env("TMPDIR", "/nowhere")).end().code(78);
        output.one_line(&["cannot create a temporary folder", "set TMPDIR"]);
    }
}
