//! `cotter migrate`.

use crate::env::TestEnv;
#[cfg(feature = "postgres")]
use cotter_testkit::servers::Postgres;

#[cfg(feature = "postgres")]
#[test]
#[ignore = "needs postgres"]
fn it_creates_what_a_lock_needs_and_nothing_else_does() {
    let server = Postgres::start();
    let env = TestEnv::on(server.url_of("owner", ""));
    let lock = ["run", "a", "--", "true"];
    env.run(lock).code(78).one_line(&["cotter migrate", "cotter_lock"]);
    let printed = env.run(["migrate", "--print"]).code(0).silent().stdout;
    assert!(printed.contains("create table if not exists \"public\".cotter_lock"), "{printed}");
    let dropped = env.run(["migrate", "--print", "--drop"]).code(0).silent().stdout;
    assert!(dropped.contains("drop table if exists \"public\".cotter_lock,"), "{dropped}");
    env.run(lock).code(78);
    env.run(["migrate"]).code(0);
    env.run(["migrate"]).code(0);
    env.run(["migrate", "--drop"]).code(64);
    let shared = TestEnv::on(server.url_of("owner", "mode=shedlock")).run(["migrate", "--print", "--drop"]);
    assert_eq!(shared.code(0).one_line(&["not cotter's own"]).stdout, "");
    env.run(lock).code(0);
    let findings = env.run(["doctor"]).stdout;
    assert!(findings.contains("notifications"), "{findings}");
    // The server of the tests runs without fsync, and doctor has to say so.
    assert!(findings.contains("fsync = off"), "{findings}");
}

#[test]
fn other_stores_need_no_tables() {
    let env = TestEnv::new();
    env.run(["migrate"]).code(0).one_line(&["needs no tables"]);
    assert_eq!(env.run(["migrate", "--print"]).code(0).stdout, "");
    assert_eq!(env.run(["migrate", "--print", "--drop"]).code(0).one_line(&["needs no tables"]).stdout, "");
}
