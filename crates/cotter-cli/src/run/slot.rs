//! `--slot`: once for each key.

use super::args::Run;
use crate::exit::Exit;
use crate::output::{Console, Failure};
use cotter::{Client, Guard, Name, Note};
use serde::{Deserialize, Serialize};

/// So many keys are remembered, and no more than fit into a note.
const KEPT: usize = 1000;
/// Longer keys would push out others.
const LONGEST: usize = 256;

/// The note beside the lock.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {
    slots: Vec<String>,
}

/// One key, and those that are done.
#[derive(Debug)]
pub(super) struct Slot {
    key: String,
    done: Done,
}

/// A key of the command line.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > LONGEST {
        return Err(format!("a key has 1 to {LONGEST} bytes"));
    }
    Ok(text.to_owned())
}

impl Slot {
    /// The one of the arguments. To be asked by a holder.
    pub(super) async fn load(args: &Run, client: &Client, name: &Name) -> Result<Option<Self>, Failure> {
        let Some(key) = args.slot.clone() else { return Ok(None) };
        let done = match client.note(name).await? {
            None => Done::default(),
            Some(note) => serde_json::from_slice(&note.bytes).map_err(|_| foreign(name))?,
        };
        Ok(Some(Self { key, done }))
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn is_done(&self) -> bool {
        self.done.slots.contains(&self.key)
    }

    /// Notes that it is done. The command has run all the same when that fails.
    pub(super) async fn done(&mut self, guard: &Guard, console: &Console) {
        self.done.slots.push(self.key.clone());
        if let Err(error) = guard.put_note(self.bytes()).await {
            console.warning(&format!("the slot {:?} was not noted as done: {error}", self.key));
        }
    }

    /// The newest that fit.
    fn bytes(&mut self) -> Vec<u8> {
        let slots = &mut self.done.slots;
        slots.drain(..slots.len().saturating_sub(KEPT));
        loop {
            let bytes = serde_json::to_vec(&self.done).unwrap_or_default();
            if bytes.len() <= Note::MAX_BYTES {
                return bytes;
            }
            self.done.slots.remove(0);
        }
    }
}

fn foreign(name: &Name) -> Failure {
    let why = format!("the note of {name:?} is not a list of slots: use another name, or leave --slot out");
    Failure::new(Exit::UsedOtherwise, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_keys_are_kept() {
        let slots = (0..1200).map(|n| format!("{n:0>200}")).collect();
        let mut slot = Slot { key: "new".into(), done: Done { slots } };
        slot.done.slots.push("new".into());
        let bytes = slot.bytes();
        assert!(bytes.len() <= Note::MAX_BYTES && bytes.len() > Note::MAX_BYTES - 300);
        assert!(slot.is_done());
        assert!(parse("").is_err() && parse(&"x".repeat(257)).is_err() && parse("2031-05-02").is_ok());
    }
}
