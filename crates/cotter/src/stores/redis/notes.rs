//! Notes: a hash for each, without an expiry.

use super::backend::Native;
use super::errors::unexpected;
use super::script;
use super::watched::WatchedNote;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::stores::shared::net::Listener;
use crate::{Name, Note, Result};
use async_trait::async_trait;
use redis::Value;
use std::pin::Pin;
use std::time::Duration;

/// A watched note is loaded at least this often, so that a lost message costs no more.
const POLL_PERIOD: Duration = Duration::from_secs(5);
/// The same without a subscription to its channel.
const UNSUBSCRIBED_POLL_PERIOD: Duration = Duration::from_millis(250);

#[async_trait]
impl Notes for Native {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let mut cmd = redis::cmd("HMGET");
        cmd.arg(self.keys.note(name, key)).arg("by").arg("revision").arg("bytes");
        let (value, _) = self.link.query(&cmd).await.map_err(|e| e.with_name(name))?;
        Ok(dated(value)?.map(|(note, _)| note))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        let (keys, note) = (self.keys.of(name), self.keys.note(name, at.key));
        let (id, token) = (grant.claim.id.to_string(), format!("{:016}", at.token));
        let sequence = format!("{:016}", at.sequence);
        let seen = at.seen.map_or(String::new(), |seen| seen.to_string());
        let args: [&[u8]; 5] = [id.as_bytes(), token.as_bytes(), sequence.as_bytes(), bytes, seen.as_bytes()];
        let answer = self.run(&script::NOTE_STORE, &[&keys.all()[..], &[&note]].concat(), &args).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let seen = seen.to_string();
        let answer =
            self.run(&script::NOTE_SWAP, &[&self.keys.note(name, key)], &[seen.as_bytes(), bytes]).await;
        revision(&answer.map_err(|e| e.with_name(name))?)
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        if matches!(until, Until::Now) {
            return Ok(self.load(name, key).await?.filter(|note| note.revision != seen));
        }
        let watched = self.subscription.watch(&self.keys.note(name, key));
        let mut change = NoteChange { native: self, name, key, seen, watched };
        poll::until(&**self.link.clock(), until, &mut change).await
    }
}

/// Waits until the revision of a note differs from the one that was seen.
struct NoteChange<'a> {
    native: &'a Native,
    name: &'a Name,
    key: &'a str,
    seen: u64,
    watched: (WatchedNote, Listener),
}

impl Attempt for NoteChange<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        // Opens the subscription again if it was closed since.
        self.native.subscription.is_open();
        Ok(self.native.load(self.name, self.key).await?.filter(|note| note.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.watched.0.changed.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        if self.watched.0.is_subscribed() { POLL_PERIOD } else { UNSUBSCRIBED_POLL_PERIOD }
    }
}

/// The new revision; `None` if the write was refused.
fn revision(answer: &str) -> Result<Option<u64>> {
    if answer.is_empty() {
        return Ok(None);
    }
    answer.parse().map(Some).map_err(|_| unexpected(answer))
}

/// The note and its sequence number; 0 if it was swapped in.
pub(super) fn dated(value: Value) -> Result<Option<(Note, u64)>> {
    let Value::Array(fields) = value else { return Err(unexpected("no list")) };
    match <[Value; 3]>::try_from(fields) {
        Ok([Value::BulkString(by), Value::BulkString(revision), Value::BulkString(bytes)]) => {
            let number = |text: Option<&[u8]>| std::str::from_utf8(text?).ok()?.parse().ok();
            let token = number(by.get(..16)).ok_or_else(|| unexpected("a note without a token"))?;
            let revision = number(Some(&revision)).ok_or_else(|| unexpected("a note without a revision"))?;
            Ok(Some((Note::new(bytes, token, revision), number(by.get(17..)).unwrap_or_default())))
        }
        _ => Ok(None),
    }
}
