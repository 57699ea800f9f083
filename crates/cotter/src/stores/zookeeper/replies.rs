//! The answers to requests.

use super::messages::Op;
use super::records::Reader;

/// The answer to a request. `None` for a message that is none.
pub(super) trait Reply: Sized {
    fn read(from: &mut Reader<'_>) -> Option<Self>;
}

/// Where nothing but success is of interest.
impl Reply for () {
    fn read(_: &mut Reader<'_>) -> Option<Self> {
        Some(())
    }
}

/// The metadata of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// The transaction that created it.
    pub(super) created: i64,
    /// The transaction that last changed its data.
    pub(super) modified: i64,
    /// Milliseconds since 1970.
    pub(super) created_at: i64,
    /// How often its data was changed.
    pub(super) version: i32,
}

impl Reply for Stat {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let (created, modified, created_at, _) = (from.long()?, from.long()?, from.long()?, from.long()?);
        let (version, _, _) = (from.int()?, from.int()?, from.int()?);
        // Owner, length of the data, number of children, last change of those.
        let _ = (from.long()?, from.int()?, from.int()?, from.long()?);
        Some(Self { created, modified, created_at, version })
    }
}

/// The answer to `Create`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Created {
    /// With the number that the server has appended.
    pub(super) path: String,
    pub(super) stat: Stat,
}

impl Reply for Created {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { path: from.text()?, stat: Stat::read(from)? })
    }
}

/// The answer to `Get`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: Stat,
}

impl Reply for Data {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        Some(Self { bytes: from.bytes()?.to_vec(), stat: Stat::read(from)? })
    }
}

/// The answer to `Children`: their names.
pub(super) type Children = Vec<String>;

impl Reply for Children {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        from.texts()
    }
}

/// The answer to `Multi`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All were carried out. With what is known of the last node whose data were set.
    Done(Option<Stat>),
    /// None was: the operation with this number failed with this code.
    Failed(usize, i32),
}

impl Reply for Outcome {
    fn read(from: &mut Reader<'_>) -> Option<Self> {
        let mut written = None;
        let mut failed = None;
        for number in 0.. {
            let (code, is_end, _) = (from.int()?, from.flag()?, from.int()?);
            match code {
                _ if is_end => break,
                -1 => {
                    let error = from.int()?;
                    // Those before the one that failed have no error, those behind it another one.
                    if error != 0 && failed.is_none() {
                        failed = Some((number, error));
                    }
                }
                1 => _ = from.text()?,
                5 => written = Some(Stat::read(from)?),
                _ => {}
            }
        }
        Some(failed.map_or(Self::Done(written), |(number, code)| Self::Failed(number, code)))
    }
}

impl Op {
    /// Reads a node, and watches it if it is there.
    pub(super) fn watch(path: &str) -> Self {
        Self::Get { path: path.to_owned(), watch: true }
    }

    pub(super) fn get(path: &str) -> Self {
        Self::Get { path: path.to_owned(), watch: false }
    }

    pub(super) fn children(path: &str) -> Self {
        Self::Children { path: path.to_owned(), watch: false }
    }

    pub(super) fn delete(path: &str) -> Self {
        Self::Delete { path: path.to_owned() }
    }

    /// Changes nothing, but is a transaction: it is answered when a majority has agreed to it. The root is always there.
    pub(super) fn nothing() -> Self {
        Self::Multi(vec![Self::Check { path: "/".to_owned(), version: -1 }])
    }

    pub(super) fn sync(path: &str) -> Self {
        Self::Sync { path: path.to_owned() }
    }
}
