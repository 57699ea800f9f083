//! Notes: a key for each, without a lease. What guards them is a condition of the transaction that writes them.

use super::backend::{Etcd, Inner};
use super::errors::unexpected;
use super::messages::{KeyValue, Operation, Target, TxnRequest, TxnResponse};
use super::requests::{TXN, either, equal, less, nested, put, read};
use super::watches::Watched;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Name, Note, Result};
use async_trait::async_trait;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A watched note is loaded at least this often, in case its watch was interrupted.
const POLL_PERIOD: Duration = Duration::from_secs(5);
/// Token and sequence in front of the bytes, 16 digits each, so that they compare as texts.
const HEAD: usize = 32;
const TOKEN: usize = 16;

#[async_trait]
impl Notes for Etcd {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.inner.load(name, key).await.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        self.inner.store(grant, at, bytes).await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let note = self.inner.keys.note(name, key);
        let seen = i64::try_from(seen).unwrap_or(i64::MAX);
        let unchanged = equal(note.clone(), Target::Modified(seen));
        let write = put(note, &value(0, 0, bytes), 0);
        let txn = TxnRequest { compare: vec![unchanged], success: vec![write], failure: Vec::new() };
        let answer: TxnResponse =
            self.inner.link.ask(TXN, txn).await.map_err(|e| crate::Error::from(e).with_name(name))?;
        answer.succeeded.then(|| revision(&answer)).transpose()
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let woken = Arc::default();
        let _watched = self.inner.watches.follow(self.inner.keys.note(name, key), &woken);
        let mut change = NoteChange { inner: &self.inner, name, key, seen, woken, _watched };
        poll::until(&**self.inner.link.host().clock(), until, &mut change).await
    }
}

impl Inner {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let question = TxnRequest::of(vec![read(self.keys.note(name, key))]);
        let answer: TxnResponse = self.link.ask(TXN, question).await?;
        answer.found(0).first().map(note).transpose()
    }

    /// Only for an entry that is there, was not evicted, and holds; and only over a smaller token and sequence.
    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let Some(seat) = self.seats.place(grant.claim.id) else { return Ok(None) };
        let note = self.keys.note(&grant.claim.name, at.key);
        let value = value(at.token, at.sequence, bytes);
        let write = || put(note.clone(), &value, 0);
        let is_smaller = less(note.clone(), Target::Value(value[..HEAD].to_vec()));
        let over_smaller: Operation = nested(vec![is_smaller], vec![write()]);
        let is_new = equal(note.clone(), Target::Version(0));
        let write = match at.seen {
            None => either(is_new, write(), over_smaller),
            Some(seen) => {
                let seen = i64::try_from(seen).unwrap_or(i64::MAX);
                let over_seen = || nested(vec![equal(note.clone(), Target::Modified(seen))], vec![write()]);
                // A larger token is refused by both.
                let is_of_another = less(note.clone(), Target::Value(value[..TOKEN].to_vec()));
                either(is_new, over_seen(), either(is_of_another, over_seen(), over_smaller))
            }
        };
        let holds = equal(self.entry(&grant.claim), Target::Created(seat.revision));
        let stays = equal(self.mark(grant.claim.id), Target::Version(0));
        let txn = TxnRequest { compare: vec![holds, stays], success: vec![write], failure: Vec::new() };
        let answer: TxnResponse = self.link.ask(TXN, txn).await?;
        let is_written = answer.succeeded && answer.has_written();
        is_written.then(|| revision(&answer)).transpose()
    }
}

fn value(token: u64, sequence: u64, bytes: &[u8]) -> Vec<u8> {
    let mut value = format!("{token:016}{sequence:016}").into_bytes();
    value.extend_from_slice(bytes);
    value
}

fn note(kv: &KeyValue) -> Result<Note> {
    let token = kv.value.get(..16).and_then(|token| std::str::from_utf8(token).ok()?.parse().ok());
    let (token, bytes) =
        token.zip(kv.value.get(HEAD..)).ok_or_else(|| unexpected("a note without a token"))?;
    let revision = u64::try_from(kv.mod_revision).map_err(|_| unexpected("a negative revision"))?;
    Ok(Note::new(bytes.to_vec(), token, revision))
}

fn revision(answer: &TxnResponse) -> Result<u64> {
    u64::try_from(answer.revision()).map_err(|_| unexpected("a negative revision"))
}

/// Waits until the revision of a note differs from the one that was seen.
struct NoteChange<'a> {
    inner: &'a Inner,
    name: &'a Name,
    key: &'a str,
    seen: u64,
    woken: Arc<Notify>,
    _watched: Watched,
}

impl Attempt for NoteChange<'_> {
    type Done = Note;

    async fn attempt(&mut self) -> Result<Option<Note>> {
        Ok(self.inner.load(self.name, self.key).await?.filter(|note| note.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        POLL_PERIOD
    }
}
