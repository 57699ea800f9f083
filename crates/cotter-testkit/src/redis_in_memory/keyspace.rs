//! Keys, their values, and when they end.

use std::collections::{BTreeMap, VecDeque};

/// What a key has.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Bytes.
    String(Vec<u8>),
    /// Fields in the order in which they were added, as in a small hash of Redis.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// From head to tail.
    List(VecDeque<Vec<u8>>),
    /// By score, and by member where that is the same.
    SortedSet(Vec<(f64, Vec<u8>)>),
}

/// What a key has and when it ends, in ms since 1970, if it exists.
pub type Found = Option<(Value, Option<u64>)>;

/// All keys of a server.
#[derive(Debug, Default)]
pub(super) struct Keyspace {
    keys: BTreeMap<Vec<u8>, Entry>,
    /// Microseconds since 1970. It stands still while a request is carried out.
    pub(super) micros: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    value: Value,
    /// Milliseconds since 1970. It ends when the time is later than that.
    ends: Option<u64>,
}

/// The key has something else.
#[derive(Debug)]
pub(super) struct WrongType;

impl Keyspace {
    pub(super) fn millis(&self) -> u64 {
        self.micros / 1000
    }

    fn entry(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let now = self.millis();
        if self.keys.get(key)?.ends.is_some_and(|ends| ends < now) {
            self.keys.remove(key);
        }
        self.keys.get_mut(key)
    }

    pub(super) fn get(&mut self, key: &[u8]) -> Option<&mut Value> {
        self.entry(key).map(|entry| &mut entry.value)
    }

    /// Stores a value that has no end.
    pub(super) fn put(&mut self, key: &[u8], value: Value) {
        self.keys.insert(key.to_vec(), Entry { value, ends: None });
    }

    /// Removes a key, which may have existed.
    pub(super) fn remove(&mut self, key: &[u8]) -> bool {
        self.entry(key).is_some() && self.keys.remove(key).is_some()
    }

    pub(super) fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        if self.entry(from).is_none() {
            return false;
        }
        let entry = self.keys.remove(from).expect("it was there");
        self.keys.insert(to.to_vec(), entry);
        true
    }

    /// When a key ends, in ms since 1970; `None` if there is no such key.
    pub(super) fn ends(&mut self, key: &[u8]) -> Option<Option<u64>> {
        self.entry(key).map(|entry| entry.ends)
    }

    /// Sets when a key ends. False if there is no such key.
    pub(super) fn set_ends(&mut self, key: &[u8], ends: Option<u64>) -> bool {
        let now = self.millis();
        match ends.is_some_and(|ends| ends <= now) {
            true => self.remove(key),
            false => self.entry(key).map(|entry| entry.ends = ends).is_some(),
        }
    }

    /// The keys that exist.
    pub(super) fn names(&mut self) -> Vec<Vec<u8>> {
        let now = self.millis();
        self.keys.retain(|_, entry| entry.ends.is_none_or(|ends| ends >= now));
        self.keys.keys().cloned().collect()
    }

    /// What a key has, and when it ends, as another server may be asked for.
    pub(super) fn copy(&mut self, key: &[u8]) -> Found {
        self.entry(key).map(|entry| (entry.value.clone(), entry.ends))
    }

    pub(super) fn string(&mut self, key: &[u8]) -> Result<Option<&mut Vec<u8>>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(bytes)) => Ok(Some(bytes)),
            Some(_) => Err(WrongType),
        }
    }

    pub(super) fn hash(&mut self, key: &[u8]) -> Result<Option<&mut Fields>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Hash(fields)) => Ok(Some(fields)),
            Some(_) => Err(WrongType),
        }
    }

    pub(super) fn list(&mut self, key: &[u8]) -> Result<Option<&mut VecDeque<Vec<u8>>>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::List(items)) => Ok(Some(items)),
            Some(_) => Err(WrongType),
        }
    }

    pub(super) fn sorted_set(&mut self, key: &[u8]) -> Result<Option<&mut Members>, WrongType> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::SortedSet(members)) => Ok(Some(members)),
            Some(_) => Err(WrongType),
        }
    }

    /// A key whose last element was removed does not exist.
    pub(super) fn drop_if_empty(&mut self, key: &[u8]) {
        let is_empty = match self.get(key) {
            Some(Value::Hash(fields)) => fields.is_empty(),
            Some(Value::List(items)) => items.is_empty(),
            Some(Value::SortedSet(members)) => members.is_empty(),
            _ => false,
        };
        if is_empty {
            self.keys.remove(key);
        }
    }
}

/// The fields of a hash.
pub(super) type Fields = Vec<(Vec<u8>, Vec<u8>)>;
/// The members of a sorted set.
pub(super) type Members = Vec<(f64, Vec<u8>)>;
