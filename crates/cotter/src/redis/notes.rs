//! Values beside names: a hash for each, without expiry.

use super::backend::Native;
use super::errors::garbled;
use super::script;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use redis::Value;
use std::pin::Pin;
use std::time::Duration;

/// How often a note is looked at by one who waits for it to change.
const PERIOD: Duration = Duration::from_millis(250);

#[async_trait]
impl Notes for Native {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(self.keys.note(name, key)).arg("by").arg("revision").arg("bytes");
        let (value, _) = self.link.ask(&cmd).await.map_err(|e| e.with_name(name))?;
        note(value)
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        let (lock, note) = (self.keys.lock(name), self.keys.note(name, at.key));
        let (id, token) = (grant.claim.id.to_string(), format!("{:016}", at.token));
        let sequence = format!("{:016}", at.sequence);
        let args: [&[u8]; 4] = [id.as_bytes(), token.as_bytes(), sequence.as_bytes(), bytes];
        let answer = self.step(&script::NOTE_STORE, &[&lock, &note], &args).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let seen = seen.to_string();
        let answer =
            self.step(&script::NOTE_SWAP, &[&self.keys.note(name, key)], &[seen.as_bytes(), bytes]).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let mut change = Change { native: self, name, key, seen };
        poll::until(&**self.link.clock(), until, &mut change).await
    }
}

/// Empty: refused.
fn revision(answer: &str) -> Result<Option<u64>> {
    if answer.is_empty() {
        return Ok(None);
    }
    answer.parse().map(Some).map_err(|_| garbled(answer))
}

fn note(value: Value) -> Result<Option<Note>> {
    let Value::Array(fields) = value else { return Err(garbled("no list")) };
    match <[Value; 3]>::try_from(fields) {
        Ok([Value::BulkString(by), Value::BulkString(revision), Value::BulkString(bytes)]) => {
            let number = |text: Option<&[u8]>| std::str::from_utf8(text?).ok()?.parse().ok();
            let token = number(by.get(..16)).ok_or_else(|| garbled("a note without a token"))?;
            let revision = number(Some(&revision)).ok_or_else(|| garbled("a note without a revision"))?;
            Ok(Some(Note::new(bytes, token, revision)))
        }
        _ => Ok(None),
    }
}

/// Waits until a note is another one than was seen.
struct Change<'a> {
    native: &'a Native,
    name: &'a Name,
    key: &'a str,
    seen: u64,
}

impl Attempt for Change<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        let note = self.native.load(self.name, self.key).await?;
        Ok(note.filter(|n| n.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::pending())
    }

    fn period(&self) -> Duration {
        PERIOD
    }
}
