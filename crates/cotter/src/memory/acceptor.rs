//! Being a member of a quorum whose notes are swapped.

use super::backend::Memory;
use super::notes::{Kept, Key, NoteTable};
use crate::backend::{Acceptor, Promise, Proposal};
use crate::sync::lock;
use crate::{Name, Note, Result};
use async_trait::async_trait;

impl NoteTable {
    fn prepare(&self, key: Key, number: u64) -> Promise {
        let mut promised = lock(&self.promised);
        let last = self.dated(&key);
        if last.as_ref().is_some_and(|(note, _)| note.token.get() > 0) {
            return Promise::WrittenByHolder;
        }
        match promised.get(&key) {
            Some(before) if *before >= number => return Promise::Refused(*before),
            _ => promised.insert(key, number),
        };
        Promise::Given(last.map(|(note, number)| Proposal::new(number, note.revision, note.bytes)))
    }

    fn accept(&self, key: Key, proposal: &Proposal) -> bool {
        let mut promised = lock(&self.promised);
        if promised.get(&key).is_some_and(|number| *number > proposal.number) {
            return false;
        }
        let accepted = self.replace(key.clone(), |old| {
            let by_holder = old.is_some_and(|k| k.note.token.get() > 0);
            let note = Note::new(proposal.bytes.clone(), 0, proposal.origin);
            (!by_holder).then_some(Kept { note, sequence: proposal.number })
        });
        if accepted.is_some() {
            promised.insert(key, proposal.number);
        }
        accepted.is_some()
    }
}

#[async_trait]
impl Acceptor for Memory {
    async fn prepare(&self, name: &Name, key: &str, number: u64) -> Result<Promise> {
        Ok(self.shared.notes.prepare((name.clone(), key.into()), number))
    }

    async fn accept(&self, name: &Name, key: &str, proposal: &Proposal) -> Result<bool> {
        Ok(self.shared.notes.accept((name.clone(), key.into()), proposal))
    }
}
