//! The commands on a PostgreSQL database.

use crate::bench::measures_and_leaves_nothing;
use crate::databases::works;
use crate::env::TestEnv;
use cotter_testkit::servers::{Postgres, Splitter};

#[test]
#[ignore = "needs postgres"]
fn the_commands_work() {
    let server = Postgres::migrated();
    let env = TestEnv::on(server.url_of("owner", "prefix=commands"));
    env.run(["migrate"]).code(0);
    works(&env);
}

#[test]
#[ignore = "needs postgres"]
fn it_is_measured() {
    let server = Postgres::migrated();
    let url = server.url_of("owner", "prefix=measured");
    TestEnv::on(url.clone()).run(["migrate"]).code(0);
    measures_and_leaves_nothing(&url, || 0);
}

/// Not 1, which the command itself might have returned.
#[test]
#[ignore = "needs postgres"]
fn a_row_that_is_missing_in_a_table_of_the_users_is_78() {
    let server = Postgres::migrated();
    let env = TestEnv::on(server.url("mode=row&table=cotter_lock&column=name"));
    for command in [&["run"][..], &["run", "-n"], &["elect"]] {
        let output = env.run([command, &["missing", "true"]].concat()).code(78);
        output.one_line(&["no row whose name is exactly 'missing'", "INSERT INTO cotter_lock"]);
    }
}

/// Where reads are answered by a replica that is behind, a command is not run a second time.
#[test]
#[ignore = "needs postgres"]
fn a_slot_is_not_run_again_because_of_an_old_note() {
    let server = Postgres::migrated();
    let env = TestEnv::on(Splitter::careless_before_postgres(&server).url(""));
    let run = ["run", "--slot", "monday", "an old note", "--", "echo", "ran"];
    assert_eq!(env.run(run).code(0).stdout, "ran\n");
    let refused = env.run(run).code(78);
    assert_eq!(refused.stdout, "");
    refused.one_line(&["out of date", "replica"]);
}
