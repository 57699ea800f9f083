//! Answers.

use std::fmt;

/// One answer, or a part of one.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// There is no such value.
    Nil,
    /// A whole number.
    Int(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// A word, as `OK`.
    Status(String),
    /// The code and the text of an error.
    Error(String),
    /// Several.
    Array(Vec<Reply>),
}

impl Reply {
    pub(super) fn ok() -> Self {
        Self::Status("OK".into())
    }

    pub(super) fn bulk(value: impl AsRef<[u8]>) -> Self {
        Self::Bulk(value.as_ref().to_vec())
    }

    pub(super) fn maybe(value: Option<impl AsRef<[u8]>>) -> Self {
        value.map_or(Self::Nil, Self::bulk)
    }

    pub(super) fn count(n: usize) -> Self {
        Self::Int(n as i64)
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::Error(text.into())
    }

    /// As it is sent.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let mut line = |text: String| into.extend(text.as_bytes());
        match self {
            Self::Nil => line("$-1\r\n".into()),
            Self::Int(n) => line(format!(":{n}\r\n")),
            Self::Status(text) => line(format!("+{text}\r\n")),
            Self::Error(text) => line(format!("-{text}\r\n")),
            Self::Bulk(bytes) => {
                line(format!("${}\r\n", bytes.len()));
                into.extend(bytes);
                into.extend(b"\r\n");
            }
            Self::Array(items) => {
                line(format!("*{}\r\n", items.len()));
                items.iter().for_each(|item| item.encode(into));
            }
        }
    }
}

/// As a person reads it.
impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Int(n) => n.fmt(f),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).fmt(f),
            Self::Status(text) => f.write_str(text),
            Self::Error(text) => write!(f, "error {text}"),
            Self::Array(items) => f.debug_list().entries(items).finish(),
        }
    }
}
