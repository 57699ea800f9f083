//! The keys of a name: all in one cluster slot, and all matched by one pattern.

use super::options::Options;
use crate::Name;
use std::fmt::Write;

/// The keys of a lock: its state, its queue, and the records of its waiters. The scripts derive the others from the first:
/// `:r` and `:h`, the leases and the records of those who share it, and `:e`, the claims that were evicted.
#[derive(Debug)]
pub(super) struct LockKeys {
    queue: String,
    waiters: String,
}

impl LockKeys {
    pub(super) fn new(lock: &str) -> Self {
        Self { queue: concat(lock, QUEUE), waiters: concat(lock, WAITERS) }
    }

    /// In the order in which the scripts take them.
    pub(super) fn all(&self) -> [&str; 3] {
        [&self.queue[..self.queue.len() - QUEUE.len()], &self.queue, &self.waiters]
    }

    pub(super) fn lock(&self) -> &str {
        self.all()[0]
    }

    pub(super) fn queue(&self) -> &str {
        &self.queue
    }
}

const QUEUE: &str = ":q";
const WAITERS: &str = ":w";

/// Concatenates without a formatter, because every request needs it.
fn concat(lock: &str, tail: &str) -> String {
    let mut key = String::with_capacity(lock.len() + tail.len());
    key.push_str(lock);
    key.push_str(tail);
    key
}

/// Translates names to keys and back.
#[derive(Debug)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(options: &Options) -> Self {
        Self { prefix: format!("{}:{{", options.prefix) }
    }

    /// The key of a lock. The other keys of its name begin with it, followed by `:q` and the like.
    pub(super) fn lock(&self, name: &str) -> String {
        let mut key = String::with_capacity(self.prefix.len() + name.len() + 1);
        key.push_str(&self.prefix);
        encode(name, &mut key);
        key.push('}');
        key
    }

    /// All keys of the lock on a name.
    pub(super) fn of(&self, name: &str) -> LockKeys {
        LockKeys::new(&self.lock(name))
    }

    /// The key that counts the grants of a name in a quorum whose members speak the plain protocol.
    pub(super) fn count(&self, name: &Name) -> String {
        self.lock(name) + ":count"
    }

    pub(super) fn note(&self, name: &Name, note: &str) -> String {
        let mut key = self.lock(name);
        key.push_str(":note:");
        encode(note, &mut key);
        key
    }

    /// A pattern for SCAN that matches the lock keys of all names that begin with `prefix`, and none of their other keys.
    pub(super) fn pattern(&self, prefix: &str) -> String {
        let mut begin = self.prefix.clone();
        encode(prefix, &mut begin);
        let mut pattern = String::with_capacity(begin.len() + 2);
        for c in begin.chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        pattern.push_str("*}");
        pattern
    }

    /// The name of a key that [`pattern`](Self::pattern) matches; `None` if cotter did not write the key.
    pub(super) fn name(&self, key: &[u8]) -> Option<Name> {
        let inner = key.strip_prefix(self.prefix.as_bytes())?.strip_suffix(b"}")?;
        let decoded = crate::stores::shared::net::decode("key", std::str::from_utf8(inner).ok()?).ok()?;
        Name::new(decoded).ok().filter(|name| self.lock(name).as_bytes() == key)
    }
}

/// Percent-encodes braces, which would change the hash tag, and control characters. The percent sign itself is encoded so
/// that decoding is unambiguous.
fn encode(text: &str, key: &mut String) {
    if text.bytes().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'%' | b'{' | b'}')) {
        key.push_str(text);
        return;
    }
    for c in text.chars() {
        if c.is_control() || matches!(c, '%' | '{' | '}') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                write!(key, "%{byte:02X}").expect("writing to a string succeeds");
            }
        } else {
            key.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let keys = Keys::new(&Options::new("test".into()));
        for name in ["a", "{a}", "a}b{", "100%", "a:q", "a%7D", "日本語", "*?[]\\^"] {
            let name = Name::new(name).unwrap();
            let key = keys.lock(&name);
            assert_eq!(key.matches(['{', '}']).count(), 2, "{key}");
            assert_eq!(keys.name(key.as_bytes()), Some(name));
        }
        assert_eq!(keys.name(b"cotter:{a}:q"), None);
        assert_eq!(keys.of("a").all(), ["cotter:{a}", "cotter:{a}:q", "cotter:{a}:w"]);
        assert_eq!(keys.name(b"other:{a}"), None);
        assert_eq!(keys.pattern("a*b"), "cotter:{a\\*b*}");
    }
}
