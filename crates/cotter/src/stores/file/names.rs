//! File names for lock names.
//!
//! Everything except lower-case ASCII letters, digits, `_`, `-` and an inner `.` is written as `%xx`, so that two names
//! never share a file, not even on a file system that ignores case. Long names are cut, and end in `~` and their SHA-256;
//! the file itself then contains the name.

use crate::Name;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// With the longest suffix this stays below the 255 bytes of a file name.
const MAX_SIZE: usize = 200;
/// The part of a long name that is kept, for people.
const PREFIX_SIZE: usize = 100;

/// The file name for a name or key, without a suffix. Empty for the empty key.
pub(super) fn encode(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len() + 8);
    let bytes = name.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let inner = at > 0 && at + 1 < bytes.len();
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => encoded.push(byte.into()),
            b'.' if inner => encoded.push('.'),
            _ => push_hex(&mut encoded, '%', &[byte]),
        }
    }
    if encoded.len() > MAX_SIZE {
        encoded.truncate(PREFIX_SIZE);
        push_hex(&mut encoded, '~', &Sha256::digest(bytes));
    }
    encoded
}

/// The name behind a file name; `None` when it was cut, or was not made by [`encode`].
pub(super) fn decode(encoded: &str) -> Option<Name> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let (byte, others) = match first {
            b'%' => (hex(others.get(..2)?)?, &others[2..]),
            _ => (first, others),
        };
        bytes.push(byte);
        rest = others;
    }
    let name = Name::new(String::from_utf8(bytes).ok()?).ok()?;
    (encode(&name) == encoded).then_some(name)
}

fn push_hex(text: &mut String, mark: char, bytes: &[u8]) {
    text.push(mark);
    for byte in bytes {
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
}

pub(super) fn hex(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_readable() {
        assert_eq!(encode("orders-2.cleanup_7"), "orders-2.cleanup_7");
        assert_eq!(encode("orders:cleanup"), "orders%3acleanup");
    }

    #[test]
    fn names_that_look_alike_get_files_of_their_own() {
        let long = "x".repeat(512);
        let longer = format!("{}y", "x".repeat(511));
        let names = [
            "job", "Job", "JOB", "job ", " job", "a/b", "a%2fb", "..", ".", "...", "a..b", "{}", "'\"", "🔒",
            "iPhone 7", "a\u{301}", "á", "~", "notes", "=", &long, &longer,
        ];
        let files: std::collections::HashSet<_> = names.iter().map(|n| encode(n).to_lowercase()).collect();
        assert_eq!(files.len(), names.len());
        for file in files {
            assert!(file.len() <= MAX_SIZE && !file.starts_with('.') && !file.contains('/'), "{file}");
        }
    }

    #[test]
    fn what_was_not_cut_is_read_back() {
        for name in ["job", "Job ", "a/../b", "🔒", "100%"] {
            assert_eq!(decode(&encode(name)).as_deref(), Some(name));
        }
        for foreign in ["%2", "%zz", "Job", "%6a", "a~b", ""] {
            assert_eq!(decode(foreign), None, "{foreign}");
        }
        assert_eq!(decode(&encode(&"ü".repeat(256))), None);
    }
}
