//! Being a member of a quorum whose notes are swapped.

use super::backend::Memory;
use super::notes::{Kept, Key, NoteTable};
use crate::backend::{Acceptor, Promise, Proposal};
use crate::sync::lock;
use crate::{Name, Note, Result};
use async_trait::async_trait;

/// The state of a swapped note besides its value.
#[derive(Debug, Default)]
pub(super) struct Register {
    /// The largest number that was promised.
    promised: u64,
    /// The origins of the values before it.
    before: Vec<u64>,
}

impl NoteTable {
    fn prepare(&self, key: Key, number: u64) -> Promise {
        let mut registers = lock(&self.registers);
        let last = self.dated(&key);
        if last.as_ref().is_some_and(|(note, _)| note.token.get() > 0) {
            return Promise::WrittenByHolder;
        }
        let register = registers.entry(key).or_default();
        if register.promised >= number {
            return Promise::Refused(register.promised);
        }
        register.promised = number;
        let before = register.before.clone();
        Promise::Given(last.map(|(note, number)| Proposal::new(number, note.revision, before, note.bytes)))
    }

    fn accept(&self, key: Key, proposal: &Proposal) -> bool {
        let mut registers = lock(&self.registers);
        let register = registers.entry(key.clone()).or_default();
        if register.promised > proposal.number {
            return false;
        }
        let accepted = self.replace(key, |old| {
            let by_holder = old.is_some_and(|k| k.note.token.get() > 0);
            let note = Note::new(proposal.bytes.clone(), 0, proposal.origin);
            (!by_holder).then_some(Kept { note, sequence: proposal.number })
        });
        if accepted.is_some() {
            *register = Register { promised: proposal.number, before: proposal.before.clone() };
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
