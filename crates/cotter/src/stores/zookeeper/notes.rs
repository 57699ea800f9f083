//! Notes: a node for each, which stays. What guards them is a check of the holder's own node in the request that writes them.

use super::backend::{Inner, ZooKeeper};
use super::errors::{BAD_VERSION, NO_NODE, NODE_EXISTS, unexpected};
use super::live::Live;
use super::messages::{Kind, Op};
use super::replies::{Created, Data, Outcome, Stat};
use super::watches::Watched;
use crate::backend::poll::{self, Attempt};
use crate::backend::{Grant, NoteAt, Notes, Until};
use crate::{Error, ErrorKind, Name, Note, Result};
use async_trait::async_trait;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// A watched note is loaded at least this often.
const POLL_PERIOD: Duration = Duration::from_secs(5);
/// Token and sequence in front of the bytes, 16 digits each.
const HEAD: usize = 32;
/// How often a write is repeated that another one has passed.
const TRIES: usize = 20;

#[async_trait]
impl Notes for ZooKeeper {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        self.inner.load(&self.inner.keys.note(name, key)).await.map_err(|e| e.with_name(name))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let name = &grant.claim.name;
        self.inner.store(grant, at, bytes).await.map_err(|e| e.with_name(name))
    }

    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        self.inner.swap(&self.inner.keys.note(name, key), seen, bytes).await.map_err(|e| e.with_name(name))
    }

    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>> {
        let path = self.inner.keys.note(name, key);
        let mut change = NoteChange { inner: &self.inner, path, seen, woken: Arc::default(), watched: None };
        let changed = poll::until(&**self.inner.link.host().clock(), until, &mut change).await;
        changed.map_err(|e| e.with_name(name))
    }
}

impl Inner {
    /// The note in a node, and what the server knows of that. It is not older than what the leader knew at the time.
    async fn read(&self, path: &str, live: &Live) -> Result<Option<Data>> {
        let caught_up = live.ask::<()>(&Op::sync(path));
        let data = live.ask::<Data>(&Op::get(path));
        caught_up.await?;
        match data.await {
            Err(failure) if failure.is(NO_NODE) => Ok(None),
            data => Ok(Some(data?)),
        }
    }

    async fn load(&self, path: &str) -> Result<Option<Note>> {
        let live = self.link.live().await?;
        self.read(path, &live).await?.map(|data| note(&data)).transpose()
    }

    /// Only for a node that is there, was not evicted, and holds; and only over a smaller token and sequence.
    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let path = self.keys.note(&grant.claim.name, at.key);
        let value = value(at.token, at.sequence, bytes);
        for _ in 0..TRIES {
            let Some(place) = self.places.get(grant.claim.id) else { return Ok(None) };
            let Some((own, version)) = place.session.seats.node(grant.claim.id) else { return Ok(None) };
            let live = place.session.live().await?;
            let before = self.read(&path, &live).await?;
            if before.as_ref().is_some_and(|data| data.bytes.get(..HEAD) >= value.get(..HEAD)) {
                return Ok(None);
            }
            let found = before.as_ref().map(note).transpose()?;
            if !at.may_replace(found.map(|note| (note.token.get(), note.revision))) {
                return Ok(None);
            }
            let mut ops = vec![Op::Check { path: own.to_string(), version }];
            // Among several requests, a new node is answered without what is known of it: so it is written once more.
            ops.extend(before.is_none().then(|| self.new_note(&path, &value)));
            let version = before.map_or(0, |data| data.stat.version);
            ops.push(Op::Set { path: path.clone(), data: value.clone(), version });
            let outcome = live.ask::<Outcome>(&Op::Multi(ops)).await;
            match outcome {
                Ok(Outcome::Done(Some(written))) => return revision(&written).map(Some),
                Ok(Outcome::Done(None)) => return Err(unexpected("a write without an outcome")),
                Ok(Outcome::Failed(0, NO_NODE)) => return Ok(None),
                // Its data have changed: the holder was evicted, or the number of permits was set.
                Ok(Outcome::Failed(0, BAD_VERSION)) => {
                    if let Some(_evicted) = self.read_seat(grant, &own, &live).await? {
                        return Ok(None);
                    }
                }
                Ok(Outcome::Failed(_, NO_NODE)) => self.make_folder(parent(&path), &live).await?,
                Ok(Outcome::Failed(_, BAD_VERSION | NODE_EXISTS)) => {}
                Ok(Outcome::Failed(_, code)) => return Err(self.refused(code)),
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(passed())
    }

    /// Reads the node of a holder again. Returns something if it is lost by that.
    async fn read_seat(&self, grant: &Grant, own: &str, live: &Live) -> Result<Option<crate::LossCause>> {
        let id = grant.claim.id;
        let Some(place) = self.places.get(id) else { return Ok(Some(crate::LossCause::Gone)) };
        match live.ask::<Data>(&Op::watch(own)).await {
            Ok(data) => Ok(place.session.seats.read(id, &data)),
            Err(failure) if failure.is(NO_NODE) => Ok(Some(place.session.seats.gone(id))),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn swap(&self, path: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>> {
        let live = self.link.live().await?;
        let value = value(0, 0, bytes);
        for _ in 0..TRIES {
            let before = self.read(path, &live).await?;
            let known = before.as_ref().map(|data| revision(&data.stat)).transpose()?;
            if known.unwrap_or(0) != seen {
                return Ok(None);
            }
            let written = match before {
                Some(Data { stat, .. }) => {
                    let op = Op::Set { path: path.to_owned(), data: value.clone(), version: stat.version };
                    live.ask::<Stat>(&op).await
                }
                None => live.ask::<Created>(&self.new_note(path, &value)).await.map(|created| created.stat),
            };
            match written {
                Ok(stat) => return revision(&stat).map(Some),
                Err(failure) if failure.is(BAD_VERSION) || failure.is(NODE_EXISTS) => return Ok(None),
                Err(failure) if failure.is(NO_NODE) => self.make_folder(parent(path), &live).await?,
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(passed())
    }

    fn new_note(&self, path: &str, value: &[u8]) -> Op {
        Op::Create { path: path.to_owned(), data: value.to_vec(), kind: Kind::Persistent, acl: self.acl }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn passed() -> Error {
    Error::new(ErrorKind::Unavailable, "other clients keep changing the note; try again")
}

fn value(token: u64, sequence: u64, bytes: &[u8]) -> Vec<u8> {
    let mut value = format!("{token:016}{sequence:016}").into_bytes();
    value.extend_from_slice(bytes);
    value
}

fn note(data: &Data) -> Result<Note> {
    let token = data.bytes.get(..16).and_then(|token| std::str::from_utf8(token).ok()?.parse().ok());
    let (token, bytes) =
        token.zip(data.bytes.get(HEAD..)).ok_or_else(|| unexpected("a note without a token"))?;
    Ok(Note::new(bytes.to_vec(), token, revision(&data.stat)?))
}

/// The transaction that wrote a note last.
fn revision(stat: &Stat) -> Result<u64> {
    u64::try_from(stat.modified).map_err(|_| unexpected("a negative transaction number"))
}

/// Waits until the revision of a note differs from the one that was seen.
struct NoteChange<'a> {
    inner: &'a Inner,
    path: String,
    seen: u64,
    woken: Arc<Notify>,
    watched: Option<Watched>,
}

impl Attempt for NoteChange<'_> {
    type Done = Note;

    /// Watches and reads in one request, so that no change is missed in between.
    async fn attempt(&mut self) -> Result<Option<Note>> {
        let session = self.inner.link.session().await?;
        self.watched = Some(session.watches.wait_for(&self.path, &self.woken));
        let live = session.live().await?;
        let data = match live.ask::<Data>(&Op::watch(&self.path)).await {
            Err(failure) if failure.is(NO_NODE) => {
                let path = self.path.clone();
                // Tells when it is created.
                let made = live.ask::<Stat>(&Op::Exists { path, watch: true }).await;
                if made.is_ok() {
                    self.woken.notify_one();
                }
                return Ok(None);
            }
            data => data?,
        };
        Ok(Some(note(&data)?).filter(|note| note.revision != self.seen))
    }

    fn hint(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.woken.clone().notified_owned())
    }

    fn period(&self) -> Duration {
        POLL_PERIOD
    }
}
