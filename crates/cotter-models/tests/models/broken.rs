//! Each rule left out is found wrong, by the promise that it protects.

use crate::bounds::{Bounds, Fault};
use crate::check::breaks;
use crate::rules::{Promise, Rule};

fn world(attempts: &[u8], kinds: &[Fault], faults: u8, horizon: u8) -> Bounds {
    Bounds::new("one rule left out", attempts, kinds, faults, horizon)
}

/// One test per rule: `name: rule breaks promise in world`.
macro_rules! left_out {
    ($($test:ident: $rule:ident breaks $promise:ident in $world:expr;)*) => {
        $(#[test]
        fn $test() {
            breaks(Rule::$rule, Promise::$promise, $world);
        })*
    };
}

left_out! {
    message_without_ticket:
        TicketInMessage breaks Exclusion in world(&[2, 1], &[Fault::Pause], 1, 5);
    deadline_from_the_message:
        MessageDeadlineFromQuestion breaks Exclusion in world(&[2, 1], &[Fault::Pause], 1, 5);
    deadline_from_an_unanswered_question:
        OnlyAnsweredQuestions breaks Exclusion
        in world(&[2, 1], &[Fault::LateMessage, Fault::LateRequest], 2, 4);
    deadline_from_the_reply:
        ReplyDeadlineFromSending breaks Exclusion in world(&[1, 1], &[Fault::LateReply], 1, 5);
    full_ttl_for_an_old_grant:
        TimeReallyLeft breaks Exclusion in world(&[1, 1], &[Fault::LostReply], 1, 5);
    claim_id_used_again:
        NewClaimPerAttempt breaks Exclusion in world(&[2, 1], &[Fault::LateRequest], 1, 4);
    release_without_compare:
        ReleaseCompares breaks Exclusion in world(&[2, 1], &[Fault::LateRequest], 1, 4);
    undone_on_another_connection:
        UndoOnSameConnection breaks Release
        in Bounds { give_up: true, ..world(&[1, 1], &[Fault::LateRequest], 1, 8) };
    undone_once:
        UndoRepeated breaks Release in Bounds { give_up: true, ..world(&[1, 1], &[Fault::Cut], 1, 8) };
    unknown_grant_kept:
        UnknownGrantReturned breaks Release
        in Bounds {
            give_up: true,
            undo_gaps: vec![1],
            late_beyond_undo: true,
            ..world(&[1, 1], &[Fault::Cut], 1, 8)
        };
    release_beside_a_question:
        ReleaseBehindQuestions breaks Release in world(&[1, 1], &[Fault::LateRequest], 1, 8);
    freed_and_done:
        FreedIsRepeated breaks Release in world(&[1, 1], &[Fault::Cut], 1, 8);
    join_before_subscribing:
        SubscribeFirst breaks Order in world(&[2, 1], &[Fault::LateReply], 1, 3);
    newcomer_takes_a_free_lock:
        NewcomersQueue breaks Order in world(&[1, 1, 1], &[], 0, 4);
    newcomer_after_half_a_walk:
        WholeWalkForNewcomers breaks Order
        in Bounds { walk: 1, idle: 9, dark: 9, ..world(&[2, 1, 1], &[Fault::Unsubscribe], 1, 3) };
    half_a_walk_says_nobody_waits:
        HalfAWalkSaysNothing breaks Order
        in Bounds { walk: 1, idle: 9, dark: 9, hosts: vec![0, 1, 2, 3], ..world(&[1, 1, 1, 1], &[Fault::Crash], 1, 6) };
    newcomer_takes_a_deleted_lock:
        QueueWithoutLock breaks Order in world(&[1, 1, 1], &[Fault::Delete], 1, 4);
    whole_lease_by_message:
        ShortByMessage breaks Dead
        in Bounds { short: 1, dark: 2, ..world(&[1, 1, 1], &[Fault::Pause], 1, 5) };
    standstill_counts_as_silence:
        StandstillIsNoSilence breaks Order in world(&[1, 1, 1], &[Fault::Standstill], 1, 7);
    deaf_waiter_dropped:
        DeafKeepPlace breaks Order in world(&[2, 1, 1], &[Fault::Unsubscribe], 1, 3);
    liveness_by_publish_count:
        LivenessByChannel breaks Wake in world(&[1, 1, 1], &[Fault::Crash], 1, 5);
    silence_costs_nothing:
        SilenceEndsPlace breaks Dead
        in Bounds { hosts: vec![0, 0, 1], ..world(&[1, 1, 1], &[Fault::Vanish], 1, 5) };
    waiter_trusts_messages:
        AskEveryPoll breaks Wake in world(&[1, 1], &[Fault::LostMessage], 1, 5);
    asker_must_listen:
        AskerIsAlive breaks Wake in world(&[1, 1], &[Fault::Unsubscribe], 1, 5);
    only_releases_advance:
        QuestionsAdvance breaks Wake in world(&[1, 1], &[Fault::Crash], 1, 7);
    published_before_the_write:
        PublishLast breaks Grant in world(&[1, 1], &[Fault::Refuse], 1, 4);
    release_refused_when_full:
        WorksWhenFull breaks Release in world(&[1, 1], &[Fault::Full], 1, 6);
    question_refused_when_full:
        WaitersAskWhenFull breaks Order in world(&[1, 1], &[Fault::Full], 1, 5);
    tickets_from_the_queue:
        TicketFloor breaks Exclusion in world(&[2, 1], &[Fault::Pause], 1, 5);
    tokens_from_the_counter:
        TokenFloor breaks Tokens in world(&[1, 1], &[Fault::Restore], 1, 3);
    block_ahead_of_the_clock:
        TurnsCapped breaks Tokens in Bounds { turns: 12, ..world(&[2, 1], &[Fault::Restore], 1, 3) };
    turns_as_asked:
        TurnsAsReserved breaks Tokens in Bounds { turns: 40, ..world(&[1, 1], &[], 0, 3) };
    renewal_brings_back:
        ExtendNeverCreates breaks Release
        in Bounds { extends: 1, ..world(&[1, 1], &[Fault::LateRequest], 1, 8) };
    renewal_shortens:
        ExtendNeverShortens breaks Exclusion
        in Bounds { extends: 1, extend_ttl: 1, ..world(&[1, 1], &[], 0, 4) };
    renewal_after_release:
        LateRenewalIgnored breaks Exclusion
        in Bounds { extends: 1, ..world(&[1, 1], &[Fault::LateReply], 1, 4) };
    grant_in_the_future:
        FutureIsNow breaks Dead
        in Bounds { dark: 5, ..world(&[1, 1], &[Fault::StepBack, Fault::Crash], 2, 9) };
    correction_not_written:
        FutureIsWritten breaks Dead
        in Bounds { dark: 5, ..world(&[1, 1], &[Fault::StepBack, Fault::Crash], 2, 9) };
    question_in_the_future:
        FutureQuestionIsNow breaks Dead
        in Bounds {
            dark: 5,
            hosts: vec![0, 0, 1],
            ..world(&[1, 1, 1], &[Fault::StepBack, Fault::Vanish], 2, 6)
        };
}
