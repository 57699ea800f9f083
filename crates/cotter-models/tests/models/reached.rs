//! The model is not true of nothing: what it is about does happen in it.

use crate::bounds::{Bounds, Fault};
use crate::check::reaches;
use crate::watch::Event;

#[test]
fn messages_grant_and_questions_recover_what_is_lost() {
    let kinds = [Fault::LostMessage, Fault::Pause];
    let events = [
        Event::GrantedByMessage,
        Event::LearnedByQuestion,
        Event::HandedOnAfterExpiry,
        Event::MessageRefused,
        Event::PausedPastDeadline,
    ];
    reaches(Bounds::new("contention", &[2, 1], &kinds, 1, 5), &events);
}

#[test]
fn unknown_grants_are_given_back() {
    let world = Bounds::new("giving up", &[1, 1], &[], 0, 2);
    reaches(Bounds { give_up: true, ..world }, &[Event::UnknownReturned]);
}

#[test]
fn the_deaf_are_passed_over_and_the_silent_dropped() {
    let kinds = [Fault::Unsubscribe, Fault::Crash];
    let events = [Event::PassedOver, Event::SilentDropped];
    reaches(Bounds::new("deaf and dead", &[1, 1, 1], &kinds, 1, 5), &events);
}
