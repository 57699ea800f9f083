//! The commands on an SQLite database.

use crate::bench::measures_and_leaves_nothing;
use crate::databases::works;
use crate::env::TestEnv;

fn on_sqlite() -> TestEnv {
    let mut env = TestEnv::new();
    env.store = Some(format!("sqlite://{}", env.path("locks.db").display()));
    env
}

#[test]
fn a_database_is_made_on_request_only() {
    let env = on_sqlite();
    let refused = env.run(["run", "a", "true"]).code(78).one_line(&["locks.db"]);
    assert!(refused.stderr.ends_with("; create it with `cotter migrate`\n"), "{refused:?}");
    assert!(!env.path("locks.db").exists());
    let printed = env.run(["migrate", "--print"]).code(0).silent().stdout;
    assert!(printed.contains("CREATE TABLE IF NOT EXISTS cotter_locks"), "{printed}");
    assert!(!env.path("locks.db").exists());
    env.run(["migrate"]).code(0);
    env.run(["run", "a", "true"]).code(0).silent();
    let doctor = env.run(["doctor"]).code(0).silent().stdout;
    assert!(doctor.contains("this host") && doctor.contains("WAL"), "{doctor}");
}

#[test]
fn the_commands_work() {
    let env = on_sqlite();
    env.run(["migrate"]).code(0);
    works(&env);
}

#[test]
fn it_is_measured() {
    let env = TestEnv::new();
    let url = format!("sqlite://{}", env.path("measured.db").display());
    TestEnv::on(url.clone()).run(["migrate"]).code(0);
    measures_and_leaves_nothing(&url, || 0);
}

#[test]
fn migrate_does_not_advise_itself() {
    let env = TestEnv::new();
    let url = format!("sqlite://{}", env.path("nowhere/locks.db").display());
    let output =
        env.run(["--url", &url, "migrate"]).code(78).one_line(&["nowhere/locks.db", "directory", "make it"]);
    assert!(!output.stderr.contains("cotter migrate"), "{output:?}");
}
