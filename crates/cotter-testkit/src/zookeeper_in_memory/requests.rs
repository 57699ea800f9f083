//! The requests in what was received.

use super::jute::Reader;
use super::tree::Kind;

/// A request of a session.
#[derive(Debug, Clone)]
pub(super) enum Request {
    Create { path: String, data: Vec<u8>, kind: Kind, answer: Created },
    Delete { path: String, version: i32 },
    Exists { path: String, watch: bool },
    Get { path: String, watch: bool },
    Set { path: String, data: Vec<u8>, version: i32 },
    Children { path: String, watch: bool },
    Sync { path: String },
    Check { path: String, version: i32 },
    Multi(Vec<Request>),
    Ping,
    Close,
}

/// What the creation of a node is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Created {
    Path,
    PathAndStat,
}

/// The first message of a connection.
#[derive(Debug)]
pub(super) struct Hello {
    /// The last transaction that the client knows of.
    pub(super) seen: i64,
    pub(super) timeout: i32,
    pub(super) session: i64,
    pub(super) password: Vec<u8>,
}

pub(super) const CREATE: i32 = 1;
pub(super) const DELETE: i32 = 2;
pub(super) const SET: i32 = 5;
pub(super) const CHECK: i32 = 13;
pub(super) const CREATE_CONTAINER: i32 = 19;
/// Everybody may do everything.
const OPEN: (i32, &str, &str) = (31, "world", "anyone");

impl Request {
    /// `None` for what this server lacks.
    pub(super) fn read(code: i32, from: &mut Reader<'_>) -> Option<Self> {
        Some(match code {
            CREATE => create(from, Created::Path)?,
            15 | CREATE_CONTAINER => create(from, Created::PathAndStat)?,
            DELETE => Self::Delete { path: from.text()?, version: from.int()? },
            3 => Self::Exists { path: from.text()?, watch: from.flag()? },
            4 => Self::Get { path: from.text()?, watch: from.flag()? },
            SET => Self::Set { path: from.text()?, data: from.bytes()?.to_vec(), version: from.int()? },
            8 => Self::Children { path: from.text()?, watch: from.flag()? },
            9 => Self::Sync { path: from.text()? },
            CHECK => Self::Check { path: from.text()?, version: from.int()? },
            11 => Self::Ping,
            14 => Self::Multi(several(from)?),
            -11 => Self::Close,
            _ => return None,
        })
    }
}

fn create(from: &mut Reader<'_>, answer: Created) -> Option<Request> {
    let (path, data, lists) = (from.text()?, from.bytes()?.to_vec(), from.int()?);
    let list = (from.int()?, &*from.text()?, &*from.text()?) == OPEN;
    let (is_ephemeral, is_sequential, is_container) = match from.int()? {
        0 => (false, false, false),
        1 => (true, false, false),
        2 => (false, true, false),
        3 => (true, true, false),
        4 => (false, false, true),
        _ => return None,
    };
    let kind = Kind { is_ephemeral, is_sequential, is_container };
    (lists == 1 && list).then_some(Request::Create { path, data, kind, answer })
}

fn several(from: &mut Reader<'_>) -> Option<Vec<Request>> {
    let mut all = Vec::new();
    loop {
        let (code, is_end, _) = (from.int()?, from.flag()?, from.int()?);
        if is_end {
            return Some(all);
        }
        all.push(match Request::read(code, from)? {
            // There, the other answer is not known.
            Request::Create { path, data, kind, .. } => {
                Request::Create { path, data, kind, answer: Created::Path }
            }
            change @ (Request::Delete { .. } | Request::Set { .. } | Request::Check { .. }) => change,
            _ => return None,
        });
    }
}

impl Hello {
    pub(super) fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.int()?;
        Some(Self {
            seen: from.long()?,
            timeout: from.int()?,
            session: from.long()?,
            password: from.bytes()?.to_vec(),
        })
    }
}
