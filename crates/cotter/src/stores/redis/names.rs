//! The keys of a name: all in one cluster slot, and all matched by one pattern.

use super::options::Options;
use crate::Name;
use std::fmt::Write;

/// The keys of a name, in the order in which the scripts take them: all that they touch, and all in one slot of a cluster.
///
/// | | key | what it has |
/// |---|---|---|
/// | 1 | | the state of the lock |
/// | 2, 3 | `:q`, `:w` | its queue, and the records of those who wait |
/// | 4, 5 | `:r`, `:h` | the leases and the records of those who share it |
/// | 6 | `:e` | the claims that were evicted |
/// | 7 | `:none` | nothing, ever |
///
/// While a slot moves, a node carries out what needs no key that is missing, and a script that needs one only in its middle ends
/// there. One key that is always missing has it refused before its first step.
#[derive(Debug)]
pub(super) struct LockKeys {
    /// One after the other.
    text: String,
    /// The length of the first.
    lock: usize,
}

/// What the keys behind the first one end with.
const TAILS: [&str; 6] = [QUEUE, WAITERS, SHARES, RECORDS, EVICTED, NONE];
const QUEUE: &str = ":q";
const WAITERS: &str = ":w";
const SHARES: &str = ":r";
const RECORDS: &str = ":h";
const EVICTED: &str = ":e";
const NONE: &str = ":none";

impl LockKeys {
    pub(super) fn new(lock: &str) -> Self {
        let tails: usize = TAILS.iter().map(|tail| tail.len()).sum();
        // Every request needs it.
        let mut text = String::with_capacity(lock.len() * (TAILS.len() + 1) + tails);
        text.push_str(lock);
        for tail in TAILS {
            text.push_str(lock);
            text.push_str(tail);
        }
        Self { text, lock: lock.len() }
    }

    /// Those of a lock, and of its waiters, and of those who share it.
    pub(super) fn all(&self) -> [&str; 7] {
        let mut rest = &self.text[self.lock..];
        let tails = TAILS.map(|tail| {
            let (key, others) = rest.split_at(self.lock + tail.len());
            rest = others;
            key
        });
        let [queue, waiters, shares, records, evicted, none] = tails;
        [self.lock(), queue, waiters, shares, records, evicted, none]
    }

    /// What the extension of a share needs.
    pub(super) fn of_share(&self) -> [&str; 5] {
        let [lock, _, _, shares, records, evicted, none] = self.all();
        [lock, shares, records, evicted, none]
    }

    pub(super) fn lock(&self) -> &str {
        &self.text[..self.lock]
    }

    pub(super) fn queue(&self) -> &str {
        self.all()[1]
    }
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

    /// The keys that a free lock is known by: its own, and its queue.
    pub(super) fn of_free(&self, name: &str) -> (String, String) {
        let lock = self.lock(name);
        let queue = [&lock, QUEUE].concat();
        (lock, queue)
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
        let tails =
            keys.of("a").all().map(|key| key.strip_prefix("cotter:{a}").expect("it begins so").to_owned());
        assert_eq!(tails, ["", ":q", ":w", ":r", ":h", ":e", ":none"]);
        assert_eq!(keys.name(b"other:{a}"), None);
        assert_eq!(keys.pattern("a*b"), "cotter:{a\\*b*}");
    }
}
