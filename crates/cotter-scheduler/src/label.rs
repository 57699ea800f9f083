//! Labels: which hosts run a job.

use crate::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A label of a host, `key=value`: a job [on](crate::Job::on) it is run only by schedulers that
/// [have](crate::Scheduler::label) it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

/// What separates several of them as text. It is in none of them.
const SEPARATOR: &str = ", ";

/// What precedes the name of a host.
const HOST: &str = "host=";

impl Label {
    /// The maximum length of a label, in bytes.
    pub const MAX_BYTES: usize = 100;
    /// How many labels a scheduler can have, and a job can need.
    pub const MAX: usize = 16;

    /// Parses a label, such as `role=db`. Both parts consist of letters, digits and any of `-_.:/`.
    ///
    /// # Errors
    /// [`ErrorKind::Label`] if it is not one.
    pub fn new(text: impl AsRef<str>) -> Result<Self> {
        let text = text.as_ref();
        let wrong = |why| Err(Error::new(ErrorKind::Label, why));
        if text.len() > Self::MAX_BYTES {
            return wrong(format!(
                "a label of {} bytes is too long; the maximum is {}",
                text.len(),
                Self::MAX_BYTES
            ));
        }
        match text.split_once('=') {
            Some((key, value)) if is_word(key) && is_word(value) => Ok(Self(text.into())),
            _ => wrong(format!(
                "{text:?} is not a label: write key=value, such as role=db, in letters, digits and any of -_.:/"
            )),
        }
    }

    /// Returns the label that a scheduler has by the [name](crate::Scheduler::host) of its host, `host=NAME`.
    ///
    /// # Errors
    /// [`ErrorKind::Label`] if a label cannot contain that name.
    pub fn of_host(name: &str) -> Result<Self> {
        Self::new(format!("{HOST}{name}"))
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_.:/".contains(c))
}

impl AsRef<str> for Label {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a host of this name, with these labels, has this one too.
pub(crate) fn has<T: AsRef<str>>(host: &str, mut labels: impl Iterator<Item = T>, label: &str) -> bool {
    label.strip_prefix(HOST) == Some(host) || labels.any(|own| own.as_ref() == label)
}

/// Labels as text, in the settings of a definition.
pub(crate) fn join(labels: &BTreeSet<Label>) -> String {
    labels.iter().map(Label::as_str).collect::<Vec<_>>().join(SEPARATOR)
}

/// The labels in such a text.
pub(crate) fn split(text: &str) -> Vec<String> {
    text.split(SEPARATOR).map(str::to_owned).collect()
}
