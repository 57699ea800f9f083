//! Notes: a hash for each, without an expiry.

use super::backend::Native;
use super::errors::unexpected;
use super::script;
use crate::backend::poll::{self, NoteChange};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use redis::Value;
use std::time::Duration;

/// The period at which a note is loaded while somebody waits for it to change.
const PERIOD: Duration = Duration::from_millis(250);

#[async_trait]
impl Notes for Native {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(self.keys.note(name, key)).arg("by").arg("revision").arg("bytes");
        let (value, _) = self.link.query(&cmd).await.map_err(|e| e.with_name(name))?;
        note(value)
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        let (lock, note) = (self.keys.lock(name), self.keys.note(name, at.key));
        let (id, token) = (grant.claim.id.to_string(), format!("{:016}", at.token));
        let sequence = format!("{:016}", at.sequence);
        let args: [&[u8]; 4] = [id.as_bytes(), token.as_bytes(), sequence.as_bytes(), bytes];
        let answer = self.run(&script::NOTE_STORE, &[&lock, &note], &args).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let seen = seen.to_string();
        let answer =
            self.run(&script::NOTE_SWAP, &[&self.keys.note(name, key)], &[seen.as_bytes(), bytes]).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let mut change = NoteChange::new(seen, PERIOD, || self.load(name, key));
        poll::until(&**self.link.clock(), until, &mut change).await
    }
}

/// The new revision; `None` if the write was refused.
fn revision(answer: &str) -> Result<Option<u64>> {
    if answer.is_empty() {
        return Ok(None);
    }
    answer.parse().map(Some).map_err(|_| unexpected(answer))
}

fn note(value: Value) -> Result<Option<Note>> {
    let Value::Array(fields) = value else { return Err(unexpected("no list")) };
    match <[Value; 3]>::try_from(fields) {
        Ok([Value::BulkString(by), Value::BulkString(revision), Value::BulkString(bytes)]) => {
            let number = |text: Option<&[u8]>| std::str::from_utf8(text?).ok()?.parse().ok();
            let token = number(by.get(..16)).ok_or_else(|| unexpected("a note without a token"))?;
            let revision = number(Some(&revision)).ok_or_else(|| unexpected("a note without a revision"))?;
            Ok(Some(Note::new(bytes, token, revision)))
        }
        _ => Ok(None),
    }
}
