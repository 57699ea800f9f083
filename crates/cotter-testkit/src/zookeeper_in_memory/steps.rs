//! What has happened at a server, step by step, so that the same can be done at another.

/// One step, and what was sent in it: to which connection, and the messages without their lengths.
#[derive(Debug, Clone)]
pub struct Step {
    /// What has happened.
    pub what: Happened,
    /// What was sent.
    pub said: Vec<(u64, Vec<u8>)>,
    /// The connections that have ended.
    pub ended: Vec<u64>,
}

/// What has happened.
#[derive(Debug, Clone)]
pub enum Happened {
    /// A connection of this number was opened.
    Opened(u64),
    /// Its client has ended it, or seems to have.
    Left(u64),
    /// A message has come, without its length.
    Asked(u64, Vec<u8>),
    /// A session of this number has ended.
    Expired(i64),
    /// An operator, or the server itself, has deleted a node.
    Deleted(String),
    /// The server was started again.
    Restarted,
}
