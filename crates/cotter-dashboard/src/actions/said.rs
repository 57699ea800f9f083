//! What has come of a change. It is kept here, and the address of the page that shows it has only its number: a link of somebody else
//! shows nothing.

use crate::door::Secret;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// So many are remembered.
const KEPT: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Said(Mutex<VecDeque<(String, String)>>);

impl Said {
    /// Returns the number of a text.
    pub(super) fn keep(&self, text: String) -> String {
        let id = Secret::random().told().to_owned();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_front((id.clone(), text));
        all.truncate(KEPT);
        id
    }

    pub(super) fn of(&self, id: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(known, _)| known == id).map(|(_, text)| text.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept() {
        let said = Said::default();
        let ids: Vec<_> = (0..=KEPT).map(|i| said.keep(i.to_string())).collect();
        assert_eq!((said.of(&ids[0]), said.of(&ids[1])), (None, Some("1".to_owned())));
        assert_eq!(said.of(""), None);
    }
}
