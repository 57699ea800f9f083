//! Workers on Redis.

use super::http::ask;
use super::{Program, number_after};
use cotter::Client;
use cotter_testkit::servers::{Redis, free_port};
use cotter_testkit::timing::until;
use std::collections::BTreeSet;

fn worker(url: &str) -> (Program, String) {
    let address = format!("127.0.0.1:{}", free_port());
    let worker = Program::start("mail", &[], &[("REDIS_URL", url), ("METRICS", &address)]);
    worker.says("waiting for letters");
    (worker, address)
}

fn push(server: &Redis, letter: &str) {
    server.command(&["lpush", "letters", letter]);
}

#[test]
#[ignore = "needs redis-server and scripts/programs"]
fn a_customer_gets_one_letter_at_a_time() {
    let server = Redis::start();
    let url = server.open_url("");
    let ((mut one, address), (mut other, address_of_other)) = (worker(&url), worker(&url));
    let guard = Client::connect(&url).wait().unwrap().mutex("customer:9").lock().wait().unwrap();
    push(&server, "9 held");
    let is_busy =
        |address| ask(address, "GET /metrics").text.contains("cotter_lock_busy_total{lock=\"customer\"} ");
    until("a worker has found the customer taken", || is_busy(&address) || is_busy(&address_of_other));
    assert!(one.lines("sent: held").is_empty() && other.lines("sent: held").is_empty());
    let first = guard.token().get();
    guard.finish().wait().unwrap();
    for letter in 0..4 {
        push(&server, &format!("9 letter {letter}"));
    }
    let sent = || [one.lines("sent: "), other.lines("sent: ")].concat();
    until("all are sent", || sent().len() == 5);
    let tokens: BTreeSet<_> = sent().iter().map(|line| number_after(line, "token")).collect();
    assert!(tokens.len() == 5 && tokens.first() > Some(&first), "{:#?}", sent());
    let metrics = ask(&address, "GET /metrics").text;
    assert!(metrics.contains("cotter_lock_wait_seconds_bucket{lock=\"customer\""), "{metrics}");
    one.terminate();
    other.terminate();
    assert_eq!(server.command(&["exists", "letters", "letters:taken"]), "0");
}
