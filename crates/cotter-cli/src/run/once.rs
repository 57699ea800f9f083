//! `--slot`: runs a command once per key.

use super::args::Run;
use crate::store::Chosen;
use cotter::{Client, Guard, Name, Note};
use cotter_console::{Console, Exit, Failure};
use serde::{Deserialize, Serialize};

/// The maximum number of keys that are kept; fewer if they do not fit into a note.
const MAX_KEYS: usize = 1000;
/// The maximum length of a key: longer keys would displace too many others.
const MAX_KEY_BYTES: usize = 256;

/// The note of the lock: the keys with which the command has succeeded.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CompletedKeys {
    #[serde(rename = "slots")]
    keys: Vec<String>,
}

/// The key of this run, and those of completed runs.
#[derive(Debug)]
pub(super) struct OnceKey {
    key: String,
    completed: CompletedKeys,
    /// The revision of the note, 0 if there was none.
    seen: u64,
}

/// Refuses the built-in default store if there is a key: once per key means once on all hosts, and each has a `file:` of its
/// own.
pub(super) fn check_store(args: &Run, store: &Chosen) -> Result<(), Failure> {
    if args.slot.is_none() || !store.is_by_default() {
        return Ok(());
    }
    let why = "--slot needs a store that is set explicitly: with the default, file:, every host would run the command by \
               itself; set COTTER_URL, or use --url (--url file: to run once on this host)";
    Err(Failure::config(why))
}

/// Refuses a key if the store keeps no notes, before anything is locked or waited for.
pub(super) async fn check_support(args: &Run, client: &Client, name: &Name) -> Result<(), Failure> {
    if args.slot.is_some() && !client.info().capabilities.notes {
        client.note(name).await?;
    }
    Ok(())
}

/// Parses a key of the command line.
pub(crate) fn parse(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_KEY_BYTES {
        return Err(format!("a key must be 1 to {MAX_KEY_BYTES} bytes long"));
    }
    Ok(text.to_owned())
}

impl OnceKey {
    /// Loads the note, if the arguments have a key. The lock has to be held.
    pub(super) async fn load(args: &Run, client: &Client, name: &Name) -> Result<Option<Self>, Failure> {
        let Some(key) = args.slot.clone() else { return Ok(None) };
        let (completed, seen) = match client.note(name).await? {
            None => (CompletedKeys::default(), 0),
            Some(note) => (serde_json::from_slice(&note.bytes).map_err(|_| foreign(name))?, note.revision),
        };
        Ok(Some(Self { key, completed, seen }))
    }

    /// Writes the note as it was read, if the command is to run: a note that is out of date must not start it again.
    pub(super) async fn confirm(&mut self, guard: &Guard) -> Result<(), Failure> {
        if self.is_done() || self.put(guard).await? {
            return Ok(());
        }
        let why = format!(
            "{:?}: the list of keys that the store has returned is out of date, so the command was not run: reads are answered by a \
             replica that is behind; they have to go where the writes go",
            guard.name()
        );
        Err(Failure::new(Exit::Config, why))
    }

    async fn put(&mut self, guard: &Guard) -> cotter::Result<bool> {
        let bytes = self.bytes();
        Ok(guard.replace_note("", self.seen, bytes).await?.is_some())
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn is_done(&self) -> bool {
        self.completed.keys.contains(&self.key)
    }

    /// Adds the key to the note. A failure is only a warning, because the command has run.
    pub(super) async fn done(&mut self, guard: &Guard, console: &Console) {
        self.completed.keys.push(self.key.clone());
        let why = match self.put(guard).await {
            Ok(true) => return,
            Ok(false) => "somebody else has written the list of keys meanwhile".to_owned(),
            Err(error) => error.to_string(),
        };
        console.warning(&format!("the slot {:?} was not recorded as done: {why}", self.key));
    }

    /// The note with the newest keys that fit.
    fn bytes(&mut self) -> Vec<u8> {
        let keys = &mut self.completed.keys;
        keys.drain(..keys.len().saturating_sub(MAX_KEYS));
        loop {
            let bytes = serde_json::to_vec(&self.completed).unwrap_or_default();
            if bytes.len() <= Note::MAX_BYTES {
                return bytes;
            }
            self.completed.keys.remove(0);
        }
    }
}

fn foreign(name: &Name) -> Failure {
    let why = format!("the note of {name:?} is not a list of keys: use another name, or leave --slot out");
    Failure::new(Exit::UsedOtherwise, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_keys_are_kept() {
        let keys = (0..1200).map(|n| format!("{n:0>200}")).collect();
        let mut key = OnceKey { key: "new".into(), completed: CompletedKeys { keys }, seen: 0 };
        key.completed.keys.push("new".into());
        let bytes = key.bytes();
        assert!(bytes.len() <= Note::MAX_BYTES && bytes.len() > Note::MAX_BYTES - 300);
        assert!(key.is_done());
        assert!(parse("").is_err() && parse(&"x".repeat(257)).is_err() && parse("2031-05-02").is_ok());
    }
}
