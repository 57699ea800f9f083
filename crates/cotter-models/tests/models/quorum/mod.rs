//! The quorum, checked: with all rules in force no path breaks a promise, and for each rule left out the checker finds one
//! that does.
//!
//! | file | concept |
//! |---|---|
//! | `rules` | what is promised, and the rules that each can be left out |
//! | `state` | what a state consists of, and the steps between states |
//! | `client` | what clients do |
//! | `member` | what members do, and what happens to them |
//! | `symmetry` | states that differ only in the numbers of the members are one |
//! | `model` | all of it as a model to check |

mod client;
mod member;
mod model;
mod rules;
mod state;
mod symmetry;

use cotter_testkit::is_long;
use rules::{Promise, Rules};
use state::World;
use stateright::{Checker, Model};
use std::io::Write;

/// Leases end at any moment: nobody is promised anything but tokens.
fn tokens(rules: Rules) -> World {
    World { expiries: true, ..exclusion(rules) }
}

/// Leases outlive the belief of their holders.
fn exclusion(rules: Rules) -> World {
    World {
        rules,
        members: 3,
        attempts: vec![1, 1],
        restarts: 0,
        jumps: 0,
        spare_votes: 0,
        expiries: false,
        lost_answers: true,
    }
}

/// The same with five members. With lost answers as well, it is explored at full length only.
fn of_five(world: World) -> World {
    World { members: 5, lost_answers: is_long(), ..world }
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Explores every path of so many steps, which are more than it takes to break a promise without one of the rules. At full
/// length, it explores all paths.
fn keeps(world: World, depth: usize) {
    let (name, wide) = (format!("{world:?}"), world.members > 3);
    let checker = match is_long() {
        true => world.checker(),
        false => world.checker().target_max_depth(depth),
    };
    let checker = checker.threads(2).spawn_bfs().join();
    say(&format!("kept: {} states: {name}", checker.unique_state_count()));
    for promise in [Promise::Exclusion, Promise::Tokens, Promise::Renewal] {
        if let Some(path) = checker.discovery(promise.name()) {
            panic!("{} is broken under all rules: {name}\n{path}", promise.name());
        }
    }
    // Five members take so many steps to grant a name twice that not all paths of that length can be explored each time.
    let happened = if wide { "contended" } else { "granted twice" };
    assert!(checker.discovery(happened).is_some(), "nothing happened: {name}");
}

fn breaks(promise: Promise, world: World) {
    let name = format!("{world:?}");
    let found = std::collections::BTreeSet::from([promise.name()]);
    let checker =
        world.checker().threads(2).finish_when(stateright::HasDiscoveries::AnyOf(found)).spawn_bfs().join();
    let path = checker.discovery(promise.name());
    let path = path.unwrap_or_else(|| panic!("{} holds without the rule: {name}", promise.name()));
    say(&format!("found: {} in {} steps: {name}", promise.name(), path.into_actions().len()));
}

#[test]
fn tokens_are_unique_and_rise_whenever_leases_end() {
    keeps(tokens(Rules::ALL), 15);
    if is_long() {
        keeps(World { attempts: vec![2, 1], ..tokens(Rules::ALL) }, 15);
    }
}

#[test]
fn nobody_holds_it_beside_another() {
    keeps(exclusion(Rules::ALL), 15);
    if is_long() {
        keeps(World { attempts: vec![2, 1], ..exclusion(Rules::ALL) }, 15);
    }
}

#[test]
fn a_restart_breaks_neither() {
    keeps(World { restarts: 1, ..exclusion(Rules::ALL) }, 14);
}

#[test]
fn five_members_keep_both() {
    keeps(of_five(tokens(Rules::ALL)), 13);
    keeps(of_five(exclusion(Rules::ALL)), 14);
}

#[test]
fn five_members_without_write_back() {
    breaks(Promise::Tokens, of_five(tokens(Rules { write_back: false, ..Rules::ALL })));
}

#[test]
fn less_than_a_majority_of_five() {
    breaks(Promise::Exclusion, of_five(exclusion(Rules { majority: false, ..Rules::ALL })));
}

#[test]
fn without_write_back() {
    breaks(Promise::Tokens, tokens(Rules { write_back: false, ..Rules::ALL }));
}

#[test]
fn a_counter_raised_for_somebody_else() {
    breaks(Promise::Tokens, tokens(Rules { raise_only_ours: false, ..Rules::ALL }));
}

#[test]
fn a_renewal_by_newcomers() {
    breaks(Promise::Renewal, tokens(Rules { newcomers_wait: false, ..Rules::ALL }));
}

#[test]
fn less_than_a_majority() {
    breaks(Promise::Exclusion, exclusion(Rules { majority: false, ..Rules::ALL }));
}

#[test]
fn a_restart_without_abstinence() {
    breaks(Promise::Exclusion, World { restarts: 1, ..exclusion(Rules { abstinence: false, ..Rules::ALL }) });
}

#[test]
fn counters_that_were_lost_in_a_restart() {
    let rules = Rules { floor_after_abstinence: false, ..Rules::ALL };
    breaks(Promise::Tokens, World { restarts: 1, ..exclusion(rules) });
}

#[test]
fn one_claim_id_for_all_attempts() {
    let rules = Rules { new_claim_per_attempt: false, ..Rules::ALL };
    breaks(Promise::Exclusion, World { attempts: vec![2, 1], ..exclusion(rules) });
}

#[test]
fn a_bare_majority_and_a_clock_that_jumps() {
    breaks(Promise::Exclusion, World { jumps: 1, ..exclusion(Rules::ALL) });
}

/// A vote more than a majority is one that may be lost.
#[test]
fn a_clock_that_jumps_beside_a_spare_vote() {
    keeps(World { jumps: 1, spare_votes: 1, ..exclusion(Rules::ALL) }, 15);
}
