//! What a state of the world consists of.

/// A claim id: the process in the upper bits, the attempt in the lower ones.
pub(crate) type Claim = u8;

pub(crate) fn owner_of(claim: Claim) -> usize {
    usize::from(claim >> 3)
}

/// A process and name have one connection of the engine's, in generations, and one of the caller's.
pub(crate) const CALLERS_CONNECTION: u8 = u8::MAX;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct State {
    pub(crate) now: u8,
    /// By how much the server's clock was set back.
    pub(crate) back: u8,
    pub(crate) server: Server,
    /// What a restore would bring back; empty means a lost state.
    pub(crate) snapshot: Option<Stored>,
    pub(crate) listens: u8,
    /// The server is starting again: it serves nothing before the next tick.
    pub(crate) down: bool,
    /// … or for so many ticks more.
    pub(crate) still: u8,
    pub(crate) full: bool,
    pub(crate) refuse: bool,
    pub(crate) processes: Vec<Process>,
    pub(crate) requests: Vec<Request>,
    pub(crate) replies: Vec<Reply>,
    pub(crate) messages: Vec<Message>,
    pub(crate) faults: u8,
    pub(crate) watch: Watch,
}

impl State {
    /// The server serves nothing just now.
    pub(crate) fn is_away(&self) -> bool {
        self.down || self.still > 0
    }
}

pub(crate) type Server = Stored;

/// What the server keeps under the name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Stored {
    pub(crate) last_token: u16,
    pub(crate) last_ticket: u16,
    pub(crate) hold: Option<Hold>,
    pub(crate) queue: Vec<Entry>,
    /// The server believes that nobody waits, whatever stands in the queue.
    pub(crate) blind: bool,
    /// Silence counts from then at the earliest.
    pub(crate) since: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hold {
    pub(crate) claim: Claim,
    pub(crate) token: u16,
    pub(crate) turns: u8,
    pub(crate) since: u8,
    pub(crate) ttl: u8,
    /// For the properties only: granted although nobody listened; announced to a process that had given up.
    pub(crate) deaf: bool,
    pub(crate) told: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) claim: Claim,
    pub(crate) ticket: u16,
    pub(crate) asked: u8,
    /// For the properties only: when a question of this claim was last refused.
    pub(crate) refused: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Life {
    #[default]
    Running,
    Paused,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) enum Phase {
    #[default]
    Idle,
    Waiting,
    Holding,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Process {
    pub(crate) life: Life,
    pub(crate) phase: Phase,
    /// Attempts begun.
    pub(crate) attempt: u8,
    pub(crate) claim: Claim,
    /// Generation of the engine's connection.
    pub(crate) conn: u8,
    pub(crate) listening: bool,
    /// The subscription is down through a fault.
    pub(crate) deaf: bool,
    /// When the last question was sent, and how many on this connection are unanswered.
    pub(crate) sent: u8,
    pub(crate) open: u8,
    /// Questions of this claim went down with a connection.
    pub(crate) orphaned: bool,
    /// Ticket and sending time of the last answered question.
    pub(crate) answered: Option<(u16, u8)>,
    /// First ticket of this claim: its rank in order of arrival.
    pub(crate) arrived: u16,
    pub(crate) deadline: u8,
    pub(crate) extends: u8,
    pub(crate) undo: Vec<Undo>,
}

/// A claim that must be undone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Undo {
    pub(crate) claim: Claim,
    pub(crate) due: u8,
    pub(crate) tries: u8,
    /// One answer settles it: nothing of the claim can land behind this release.
    pub(crate) settles: bool,
    pub(crate) conn: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Ask {
    /// A question; `join` when the claim may enter the queue.
    Acquire {
        join: bool,
    },
    Extend,
    Release,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) process: u8,
    pub(crate) conn: u8,
    pub(crate) claim: Claim,
    pub(crate) ask: Ask,
    pub(crate) sent: u8,
    pub(crate) late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Answer {
    Granted { token: u16, turns: u8, left: u8 },
    Queued { ticket: u16 },
    Busy,
    Extended,
    Lost,
    Released,
    Refused,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Reply {
    pub(crate) to: Request,
    pub(crate) answer: Answer,
    pub(crate) late: bool,
}

/// `granted <claim> <ticket> <token> <turns>`, on the channel of the claim's process.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message {
    pub(crate) claim: Claim,
    pub(crate) ticket: u16,
    pub(crate) token: u16,
    pub(crate) turns: u8,
    pub(crate) sent: u8,
    pub(crate) late: bool,
    /// For the properties only: the grant was written.
    pub(crate) real: bool,
}

/// What the properties need to remember.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Watch {
    /// Promises broken, one bit each.
    pub(crate) broken: u8,
    /// Events reached, one bit each.
    pub(crate) seen: u16,
    /// The highest token that was given or used.
    pub(crate) highest: u16,
    /// Ticks in which a waiter slept beside a lock it could have had.
    pub(crate) idle: u8,
    /// Ticks in which somebody waited and nobody held.
    pub(crate) dark: u8,
    /// Ticks in which a released claim held.
    pub(crate) stray: u8,
    /// The lock was deleted: its holder does not know it, as after an eviction.
    pub(crate) deleted: bool,
    /// The server lost acknowledged writes: only tokens are promised from here on.
    pub(crate) restored: bool,
}
