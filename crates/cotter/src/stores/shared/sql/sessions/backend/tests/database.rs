//! A database whose sessions grant whatever is asked for, until something panics.

use super::super::*;
use crate::backend::{Cursor, EvictOrder, Filter, Finding, NoteAt, Page};
use crate::stores::shared::net::{self, Load, Pooled};
use crate::stores::shared::sql::sessions::{Asked, Connection, Parts, SessionLive, Tokens, Wait};
use crate::{Eviction, Moment, Name, Note};
use std::sync::Mutex;

/// Where the task of a claim panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Opening,
    Asking,
    Reserving,
    Beating,
}

#[derive(Debug, Clone)]
pub(super) struct Sockets {
    pub(super) breaks: Step,
}

#[derive(Debug, Default)]
pub(super) struct Socket(Load);

#[derive(Debug)]
pub(super) struct Database {
    pub(super) parts: Parts<Sockets>,
    pub(super) breaks: Step,
    /// The sessions that were ended.
    pub(super) ended: Mutex<Vec<u32>>,
}

/// The only session there is.
pub(super) const SESSION: u32 = 7;

impl Step {
    fn is(self, breaks: Self) {
        assert!(self != breaks, "planted: {self:?}");
    }
}

impl Open for Sockets {
    type Live = Socket;

    const SCHEME: &'static str = "test";

    async fn open(&self) -> Result<Socket> {
        Ok(Socket::default())
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(2)
    }
}

impl Pooled for Sockets {
    fn connections(&self) -> usize {
        1
    }

    fn load(live: &Socket) -> &Load {
        &live.0
    }
}

impl SessionConnector for Sockets {
    type Id = u32;

    async fn open_session(&self, _: Duration) -> Result<Connection<Self>> {
        Step::Opening.is(self.breaks);
        Ok(Connection::new(self.open().await?, SESSION))
    }

    async fn is_there(_: &Connection<Self>) -> bool {
        true
    }
}

impl net::Live for Socket {
    fn is_usable(&self) -> bool {
        true
    }

    fn may_be_stale(&self, _: impl FnOnce() -> Moment) -> bool {
        false
    }
}

impl SessionLive for Socket {
    fn give_up(&self) {}

    async fn ended(&self) {
        std::future::pending().await
    }
}

type Spare = Connection<Sockets>;

impl Store for Database {
    type Connector = Sockets;
    type Held = ();

    fn parts(&self) -> &Parts<Sockets> {
        &self.parts
    }

    async fn lock(&self, _: &Spare, _: &Claim, _: Wait) -> Result<Asked<()>> {
        Step::Asking.is(self.breaks);
        Ok(Asked::Held(()))
    }

    async fn tokens(&self, _: &Spare, _: &Claim, (): &()) -> Result<Tokens> {
        Step::Reserving.is(self.breaks);
        Ok(Tokens { block: Some((1, 1)), as_of: self.parts.now() })
    }

    async fn beat(&self, _: &Spare, _: &Claim, (): &()) -> Result<bool> {
        Step::Beating.is(self.breaks);
        Ok(true)
    }

    async fn unlock(&self, _: &Spare, _: &Claim, (): &()) -> Result<bool> {
        Ok(true)
    }

    async fn reset(&self, _: &Spare, _: &Claim) -> Result<()> {
        Ok(())
    }

    async fn cancel(&self, _: &Spare) -> bool {
        true
    }

    async fn end(&self, session: &u32) -> Result<()> {
        self.ended.lock().unwrap().push(*session);
        Ok(())
    }

    async fn evicted(&self, claims: &[&Claim]) -> Result<Vec<bool>> {
        Ok(vec![false; claims.len()])
    }

    async fn give_back(&self, _: &Claim, _: (u64, u16), _: u16) {}

    async fn time(&self) -> Result<SystemTime> {
        Ok(SystemTime::UNIX_EPOCH)
    }
}

#[async_trait]
impl Notes for Database {
    async fn load(&self, _: &Name, _: &str) -> Result<Option<Note>> {
        Ok(None)
    }

    async fn store(&self, _: &Grant, _: NoteAt<'_>, _: &[u8]) -> Result<Option<u64>> {
        Ok(None)
    }

    async fn swap(&self, _: &Name, _: &str, _: u64, _: &[u8]) -> Result<Option<u64>> {
        Ok(None)
    }

    async fn changed(&self, _: &Name, _: &str, _: u64, _: Until) -> Result<Option<Note>> {
        Ok(None)
    }
}

#[async_trait]
impl Admin for Database {
    async fn list(&self, _: &Filter, _: Option<&Cursor>) -> Result<Page> {
        Ok(Page::new(Vec::new(), None))
    }

    async fn evict(&self, _: &Name, _: EvictOrder) -> Result<Eviction> {
        Ok(Eviction::NotHeld)
    }

    async fn diagnose(&self) -> Result<Vec<Finding>> {
        Ok(Vec::new())
    }
}
