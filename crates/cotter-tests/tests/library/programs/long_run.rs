//! The program whose drivers take longer to build than everything else: `scripts/programs --long` does so.

use super::Program;
use cotter_testkit::servers::Postgres;

#[test]
#[ignore = "needs postgres and scripts/programs --long"]
fn each_pool_has_fenced_updates_and_locks_in_its_transactions() {
    let server = Postgres::start();
    server.migrate("");
    server.sql("create table orders (id bigint primary key, state text default 'open', fence bigint not null default 0)");
    server.sql("insert into orders (id) select generate_series(1, 5); grant all on orders to app");
    let mut pools = Program::start("pools", &[], &[("DATABASE_URL", &server.url(""))]);
    assert_eq!(pools.ends(), Some(0), "{:#?}", pools.lines(""));
    for pool in ["sqlx", "deadpool", "diesel", "diesel-async", "sea-orm"] {
        pools.says(&format!("{pool}: the newest holder writes, an older one does not; 1 cleared"));
    }
}
