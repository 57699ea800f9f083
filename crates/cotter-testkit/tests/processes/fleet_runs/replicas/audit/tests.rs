//! The checker finds what is wrong with tokens, and that too little has happened.

use super::super::fleet::Plan;
use super::*;
use cotter_testkit::replica::DELAY;

/// Starts of one job, by process and token, each for a slot of its own.
fn found(starts: &[(u32, u64)], stopped: &[u32]) -> Vec<String> {
    let line = |(n, (process, token)): (usize, &(u32, u64))| Line {
        what: "started".to_owned(),
        job: DELAY.to_owned(),
        one_shot: None,
        process: *process,
        slot: format!("slot {n}"),
        token: *token,
        at: n as u64,
    };
    let done = Done { stopped: stopped.iter().copied().collect(), ..Done::default() };
    let audit = Audit { lines: starts.iter().enumerate().map(line).collect(), done: &done };
    // The history, which is empty, does not matter here.
    audit.violations().into_iter().filter(|why| why.contains("token")).collect()
}

#[test]
fn tokens_that_rise_are_right() {
    assert_eq!(found(&[(1, 3), (2, 4), (1, 9)], &[]), [""; 0]);
}

#[test]
fn a_token_of_two_runs_is_found() {
    let wanted = "delay: slot 0 and slot 1 were started under token 3";
    assert_eq!(found(&[(1, 3), (2, 3)], &[]), [wanted]);
    assert_eq!(found(&[(1, 3), (1, 3)], &[1]), [wanted]);
    let late = found(&[(1, 3), (2, 4), (1, 3)], &[1]);
    assert_eq!(
        late,
        ["delay: slot 0 and slot 2 were started under token 3"],
        "it was stopped, and that is no excuse"
    );
}

#[test]
fn a_smaller_token_is_found_unless_its_process_was_stopped() {
    let starts = [(1, 3), (2, 5), (1, 4), (2, 6)];
    assert_eq!(
        found(&starts, &[2]),
        ["delay: 1 has started slot 2 under token 4 after 5, and was never stopped"]
    );
    assert_eq!(found(&starts, &[1]), [""; 0]);
}

#[test]
fn a_run_without_faults_does_not_count() {
    let plan = Plan { each: 10, ..Plan::default() };
    let done = |kills, stops, restarts| Done { kills, stops, restarts, ..Done::default() };
    assert_eq!(done(9, 10, 1).lacks(&plan, true), Some("too few kills"));
    assert_eq!(done(10, 9, 1).lacks(&plan, true), Some("too few stops"));
    assert_eq!(done(10, 10, 0).lacks(&plan, true), Some("no restart of the store"));
    assert_eq!(done(10, 10, 0).lacks(&plan, false), None, "files have no server");
    assert_eq!(done(10, 10, 1).lacks(&plan, true), None);
}
