//! The rules of the protocol, each of which can be left out, and what they promise.

/// A rule of the queue protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// A message counts only if its ticket is that of the last answered question.
    TicketInMessage,
    /// The deadline of a grant by message counts from a question, not from the message's arrival.
    MessageDeadlineFromQuestion,
    /// … and that question is the last *answered* one, not the last one sent.
    OnlyAnsweredQuestions,
    /// The deadline of a grant by reply counts from the sending of the question.
    ReplyDeadlineFromSending,
    /// A repeated question is answered with the time that is really left.
    TimeReallyLeft,
    /// Every attempt has a claim id of its own.
    NewClaimPerAttempt,
    /// A release frees only what its own claim holds.
    ReleaseCompares,
    /// An unanswered question is undone on the connection that carried it.
    UndoOnSameConnection,
    /// When that connection is gone, the undoing is repeated.
    UndoRepeated,
    /// A grant that arrives for a claim nobody here knows is given back at once.
    UnknownGrantReturned,
    /// A holder that still has an unanswered question releases behind it, as an undoing would.
    ReleaseBehindQuestions,
    /// … and when the connection of that question is gone, its release is repeated although the first one freed the lock.
    FreedIsRepeated,
    /// A waiter joins the queue only once it listens.
    SubscribeFirst,
    /// A newcomer does not take a free lock past a waiter that listens.
    NewcomersQueue,
    /// … and "nobody listens" is concluded only from a walk that reached the end of the queue.
    WholeWalkForNewcomers,
    /// A waiter that nobody listens for is passed over but keeps its place.
    DeafKeepPlace,
    /// Whether a waiter lives is asked of its own channel, not of the count that PUBLISH returns.
    LivenessByChannel,
    /// … and an unfinished walk does not say that nobody waits.
    HalfAWalkSaysNothing,
    /// A lock whose key is missing is not taken without a look at its queue.
    QueueWithoutLock,
    /// A grant by message is for a short time, until its holder renews it.
    ShortByMessage,
    /// A server that stood still ends nobody's place.
    StandstillIsNoSilence,
    /// A waiter that has been silent for long loses its place.
    SilenceEndsPlace,
    /// A waiter asks at the latest every poll period.
    AskEveryPoll,
    /// The waiter that is asking counts as alive, listening or not.
    AskerIsAlive,
    /// A question that finds the lease over hands the lock on.
    QuestionsAdvance,
    /// The message is published after the grant is written.
    PublishLast,
    /// Releases and hand-overs work while the server's memory is full.
    WorksWhenFull,
    /// … and so do the questions of those who already wait.
    WaitersAskWhenFull,
    /// Tickets never repeat: max(server clock, last ticket + 1).
    TicketFloor,
    /// Tokens never repeat: max(last + 1, server clock).
    TokenFloor,
    /// A block of turns never runs ahead of the clock.
    TurnsCapped,
    /// A holder uses the turns that were reserved, not those it asked for.
    TurnsAsReserved,
    /// A renewal does not bring back a lease that is over.
    ExtendNeverCreates,
    /// A renewal does not shorten a lease.
    ExtendNeverShortens,
    /// The answer to a renewal that comes after the release was sent is ignored.
    LateRenewalIgnored,
    /// A grant in the server's future (its clock was set back) counts as given now.
    FutureIsNow,
    /// … and the correction is written down.
    FutureIsWritten,
    /// A waiter that last asked in the server's future counts as having asked now.
    FutureQuestionIsNow,
}

/// The rules that are in force: all, or all but one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    without: Option<Rule>,
}

impl Rules {
    /// Every rule but this one.
    pub(crate) fn without(rule: Rule) -> Self {
        Self { without: Some(rule) }
    }

    pub(crate) fn on(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }
}

/// What the protocol promises. Each is a property that the checker tries to break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Promise {
    /// No two processes believe at once that they hold the lock, each inside its own deadline.
    Exclusion,
    /// Tokens rise in the order of the grants and never repeat.
    Tokens,
    /// A live waiter is never overtaken by a newcomer or by a later waiter.
    Order,
    /// No message makes a holder out of a claim that was not granted.
    Grant,
    /// A released claim holds nothing, beyond a bounded time for undoing what landed late.
    Release,
    /// Nobody waits for longer than a poll period while the lock could be theirs.
    Wake,
    /// Dead holders and dead waiters cost one lease in all, not one each.
    Dead,
}

impl Promise {
    pub(crate) const ALL: [Self; 7] =
        [Self::Exclusion, Self::Tokens, Self::Order, Self::Grant, Self::Release, Self::Wake, Self::Dead];

    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exclusion => "exclusion",
            Self::Tokens => "tokens",
            Self::Order => "order",
            Self::Grant => "grant",
            Self::Release => "release",
            Self::Wake => "wake",
            Self::Dead => "dead",
        }
    }
}
