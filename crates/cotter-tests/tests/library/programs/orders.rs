//! An HTTP service beside sqlx, on the database of both.

use super::Program;
use super::http::{Answer, ask};
use cotter::Client;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Postgres;
use cotter_testkit::timing::until;
use std::thread;

/// A database with the tables of the service, and some orders.
fn database() -> (Postgres, String) {
    let server = Postgres::start();
    let url = server.url_of("owner", "");
    // By each pod that starts.
    let mut migrations = [(); 3].map(|()| Program::start("orders", &["migrate"], &[("DATABASE_URL", &url)]));
    for migration in &mut migrations {
        assert_eq!(migration.ends(), Some(0), "{:#?}", migration.lines(""));
    }
    server.sql("insert into orders (id) select generate_series(1, 20)");
    (server, url)
}

struct Replica {
    program: Program,
    address: String,
}

impl Replica {
    fn start(url: &str) -> Self {
        let program = Program::start("orders", &[], &[("DATABASE_URL", url), ("LISTEN", "127.0.0.1:0")]);
        let line = program.says("listening on ");
        let address = line.rsplit(' ').next().expect("an address").to_owned();
        Self { program, address }
    }

    fn pay(&self, order: u32) -> Answer {
        ask(&self.address, &format!("POST /orders/{order}/pay"))
    }
}

fn client(url: &str) -> Client {
    Client::connect(url).wait().expect("it is there")
}

#[test]
#[ignore = "needs postgres and scripts/programs"]
fn an_order_is_paid_once_whoever_asks() {
    let (server, url) = database();
    let replicas = [Replica::start(&url), Replica::start(&url)];
    let mut answers: Vec<_> = thread::scope(|scope| {
        let asked: Vec<_> = (0..4)
            .map(|n| {
                scope.spawn({
                    let replica = &replicas[n % 2];
                    move || replica.pay(7)
                })
            })
            .collect();
        asked.into_iter().map(|asked| asked.join().expect("it answers").status).collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 409, 409, 409]);
    assert_eq!(server.sql("select order_id, receipt from payments").trim(), "7|receipt 7");
    assert_eq!(server.sql("select state from orders where fence > 0").trim(), "paid");
    assert_eq!(replicas[0].pay(21).status, 404);
}

#[test]
#[ignore = "needs postgres and scripts/programs"]
fn what_stands_in_the_way_is_told() {
    let (mut server, url) = database();
    let (replica, other) = (Replica::start(&url), client(&url));
    let guard = other.mutex("order:1").lock().wait().expect("it is free");
    let answer = replica.pay(1);
    assert!(answer.status == 409 && answer.text.contains("another request"), "{}", answer.text);
    guard.finish().wait().expect("nobody took it");
    // A later holder has written meanwhile, as after a pause that was longer than the lease.
    server.sql(&format!("update orders set fence = {} where id = 2", i64::MAX));
    assert_eq!(replica.pay(2).status, 409);
    assert_eq!(server.sql("select state from orders where id = 2").trim(), "open");
    assert_eq!(server.sql("select count(*) from payments").trim(), "0");
    let metrics = ask(&replica.address, "GET /metrics").text;
    for line in ["cotter_lock_busy_total{lock=\"order\"} 1", "cotter_lock_acquired_total{lock=\"order\"} 1"] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }
    assert_eq!(ask(&replica.address, "GET /health/ready").status, 200);
    server.kill();
    let answer = replica.pay(3);
    assert!(answer.status == 503 && answer.text.contains("retry-after: 5"), "{}", answer.text);
    assert!(!answer.text.contains("postgres"), "{}", answer.text);
    assert_eq!(ask(&replica.address, "GET /health/live").status, 200);
}

#[test]
#[ignore = "needs postgres and scripts/programs"]
fn a_replica_that_is_told_to_stop_answers_first() {
    let (_server, url) = database();
    let (mut replica, other) = (Replica::start(&url), client(&url));
    let is_held =
        || other.holder("order:1").wait().expect("it answers").is_some_and(|r| !r.holders.is_empty());
    let address = replica.address.clone();
    let asked = thread::spawn(move || ask(&address, "POST /orders/1/pay"));
    until("it is being paid", is_held);
    replica.program.terminate();
    assert_eq!(asked.join().expect("it answers").status, 200);
    replica.program.says("stopped");
    demand(!is_held(), Kind::LeftBehind, "the lock of a program that has ended");
}
