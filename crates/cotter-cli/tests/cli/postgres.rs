//! The commands on a PostgreSQL database.

use crate::bench::measures_and_leaves_nothing;
use crate::databases::works;
use crate::env::TestEnv;
use cotter_testkit::servers::Postgres;

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
