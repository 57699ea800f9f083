//! A table of the file, its known keys, and mistakes.

use super::Mistake;
use crate::nearest::nearest;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The mistakes in a file. Duplicates, as from two jobs with the same default, are reported once.
#[derive(Debug)]
pub(super) struct Mistakes {
    /// Where the lines of the file end, in ascending order.
    ends: Vec<usize>,
    found: BTreeSet<Mistake>,
}

impl Mistakes {
    pub(super) fn new(text: &str) -> Self {
        Self { ends: text.match_indices('\n').map(|(at, _)| at).collect(), found: BTreeSet::new() }
    }

    /// Adds a mistake at a byte of the file.
    pub(super) fn add(&mut self, at: usize, message: impl Into<String>) {
        let line = self.ends.partition_point(|end| *end < at) + 1;
        self.found.insert(Mistake { line, message: message.into() });
    }

    pub(super) fn all(self) -> Vec<Mistake> {
        self.found.into_iter().collect()
    }
}

/// A table.
#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    table: &'a DeTable<'a>,
    /// The position of the table.
    at: usize,
    /// The prefix of mistakes.
    what: String,
    /// Fallbacks for some keys, in order.
    fallbacks: Vec<(&'a Section<'a>, &'static [&'static str])>,
}

impl<'a> Section<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, at: usize, what: impl Into<String>) -> Self {
        Self { table, at, what: what.into(), fallbacks: Vec::new() }
    }

    /// Adds a fallback for some keys.
    pub(super) fn or(mut self, other: Option<&'a Section<'a>>, keys: &'static [&'static str]) -> Self {
        self.fallbacks.extend(other.map(|other| (other, keys)));
        self
    }

    /// Reports unknown keys.
    pub(super) fn check_keys(&self, known: &[&str], mistakes: &mut Mistakes) {
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let hint = match nearest(key.get_ref(), known) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; known keys are {}", known.join(", ")),
            };
            mistakes.add(key.span().start, format!("{}unknown key `{}`{hint}", self.what, key.get_ref()));
        }
    }

    /// The value of a key, if it is set and valid.
    pub(super) fn get<T>(
        &self,
        key: &str,
        mistakes: &mut Mistakes,
        read: impl Fn(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let (section, value) = self.find(key)?;
        let why = match read(value.get_ref()) {
            Ok(value) => return Some(value),
            Err(why) => why,
        };
        mistakes.add(value.span().start, format!("{}`{key}`: {why}", section.what));
        None
    }

    /// The values of a key in all tables that have it, with their sections: the most general first, this one last.
    pub(super) fn layers(&self, key: &str) -> Vec<(&Section<'a>, &Spanned<DeValue<'a>>)> {
        let others = self.fallbacks.iter().rev().filter(|(_, keys)| keys.contains(&key));
        let general = others.flat_map(|(section, _)| section.layers(key));
        general.chain(self.table.get(key).map(|value| (self, value))).collect()
    }

    /// Adds a mistake that is not about the type of a value.
    pub(super) fn wrong(&self, at: usize, message: &str, mistakes: &mut Mistakes) {
        mistakes.add(at, format!("{}{message}", self.what));
    }

    /// The only one of these keys that is set.
    pub(super) fn exactly_one<'k>(&self, keys: &[&'k str], mistakes: &mut Mistakes) -> Option<&'k str> {
        let given: Vec<&str> = keys.iter().copied().filter(|key| self.has(key)).collect();
        let names = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        match given[..] {
            [one] => Some(one),
            [] => {
                self.wrong(self.at(), &format!("one of {names} is missing"), mistakes);
                None
            }
            [first, second, ..] => {
                let at = self.at_key(first).max(self.at_key(second));
                self.wrong(at, &format!("only one of {names} can be set"), mistakes);
                None
            }
        }
    }

    /// Whether the key is in this table itself.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// The position of a key, or of the section.
    pub(super) fn at_key(&self, key: &str) -> usize {
        let found = self.table.keys().find(|k| k.get_ref() == key);
        found.map_or(self.at, |key| key.span().start)
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn find(&self, key: &str) -> Option<(&Section<'a>, &Spanned<DeValue<'a>>)> {
        if let Some(value) = self.table.get(key) {
            return Some((self, value));
        }
        let mut others = self.fallbacks.iter().filter(|(_, keys)| keys.contains(&key));
        others.find_map(|(section, _)| section.find(key))
    }
}
