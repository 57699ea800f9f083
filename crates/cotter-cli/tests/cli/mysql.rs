//! The commands on a MariaDB database.

use crate::bench::measures_and_leaves_nothing;
use crate::databases::works;
use crate::env::{Running, TestEnv};
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Mariadb;

#[test]
#[ignore = "needs mariadbd"]
fn tables_are_made_on_request_only() {
    let server = Mariadb::start();
    let env = TestEnv::on(server.url_of("owner", ""));
    env.run(["run", "a", "true"]).code(78).one_line(&["cotter migrate", "cotter_locks"]);
    let printed = env.run(["migrate", "--print"]).code(0).silent().stdout;
    assert!(printed.contains("CREATE TABLE IF NOT EXISTS `cotter_locks`"), "{printed}");
    env.run(["run", "a", "true"]).code(78);
    env.run(["migrate"]).code(0);
    env.run(["migrate"]).code(0);
    env.run(["run", "a", "true"]).code(0).silent();
    let findings = env.run(["doctor"]).stdout;
    // The server of the tests does not wait for the disk, and doctor has to say so.
    assert!(findings.contains("innodb_flush_log_at_trx_commit = 2"), "{findings}");
}

#[test]
#[ignore = "needs mariadbd"]
fn the_commands_work() {
    let server = Mariadb::migrated();
    let env = TestEnv::on(server.url_of("owner", "prefix=commands"));
    env.run(["migrate"]).code(0);
    works(&env);
}

#[test]
#[ignore = "needs mariadbd"]
fn it_is_measured() {
    let server = Mariadb::migrated();
    let url = server.url_of("owner", "prefix=measured");
    TestEnv::on(url.clone()).run(["migrate"]).code(0);
    measures_and_leaves_nothing(&url, || 0);
}

/// A process that ends says goodbye to the server, which would count and log it otherwise.
#[test]
#[ignore = "needs mariadbd"]
fn the_end_of_a_process_is_nothing_that_the_server_logs() {
    let server = Mariadb::start();
    server.migrate_all();
    for options in ["", "mode=row", "mode=advisory", "mode=shedlock"] {
        let env = TestEnv::new();
        for _ in 0..4 {
            let cotter =
                Running::start(env.cotter(["run", "-n", "a", "true"]).env("COTTER_URL", server.url(options)));
            cotter.end().code(0);
        }
        let aborted = server.sql("SHOW GLOBAL STATUS LIKE 'Aborted_clients'");
        demand(
            aborted == "Aborted_clients\t0",
            Kind::Untrue,
            format!("{options}: nothing was aborted: {aborted}"),
        );
    }
}
