//! The cases that every backend must pass, one named test for each (feature `conformance`).
//!
//! ```
//! # use cotter::{memory, conformance};
//! // In a test of the backend:
//! cotter::conformance_tests!(memory_store, conformance::Fixture::sharing(memory::Store::new()));
//! ```
//!
//! Cases that need a capability check whether the store declares it. A store without the capability must refuse the
//! operation with [`Unsupported`](crate::ErrorKind::Unsupported), which the case then checks instead.

// | file | concept |
// |---|---|
// | `fixture` | a store under test, and steps that many cases share |
// | `exclusion`, `queue`, `leases` | one holder; waiting; time |
// | `waiters` | waiters in other processes, which are killed, stopped and cut off |
// | `modes`, `readers` | shared locks; readers and writers of one name |
// | `permits`, `limits` | semaphores; their limits, and names in use in another way |
// | `answers`, `sessions` | answers and notifications after a lock has gone |
// | `tickets` | grants that pass from one claim to another |
// | `tokens`, `notes`, `admin`, `names` | fencing tokens; values beside names; inspection; hostile names |

mod admin;
mod answers;
mod exclusion;
mod fixture;
mod leases;
mod limits;
mod modes;
mod names;
mod notes;
mod permits;
mod queue;
mod readers;
mod sessions;
mod tickets;
mod tokens;
mod waiters;

pub use fixture::Fixture;
pub use waiters::{Fate, Waiter};

/// Derives the claim ids and the jitter of this thread from a seed and begins at a fixed time of day, or goes back to what is
/// random and to the system's after `None`: a simulation that runs all of a client in one thread ([`Builder::in_this_runtime`](crate::Builder::in_this_runtime))
/// can be repeated.
pub fn repeat_random(seed: Option<u64>) {
    crate::random::repeat(seed);
}

#[cfg(feature = "server")]
pub use crate::stores::shared::net::simulated::{Connecting, Network, connect_through};

macro_rules! cases {
    ($($group:ident: $($case:ident)*;)*) => {
        /// The names of all cases.
        pub const CASES: &[&str] = &[$($(stringify!($case)),*),*];

        /// Runs one case on a fresh name space of the fixture's store.
        ///
        /// # Panics
        /// If the backend breaks the contract.
        pub fn run(case: &str, fixture: Fixture) {
            fixture.block_on(async |fixture| match case {
                $($(stringify!($case) => $group::$case(fixture).await,)*)*
                other => panic!("no such case: {other}"),
            });
        }

        /// One test per case, in a module of the given name. The fixture is an expression, evaluated for each test.
        /// Leading attributes, such as `#[ignore = "needs a server"]`, apply to every test.
        #[macro_export]
        macro_rules! conformance_tests {
            ($module:ident, $fixture:expr) => {
                $crate::conformance_tests!(#[allow(unused_attributes)] $module, $fixture);
            };
            (#[$attribute:meta] $module:ident, $fixture:expr) => {
                mod $module {
                    #[allow(unused_imports)]
                    use super::*;
                    $($(
                        #[test]
                        #[$attribute]
                        fn $case() {
                            $crate::conformance::run(stringify!($case), $fixture);
                        }
                    )*)*
                }
            };
        }
    };
}

cases! {
    exclusion:
        acquire_release_acquire
        second_claim_is_busy
        other_names_are_independent
        twenty_tasks_never_overlap
        release_twice_frees_once
        a_dropped_release_can_be_repeated
        late_release_does_not_touch_the_next_holder
        busy_leaves_nothing_behind
        acquire_again_answers_the_same_grant
        retry_counts_nothing
        released_claim_stays_released;
    queue:
        waiter_gets_it_after_release
        order_of_arrival
        newcomer_does_not_pass_a_waiter
        wait_ends_in_time
        dropped_waiter_leaves_the_queue
        dropped_waiter_in_the_middle_blocks_nobody
        acquire_dropped_at_any_poll_can_be_undone
        queued_claim_can_be_released
        a_place_in_line_waits_for_its_claim
        a_place_in_line_can_be_given_up
        contention_gives_everybody_a_turn;
    waiters:
        a_killed_waiter_is_passed_over
        a_stopped_waiter_is_passed_over_and_queues_again
        a_waiter_that_is_cut_off_is_passed_over_and_queues_again;
    leases:
        as_of_is_before_the_request
        a_lease_ends
        an_ended_lease_wakes_the_waiter
        extend_keeps_it
        extend_never_shortens
        extend_never_creates
        extend_does_not_touch_others
        extend_answers_for_each_of_many
        kept_lease_stays_busy_for_the_rest
        an_old_claim_answers_the_time_that_is_left;
    answers:
        a_lock_that_vanished_is_not_given_back
        a_lock_that_another_has_by_now_is_not_given_back
        a_busy_claim_frees_nobody
        an_evicted_holder_is_told_so
        an_evicted_holder_writes_no_notes;
    sessions:
        a_deleted_entry_is_told
        a_loss_is_told_after_the_runtime_that_acquired_has_ended
        a_session_that_ends_is_told_to_every_grant
        a_session_is_kept_alive
        a_waiting_claim_outlives_its_ttl
        what_it_cannot_do_is_refused
        a_backend_refuses_before_it_asks;
    tokens:
        tokens_rise
        tokens_rise_over_clients
        tokens_fit_javascript
        turns_are_what_was_reserved
        unused_turns_go_back
        used_turns_do_not_come_again
        each_share_has_a_token_of_its_own;
    modes:
        readers_share
        a_writer_excludes_readers
        a_waiting_writer_stops_new_readers
        downgrade_lets_readers_in
        downgrade_gives_no_token_back;
    limits:
        another_limit_is_an_error
        the_limit_can_be_set
        a_smaller_limit_interrupts_nobody
        a_wait_for_more_than_a_smaller_limit_fails
        the_limit_of_a_free_name_is_not_set
        a_limit_that_was_set_outlives_who_was_first
        a_limit_that_was_set_outlives_an_eviction
        a_lock_is_not_a_semaphore
        a_semaphore_is_not_a_lock;
    permits:
        permits_up_to_the_limit
        several_permits_are_granted_all_or_none
        contention_never_exceeds_the_limit
        permits_have_tokens_of_their_own
        permits_are_given_back_once
        permits_of_an_ended_lease_come_back
        waiters_for_permits_keep_their_order
        a_waiter_that_wants_many_is_not_overtaken
        a_dropped_wait_for_permits_takes_none
        every_holder_of_permits_is_shown
        waiters_are_served_as_far_as_permits_go
        evicted_permits_come_back;
    tickets:
        a_grant_changes_hands_once
        an_adopted_block_ends_with_its_last_token
        what_is_not_held_is_not_adopted
        readers_and_permits_are_adopted;
    readers:
        readers_that_waited_together_enter_together
        readers_that_come_and_go_do_not_starve_a_writer
        who_gives_up_lets_the_readers_behind_it_enter
        a_killed_reader_costs_its_ttl
        a_reader_whose_lease_ends_frees_nobody_else
        both_kinds_are_extended_together
        a_reader_can_leave_the_lock_kept
        readers_are_shown_and_evicted
        a_reader_writes_notes
        a_downgraded_lock_is_extended_and_released
        a_readers_grant_passes_to_another_claim;
    notes:
        a_note_outlives_its_writer
        keys_beside_one_name_are_apart
        a_note_survives_eviction
        a_stale_writer_is_refused
        a_stale_reader_is_refused
        only_a_holder_writes
        swap_compares
        swaps_at_once_lose_none
        a_change_wakes;
    admin:
        the_holder_is_shown
        a_free_name_has_no_holder
        listing_goes_by_pages
        evict_takes_it_or_says_who
        diagnose_says_something;
    names:
        hostile_names_are_distinct
        names_that_begin_alike_are_independent
        the_longest_name_works
        long_names_that_differ_late_are_distinct;
}
