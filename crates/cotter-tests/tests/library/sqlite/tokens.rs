//! The tokens of tickets, while the clock stands still: each is larger than all that anybody has seen.

use super::place::Place;
use crate::tickets::{an_undone_adoption_gives_back_none, gives_back_no_used_token};
use cotter::ManualClock;
use std::time::Duration;

const S: Duration = Duration::from_secs(1);

#[test]
fn a_released_ticket_gives_back_no_token_that_was_used() {
    let (clock, place) = (ManualClock::new(), Place::new());
    gives_back_no_used_token(&clock, &place.client_on(&clock), &place.client_on(&clock));
}

#[test]
fn an_adoption_that_is_undone_gives_back_no_token() {
    let place = Place::new();
    an_undone_adoption_gives_back_none(&ManualClock::new(), place.store());
}

/// Nobody resumes the ticket, and its counter is ahead of the clock, as after a step back.
#[test]
fn a_ticket_that_nobody_resumes_keeps_its_token() {
    let (clock, place) = (ManualClock::new(), Place::new());
    let (one, other) = (place.client_on(&clock), place.client_on(&clock));
    let ticket = one.mutex("a").lock().wait().unwrap().into_ticket(S * 60).wait().unwrap();
    drop(one);
    place.run("UPDATE cotter_locks SET last_token = last_token + 1000000000");
    clock.advance(S * 61);
    let next = other.mutex("a").try_lock().wait().unwrap().expect("violation[left-behind]");
    assert!(next.token().get() > ticket.token().get() + 1_000_000_000, "violation[repeated-token]: {next:?}");
}
