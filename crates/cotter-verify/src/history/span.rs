//! Holds and waits.

/// Somebody believed to hold a name, from `got` to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Of which lock.
    pub name: String,
    /// Who.
    pub process: u32,
    /// The fencing token, if it has one.
    pub token: Option<u64>,
    /// From when.
    pub got: u64,
    /// Until when.
    pub end: u64,
    /// How it ended.
    pub by: End,
}

impl Hold {
    /// Whether there was anything to believe when it was told: a process may be paused on its way.
    #[must_use]
    pub fn is_real(&self) -> bool {
        self.got < self.end
    }
}

/// How a belief ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It was given back.
    Released,
    /// The loss was told.
    Lost,
    /// Its deadline passed.
    Deadline,
    /// The process was killed, or ended by itself.
    Died,
    /// It had not ended when the run was over.
    Open,
}

/// Somebody wanted a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Of which lock.
    pub name: String,
    /// Who.
    pub process: u32,
    /// From when.
    pub from: u64,
    /// Until when.
    pub to: u64,
    /// Whether it got the lock.
    pub got: bool,
}
