//! A member: one Redis server, one script.

use async_trait::async_trait;
use cotter::backend::inflight::InFlight;
use cotter::backend::{
    Backend, Capabilities, Claim, ClaimId, Connect, Extension, Grant, Host, Info, Leave, Member, Mode, Note,
    NoteAt, Notes, Release, Until,
};
use cotter::clock::{Clock, Moment};
use cotter::{Error, ErrorKind, LossCause, Name, Result};
use redis::aio::MultiplexedConnection;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

#[derive(Debug, Default)]
pub struct SeatShared {
    in_flight: InFlight,
    connections: AtomicU64,
    freed: Arc<tokio::sync::Notify>,
}

/// Makes members.
#[derive(Debug)]
pub struct MemberStore(pub String, pub Arc<SeatShared>, pub Duration);

#[async_trait]
impl Connect for MemberStore {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        Ok(Arc::new(RedisMember::new(&self.0, self.1.clone(), host.clock().clone(), self.2)?))
    }
}

#[derive(Debug)]
pub struct RedisMember {
    client: redis::Client,
    live: Mutex<Option<Live>>,
    shared: Arc<SeatShared>,
    clock: Arc<dyn Clock>,
    script: redis::Script,
    timeout: Duration,
    info: Info,
}

#[derive(Clone)]
struct Live {
    wire: MultiplexedConnection,
    number: u64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Live({})", self.number)
    }
}

type Reply = (u8, u64, u16, u64);

fn unavailable(why: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Unavailable, format!("a member did not answer: {why}"))
}

pub fn micros(d: Duration) -> u64 {
    d.as_micros() as u64
}

impl RedisMember {
    pub fn new(url: &str, shared: Arc<SeatShared>, clock: Arc<dyn Clock>, timeout: Duration) -> Result<Self> {
        let client = redis::Client::open(url)
            .map_err(|e| Error::new(ErrorKind::Config, "a member's URL").with_source(e))?;
        let mut info = Info::new("member", url);
        info.capabilities = Capabilities::default();
        info.capabilities.leases = true;
        info.capabilities.per_runtime = true;
        let script = redis::Script::new(include_str!("member.lua"));
        Ok(Self { client, live: Mutex::default(), shared, clock, script, timeout, info })
    }

    async fn live(&self) -> Result<Live> {
        let mut live = self.live.lock().await;
        if let Some(live) = &*live {
            return Ok(live.clone());
        }
        let opening = self.client.get_multiplexed_async_connection();
        let wire = tokio::time::timeout(self.timeout, opening).await.map_err(unavailable)?;
        let wire = wire.map_err(unavailable)?;
        let number = self.shared.connections.fetch_add(1, Ordering::Relaxed);
        Ok(live.insert(Live { wire, number }).clone())
    }

    async fn ask(&self, live: &Live, op: &str, c: &Claim, number: u64, leave: Leave) -> Result<Reply> {
        let keep = leave.keep_for.map_or(0, micros);
        let mut call = self.script.key(format!("quorum:{}", c.name));
        call.arg(op)
            .arg(c.id.to_string())
            .arg(micros(c.ttl))
            .arg(c.turns)
            .arg(number)
            .arg(leave.used)
            .arg(keep);
        let mut wire = live.wire.clone();
        match tokio::time::timeout(self.timeout, call.invoke_async::<Reply>(&mut wire)).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(e)) => {
                // A connection that is broken is replaced; one that is only slow stays: it keeps the order.
                self.live.lock().await.take_if(|l| l.number == live.number);
                Err(unavailable(e).with_outcome_unknown())
            }
            Err(e) => Err(unavailable(e).with_outcome_unknown()),
        }
    }

    fn grant(claim: &Claim, as_of: Moment, reply: Reply) -> Option<Grant> {
        let (1, number, turns, left) = reply else { return None };
        let mut grant = Grant::new(claim.clone(), number, as_of);
        grant.turns = turns;
        grant.ttl = Some(Duration::from_micros(left));
        Some(grant)
    }

    async fn extend_one(&self, grant: &Grant, ttl: Duration) -> Result<Extension> {
        let mut claim = grant.claim.clone();
        claim.ttl = ttl;
        let live = self.live().await?;
        let as_of = self.clock.now();
        let reply = self.ask(&live, "extend", &claim, grant.number, Leave::default()).await?;
        Ok(match Self::grant(&claim, as_of, reply) {
            Some(grant) => Extension::extended(as_of, grant.ttl),
            None => Extension::Lost(LossCause::Gone),
        })
    }
}

#[async_trait]
impl Member for RedisMember {
    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Option<Grant>> {
        let live = self.live().await?;
        let as_of = self.clock.now();
        let request = self.shared.in_flight.send(claim.id, live.number, as_of + claim.ttl);
        let reply = self.ask(&live, "take", claim, at_least, Leave::default()).await?;
        request.answered();
        Ok(Self::grant(claim, as_of, reply))
    }

    async fn raise(&self, grant: &Grant, number: u64) -> Result<Option<Grant>> {
        let live = self.live().await?;
        let as_of = self.clock.now();
        let reply = self.ask(&live, "raise", &grant.claim, number, Leave::default()).await?;
        Ok(Self::grant(&grant.claim, as_of, reply))
    }

    /// In this process only: a sketch.
    fn freed(&self, _: &Name) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(self.shared.freed.clone().notified_owned())
    }

    async fn mend(&self, name: &Name, key: &str, note: &Note) -> Result<()> {
        let at = NoteAt::new(key, note.token.get(), note.sequence);
        self.note("mend", name, None, at, &note.bytes).await.map(drop)
    }
}

impl RedisMember {
    async fn note(
        &self,
        op: &str,
        name: &Name,
        id: Option<ClaimId>,
        at: NoteAt<'_>,
        bytes: &[u8],
    ) -> Result<Vec<u8>> {
        let live = self.live().await?;
        let mut call = self.script.key(format!("quorum:{name}"));
        call.arg(op).arg(id.map(|id| id.to_string()).unwrap_or_default()).arg(0);
        call.arg(at.sequence).arg(at.token).arg(at.key).arg(bytes);
        let mut wire = live.wire.clone();
        let answer = tokio::time::timeout(self.timeout, call.invoke_async::<Vec<u8>>(&mut wire)).await;
        answer.map_err(unavailable)?.map_err(unavailable)
    }
}

#[async_trait]
impl Notes for RedisMember {
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>> {
        let text = self.note("load", name, None, NoteAt::new(key, 0, 0), b"").await?;
        let mut parts = text.splitn(3, |b| *b == b' ');
        let mut number = || str::from_utf8(parts.next()?).ok()?.parse::<u64>().ok();
        let (Some(token), Some(sequence)) = (number(), number()) else { return Ok(None) };
        let bytes = parts.next().unwrap_or_default().to_vec();
        // Any number that only this pair has.
        let revision = (token << 10) ^ sequence | 1;
        Ok(Some(Note::new(bytes, token, revision).with_sequence(sequence)))
    }

    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>> {
        let answer = self.note("store", &grant.claim.name, Some(grant.claim.id), at, bytes).await?;
        Ok((answer == b"1").then_some((at.token << 10) ^ at.sequence | 1))
    }

    async fn swap(&self, _: &Name, _: &str, _: u64, _: &[u8]) -> Result<Option<u64>> {
        Err(Error::unsupported("compare-and-set on notes", "quorum"))
    }

    async fn changed(&self, _: &Name, _: &str, _: u64, _: Until) -> Result<Option<Note>> {
        Err(Error::unsupported("waiting for a note at one member", "quorum"))
    }
}

#[async_trait]
impl Backend for RedisMember {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, _: Until) -> Result<Option<Grant>> {
        if claim.mode != Mode::Exclusive {
            return Err(Error::unsupported("this mode", self.info.variant));
        }
        self.take(claim, 0).await
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        crate::race::all(grants.iter().map(|grant| self.extend_one(grant, ttl))).await
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        let live = self.live().await?;
        let (found, ..) = self.ask(&live, "release", claim, 0, leave).await?;
        self.shared.freed.notify_waiters();
        let found = if found == 1 { Release::Freed } else { Release::NotHeld };
        let stray = self.shared.in_flight.stray_until(claim.id, live.number, self.clock.now());
        Ok(stray.map_or(found, |until| found.unsettled(until)))
    }

    fn member(&self) -> Option<&dyn Member> {
        Some(self)
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    async fn close(&self) {
        self.live.lock().await.take();
    }
}

impl RedisMember {
    /// Takes a lock away without a word.
    pub fn remove(url: &str, name: &Name) {
        let answer =
            redis::Client::open(url).and_then(|c| c.get_connection_with_timeout(Duration::from_millis(200)));
        if let Ok(mut wire) = answer {
            _ = redis::cmd("HSET").arg(format!("quorum:{name}")).arg("ends").arg(0).query::<()>(&mut wire);
        }
    }
}
