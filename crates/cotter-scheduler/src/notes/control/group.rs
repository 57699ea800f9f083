//! The requests to the whole group.

use super::super::run::is_default;
use super::super::{Changes, foreign, instant};
use super::pause::{self, Pause};
use crate::{Result, UnixTime};
use cotter::Note;
use serde::{Deserialize, Serialize};

/// The key of the requests to the whole group.
pub(crate) const GROUP: &str = "group";

/// The requests to the whole group, and what has changed: the note that runners watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupControl {
    #[serde(rename = "p", default, skip_serializing_if = "is_default")]
    pub(crate) pause: Option<Pause>,
    #[serde(rename = "r", with = "instant::maybe", default, skip_serializing_if = "is_default")]
    pub(crate) resumed_at: Option<UnixTime>,
    /// The operator of the last request to the group.
    #[serde(rename = "b", default, skip_serializing_if = "is_default")]
    pub(crate) by: String,
    /// Changes of the requests to single jobs.
    #[serde(flatten)]
    pub(super) jobs: Changes,
    /// Changes of the one-shot runs.
    #[serde(rename = "o", default, skip_serializing_if = "is_default")]
    pub(super) one_shots: Changes,
    /// A random number, new at each change: a note that is lost and written again may have the revision of the one before.
    #[serde(rename = "e", default, skip_serializing_if = "is_default")]
    pub(super) edit: u64,
    /// A random number that is kept: the changes of another note, from before the store lost its data, are not continued here.
    #[serde(rename = "i", default, skip_serializing_if = "is_default")]
    pub(super) origin: u64,
}

impl GroupControl {
    /// Whether the note that was seen is lost, and this one was begun without it.
    pub(super) fn is_another(&self, seen: &Self) -> bool {
        seen.origin != 0 && self.origin != seen.origin
    }

    /// A pause that ends no earlier than this one stays as it is. Returns whether anything has changed.
    pub(crate) fn pause(&mut self, pause: Pause) -> bool {
        self.by.clone_from(&pause.by);
        pause::begin(&mut self.pause, pause)
    }

    /// Returns whether anything has changed.
    pub(crate) fn resume(&mut self, by: &str, now: UnixTime) -> bool {
        by.clone_into(&mut self.by);
        pause::end(&mut self.pause, &mut self.resumed_at, now)
    }

    /// Ends a pause whose time is over. Returns whether anything has changed.
    pub(crate) fn expire(&mut self, now: UnixTime) -> bool {
        pause::expire(&mut self.pause, &mut self.resumed_at, now)
    }

    pub(super) fn parse(note: Option<&Note>) -> Result<Self> {
        let Some(note) = note else { return Ok(Self::default()) };
        serde_json::from_slice(&note.bytes).map_err(|e| foreign("requests for the group", &e))
    }
}
