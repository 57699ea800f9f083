//! The messages of ZooKeeper's protocol that locks need.

use super::records::{Reader, Writer};
use std::time::Duration;

/// A request.
#[derive(Debug, Clone)]
pub(super) enum Op {
    Create {
        path: String,
        data: Vec<u8>,
        kind: Kind,
        acl: Acl,
    },
    Delete {
        path: String,
    },
    Get {
        path: String,
        watch: bool,
    },
    Exists {
        path: String,
        watch: bool,
    },
    /// With the version that the node must have; −1 for any.
    Set {
        path: String,
        data: Vec<u8>,
        version: i32,
    },
    Children {
        path: String,
        watch: bool,
    },
    /// Answered when this server has caught up with the leader, or with one that does not know yet that it was replaced.
    Sync {
        path: String,
    },
    /// Only inside [`Multi`](Self::Multi): the node must be there, with this version.
    Check {
        path: String,
        version: i32,
    },
    /// All of them or none.
    Multi(Vec<Op>),
    /// Ends the session.
    Close,
}

/// The lifetime of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Persistent,
    /// It is deleted with its session.
    Ephemeral,
    /// The same, and its name gets the next number of its parent.
    Sequential,
    /// The server deletes it some time after its last child.
    Container,
}

/// The access list of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acl {
    /// Everybody may do everything.
    Open,
    /// The user that the connection has logged in as may do everything, nobody else anything.
    Creator,
}

const ALL_RIGHTS: i32 = 31;
const CONTAINER: i32 = 19;
const CLOSE: i32 = -11;
const AUTHENTICATE: i32 = 100;
pub(super) const AUTHENTICATE_XID: i32 = -4;
pub(super) const EVENT_XID: i32 = -1;

impl Op {
    fn code(&self) -> i32 {
        match self {
            Self::Create { kind: Kind::Container, .. } => CONTAINER,
            Self::Create { .. } => 15,
            Self::Delete { .. } => 2,
            Self::Exists { .. } => 3,
            Self::Get { .. } => 4,
            Self::Set { .. } => 5,
            Self::Children { .. } => 8,
            Self::Sync { .. } => 9,
            Self::Check { .. } => 13,
            Self::Multi(_) => 14,
            Self::Close => CLOSE,
        }
    }

    /// The request as it is sent.
    pub(super) fn message(&self, xid: i32) -> Vec<u8> {
        let mut to = Writer::new();
        to.int(xid);
        to.int(self.code());
        self.write(&mut to);
        to.finish()
    }

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Create { path, data, kind, acl } => {
                to.text(path);
                to.bytes(data);
                acl.write(to);
                to.int(kind.flags());
            }
            Self::Delete { path } => {
                to.text(path);
                to.int(-1);
            }
            Self::Get { path, watch } | Self::Exists { path, watch } | Self::Children { path, watch } => {
                to.text(path);
                to.flag(*watch);
            }
            Self::Set { path, data, version } => {
                to.text(path);
                to.bytes(data);
                to.int(*version);
            }
            Self::Sync { path } => to.text(path),
            Self::Check { path, version } => {
                to.text(path);
                to.int(*version);
            }
            Self::Multi(all) => {
                for op in all {
                    write_header(to, op.code(), false);
                    op.write(to);
                }
                write_header(to, -1, true);
            }
            Self::Close => {}
        }
    }
}

/// The header of one request in a list of several.
fn write_header(to: &mut Writer, code: i32, is_end: bool) {
    to.int(code);
    to.flag(is_end);
    to.int(-1);
}

impl Kind {
    const fn flags(self) -> i32 {
        match self {
            Self::Persistent => 0,
            Self::Ephemeral => 1,
            Self::Sequential => 3,
            Self::Container => 4,
        }
    }
}

impl Acl {
    fn write(self, to: &mut Writer) {
        to.int(1);
        to.int(ALL_RIGHTS);
        let (scheme, id) = match self {
            Self::Open => ("world", "anyone"),
            Self::Creator => ("auth", ""),
        };
        to.text(scheme);
        to.text(id);
    }
}

/// The first message of a connection: begins a session, or goes on with one.
#[derive(Debug)]
pub(super) struct Hello<'a> {
    /// The newest state that the session has seen. A server that is behind it refuses.
    pub(super) seen: i64,
    pub(super) timeout: Duration,
    /// Id and password of the session; 0 and nothing for a new one.
    pub(super) session: (i64, &'a [u8]),
}

impl Hello<'_> {
    pub(super) fn message(&self) -> Vec<u8> {
        let mut to = Writer::new();
        to.int(0);
        to.long(self.seen);
        to.int(i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX));
        to.long(self.session.0);
        to.bytes(self.session.1);
        // A server without a majority behind it is of no use.
        to.flag(false);
        to.finish()
    }
}

/// Its answer. Without a timeout the session has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Welcome {
    pub(super) timeout: Duration,
    pub(super) id: i64,
    pub(super) password: Vec<u8>,
}

impl Welcome {
    pub(super) fn read(mut from: Reader<'_>) -> Option<Self> {
        from.int()?;
        let timeout = Duration::from_millis(u64::try_from(from.int()?).unwrap_or(0));
        Some(Self { timeout, id: from.long()?, password: from.bytes()?.to_vec() })
    }
}

/// Logs in as a user.
pub(super) fn authenticate(user: &str, password: &str) -> Vec<u8> {
    let mut to = Writer::new();
    to.int(AUTHENTICATE_XID);
    to.int(AUTHENTICATE);
    to.int(0);
    to.text("digest");
    to.text(&format!("{user}:{password}"));
    to.finish()
}

/// The head of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) xid: i32,
    pub(super) zxid: i64,
    pub(super) code: i32,
}

impl Head {
    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { xid: from.int()?, zxid: from.long()?, code: from.int()? })
    }
}

/// The event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) what: What,
    pub(super) path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Created,
    Deleted,
    Changed,
    Children,
}

impl Event {
    /// `None` for an event that tells of no node.
    pub(super) fn read(mut from: Reader<'_>) -> Option<Self> {
        let what = match from.int()? {
            1 => What::Created,
            2 => What::Deleted,
            3 => What::Changed,
            4 => What::Children,
            _ => return None,
        };
        from.int()?;
        Some(Self { what, path: from.text()? })
    }
}
