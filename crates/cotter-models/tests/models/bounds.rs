//! How large a world the checker explores, and which faults may happen in it.

/// A kind of fault. Each one that happens is taken from the world's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Fault {
    LateRequest = 1,
    LateReply = 1 << 1,
    LateMessage = 1 << 2,
    LostReply = 1 << 3,
    LostMessage = 1 << 4,
    /// A connection ends: what was sent on it lands late or never, answers are lost.
    Cut = 1 << 5,
    Pause = 1 << 6,
    /// A subscription ends and is opened again by its process.
    Unsubscribe = 1 << 7,
    /// A process ends, and the server sees its connections close.
    Crash = 1 << 8,
    /// A host is gone; its connections still look open to the server.
    Vanish = 1 << 9,
    /// The server refuses one write in the middle of a script.
    Refuse = 1 << 10,
    /// The server's memory is full.
    Full = 1 << 11,
    /// The server loses its state or is restored from a snapshot.
    Restore = 1 << 12,
    /// The server's clock is set back.
    StepBack = 1 << 13,
    /// Somebody deletes the key of the lock: its holder is gone, its queue is not.
    Delete = 1 << 14,
    /// The server stands still for longer than anybody may be silent.
    Standstill = 1 << 15,
}

/// Sizes and times of a world; times are in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) name: &'static str,
    /// Attempts that each process makes.
    pub(crate) attempts: Vec<u8>,
    /// The host that each process runs on.
    pub(crate) hosts: Vec<u8>,
    pub(crate) ttl: u8,
    /// What a grant by message is for, until its holder renews it.
    pub(crate) short: u8,
    pub(crate) poll: u8,
    pub(crate) silence: u8,
    /// Queue entries that one script looks at.
    pub(crate) walk: usize,
    /// Turns that a claim asks for.
    pub(crate) turns: u8,
    /// Renewals per grant.
    pub(crate) extends: u8,
    /// The lease that a renewal asks for.
    pub(crate) extend_ttl: u8,
    /// Whether waiters may give up.
    pub(crate) give_up: bool,
    /// How long a late packet may be under way.
    pub(crate) late: u8,
    /// Ticks from one undoing to the next when the connection is gone.
    pub(crate) undo_gaps: Vec<u8>,
    /// Whether packets may land after the last undoing; then only grants that were announced count.
    pub(crate) late_beyond_undo: bool,
    /// Whether a server that lost its state is away for a tick, which is longer than a block of turns.
    pub(crate) restart_takes_time: bool,
    pub(crate) faults: u8,
    pub(crate) kinds: u16,
    pub(crate) horizon: u8,
    /// Limits of the promises about time.
    pub(crate) stray: u8,
    pub(crate) idle: u8,
    pub(crate) dark: u8,
    /// Whether to note that interesting events were reached (costs states).
    pub(crate) record: bool,
}

impl Bounds {
    /// Processes on hosts of their own; leases of three ticks, a question in each.
    pub(crate) fn new(name: &'static str, attempts: &[u8], kinds: &[Fault], faults: u8, horizon: u8) -> Self {
        Self {
            name,
            attempts: attempts.to_vec(),
            hosts: (0..attempts.len() as u8).collect(),
            ttl: 3,
            short: 3,
            poll: 1,
            silence: 3,
            walk: usize::MAX,
            turns: 1,
            extends: 0,
            extend_ttl: 3,
            give_up: false,
            late: 4,
            undo_gaps: vec![1, 2, 2],
            late_beyond_undo: false,
            restart_takes_time: true,
            faults,
            kinds: kinds.iter().fold(0, |all, kind| all | *kind as u16),
            horizon,
            stray: 2,
            idle: 1,
            dark: 4,
            record: false,
        }
    }

    pub(crate) fn allows(&self, fault: Fault) -> bool {
        self.kinds & fault as u16 != 0
    }
}
