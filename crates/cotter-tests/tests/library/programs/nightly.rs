//! Replicas of a scheduler, whose job fails at the first attempt.

use super::Program;
use cotter_testkit::history::{Kind, demand};
use cotter_testkit::servers::Redis;
use cotter_testkit::timing::until;
use std::collections::BTreeSet;

/// The slot in a line of the log.
fn slot(line: &str) -> String {
    let (_, rest) = line.split_once(" for ").unwrap_or_else(|| panic!("no slot: {line}"));
    rest.chars().take_while(|&c| c != ' ' && c != ',').collect()
}

#[test]
#[ignore = "needs redis-server and scripts/programs"]
fn a_run_that_fails_is_repeated_and_each_slot_is_made_by_one_replica() {
    let server = Redis::start();
    let url = server.open_url("");
    let start = || Program::start("nightly", &[], &[("REDIS_URL", &url), ("IMPORT", "* * * * * ?")]);
    let mut replicas = [start(), start()];
    let lines =
        |replicas: &[Program; 2], part: &str| [replicas[0].lines(part), replicas[1].lines(part)].concat();
    until("three slots have succeeded", || lines(&replicas, ": ok").len() >= 3);
    replicas.iter_mut().for_each(Program::terminate);
    let said = lines(&replicas, "import: ");
    let of = |part: &str| {
        said.iter().filter(|line| line.contains(part)).map(|line| slot(line)).collect::<Vec<_>>()
    };
    for part in [": failed: orders.csv cannot be had: the server is busy", ": ok"] {
        let slots = of(part);
        let different: BTreeSet<_> = slots.iter().collect();
        assert!(different.len() >= 3, "{said:#?}");
        demand(different.len() == slots.len(), Kind::SlotTwice, format!("{said:#?}"));
    }
}
