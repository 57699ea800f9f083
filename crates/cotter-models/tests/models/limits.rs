//! What the protocol does not promise: with every rule in force the checker finds these, and the
//! promise that does hold in their place is kept.

use crate::bounds::{Bounds, Fault};
use crate::check::{keeps, limits};
use crate::rules::Promise;

/// A script looks at a bounded part of the queue. Deaf waiters that fill it hold up the living
/// behind them, until silence ends their places.
#[test]
fn deaf_waiters_beyond_one_walk_hold_up_the_living() {
    let world = |name, idle, dark| {
        let bounds = Bounds::new(name, &[1, 1, 1], &[Fault::Crash], 1, 6);
        Bounds { walk: 1, idle, dark, ..bounds }
    };
    limits(Promise::Wake, world("a deaf waiter per walk", 1, 4));
    keeps(world("a deaf waiter per walk, until it is silent", 4, 5));
}

/// Where silence takes longer than a lease, the dead of one host get more than one lease.
#[test]
fn short_leases_pay_for_the_dead_until_they_are_silent() {
    let bounds = Bounds::new("silence longer than the ttl", &[1, 1, 1], &[Fault::Vanish], 1, 5);
    limits(Promise::Dead, Bounds { hosts: vec![0, 0, 1], silence: 5, ..bounds });
}

/// A block of turns ends ahead of the clock, so a counter that is lost and used again within the
/// time of one block repeats tokens.
#[test]
fn a_counter_lost_for_less_than_a_block_repeats_tokens() {
    let bounds = Bounds::new("counter lost within a block", &[2, 1], &[Fault::Restore], 1, 2);
    limits(Promise::Tokens, Bounds { turns: 12, restart_takes_time: false, ..bounds });
}

/// A question that lands after the last undoing and finds the lock free holds it for a lease.
#[test]
fn questions_later_than_the_last_undoing_cost_a_lease() {
    let bounds = Bounds::new("later than the last undoing", &[1, 1], &[Fault::Cut], 1, 8);
    limits(Promise::Release, Bounds { give_up: true, undo_gaps: vec![1], ..bounds });
}
