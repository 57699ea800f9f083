//! The contract between the engine and a store. **Not frozen yet**: more stores have to carry it first.
//!
//! A backend is a set of atomic steps and the store's own way of waiting. It renews nothing, retries nothing, polls
//! only through [`poll::until`](crate::poll::until), and spawns no task but the one that reads its wake-up channel or
//! keeps its session. The engine does the rest, once, for all stores.
//!
//! # The rules
//! 1. Before the first byte of [`acquire`](Backend::acquire) leaves, whatever `release(claim)` needs to undo it is
//!    registered. A dropped future never owns the only handle to a connection, file or session.
//! 2. After `release(claim)` no earlier `acquire` of that claim stays in effect. Where one may still arrive, `release`
//!    says so ([`Release::Unsettled`]) and is repeated.
//! 3. `acquire` can be dropped at any poll.
//! 4. `Ok(None)` leaves nothing of the claim in the store. `acquire` of a claim that is already granted answers the
//!    same grant: same number, same turns, and the time that is really left.
//! 5. `as_of` is never later than the sending of the request whose answer proves the grant.
//! 6. `extend` never shortens, never creates, never touches somebody else's grant.
//! 7. A name whose queue has a listening waiter is never given to a newcomer. Waiters that nobody listens for block
//!    nobody.
//! 8. Nothing is ever counted up on a retry.
//! 9. Number and turns of a grant are what the store reserved, never what was asked.

pub use crate::record::Page;
use crate::record::{Eviction, Finding};
use crate::{Clock, Error, Filter, LossCause, Moment, Name, Note, Result, Session};
use async_trait::async_trait;
use std::fmt::{self, Debug};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Makes backends; what [`Builder::backend`](crate::Builder::backend) takes.
#[async_trait]
pub trait Connect: Debug + Send + Sync + 'static {
    /// Connects. Called on the runtime that will keep the connection alive.
    ///
    /// # Errors
    /// Whatever keeps the store from being used, with what to do about it.
    async fn connect(&self, clock: &Arc<dyn Clock>) -> Result<Arc<dyn Backend>>;
}

/// One store, as the engine sees it. The [rules](self) bind every implementation.
#[async_trait]
pub trait Backend: Debug + Send + Sync + 'static {
    /// What this store is and can do.
    fn info(&self) -> &Info;

    /// Asks for a grant; `Ok(None)` means busy until the time was over.
    ///
    /// # Errors
    /// An error with [`outcome_unknown`](Error::outcome_unknown) may have left a grant behind: the engine undoes it.
    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>>;

    /// Asks for `ttl` from now for each of these grants; one answer each, in order.
    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>>;

    /// Undoes `acquire`: frees what the claim holds, takes it out of the queue.
    ///
    /// # Errors
    /// The store did not answer; the engine tries again.
    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release>;

    /// Turns an exclusive grant into a shared one without a gap.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the store cannot.
    async fn downgrade(&self, grant: &Grant) -> Result<Grant> {
        Err(Error::unsupported("a downgrade", self.info().variant).with_name(&grant.claim.name))
    }

    /// Hands a grant from one claim id to another, once: a ticket is resumed. `Ok(None)` when `from` holds nothing.
    ///
    /// # Errors
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the grant lives with a process.
    async fn adopt(&self, from: &Claim, to: &Claim) -> Result<Option<Grant>> {
        let _ = to;
        Err(Error::unsupported("handing a lock to another process", self.info().variant)
            .with_name(&from.name))
    }

    /// The store's clock, where it has one.
    ///
    /// # Errors
    /// The store did not answer.
    async fn time(&self) -> Result<Option<SystemTime>> {
        Ok(None)
    }

    /// Ends the connection. Later calls fail.
    async fn close(&self);

    /// Small values beside the names, where the store has them.
    fn notes(&self) -> Option<&dyn Notes> {
        None
    }

    /// Looking at locks from outside, where the store can.
    fn admin(&self) -> Option<&dyn Admin> {
        None
    }

    /// What a quorum asks of its members, where the store can be one.
    fn member(&self) -> Option<&dyn Member> {
        None
    }

    /// Duplicates of the descriptors that this grant lives on, where it lives on some; see
    /// [`Guard::descriptors`](crate::Guard::descriptors).
    ///
    /// # Errors
    /// The process has no descriptors left.
    fn descriptors(&self, grant: &Grant) -> std::io::Result<Vec<OwnedFd>> {
        let _ = grant;
        Ok(Vec::new())
    }
}

/// Values that outlive the lock and are written only by a current holder.
#[async_trait]
pub trait Notes: Send + Sync {
    /// The note under this key.
    ///
    /// # Errors
    /// The store did not answer.
    async fn load(&self, name: &Name, key: &str) -> Result<Option<Note>>;

    /// Writes under (token, sequence), only for a current holder that is not evicted, and only over a smaller pair.
    /// `Ok(None)` = stale.
    ///
    /// # Errors
    /// The store did not answer.
    async fn store(&self, grant: &Grant, at: NoteAt<'_>, bytes: &[u8]) -> Result<Option<u64>>;

    /// Compare and set by revision, guarded by nothing else (`seen` 0 = there is none). `Ok(None)` = changed since.
    ///
    /// # Errors
    /// The store did not answer.
    async fn swap(&self, name: &Name, key: &str, seen: u64, bytes: &[u8]) -> Result<Option<u64>>;

    /// Waits until the revision is not `seen` any more.
    ///
    /// # Errors
    /// The store did not answer.
    async fn changed(&self, name: &Name, key: &str, seen: u64, until: Until) -> Result<Option<Note>>;
}

/// Where a holder writes a note: under which key, with which token, as its how-manieth write.
#[derive(Debug, Clone, Copy)]
pub struct NoteAt<'a> {
    /// The key beside the name.
    pub key: &'a str,
    /// The fencing token of the writer.
    pub token: u64,
    /// Rises with every write under one token.
    pub sequence: u64,
}

/// Looking at locks, and taking them away.
#[async_trait]
pub trait Admin: Send + Sync {
    /// One page of the names that match, in order of name, after `after`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn list(&self, filter: &Filter, after: Option<&Name>) -> Result<Page>;

    /// Takes the lock away from its holder.
    ///
    /// # Errors
    /// The store did not answer, or cannot do it in this way.
    async fn evict(&self, name: &Name, order: EvictOrder) -> Result<Eviction>;

    /// What is worth knowing about this store, for `cotter doctor`.
    ///
    /// # Errors
    /// The store did not answer.
    async fn diagnose(&self) -> Result<Vec<Finding>>;
}

/// Which holder to evict, and how fast.
#[derive(Debug, Clone, Copy, Default)]
pub struct EvictOrder {
    /// Only the holder with this token.
    pub token: Option<u64>,
    /// At once, instead of when its lease ends. This voids the exclusion.
    pub now: bool,
}

/// What a quorum asks of a member.
#[async_trait]
pub trait Member: Send + Sync {
    /// Takes the claim now or not at all, with a number of at least `at_least`.
    ///
    /// # Errors
    /// The member did not answer.
    async fn take(&self, claim: &Claim, at_least: u64) -> Result<Option<Grant>>;

    /// Raises the counter to `number` while the grant is still held. False = not held.
    ///
    /// # Errors
    /// The member did not answer.
    async fn raise(&self, grant: &Grant, number: u64) -> Result<bool>;
}

/// 128 random bits, new for every attempt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClaimId(u128);

/// Odd, so that no two processes have the same multiple.
const SPREAD: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

impl ClaimId {
    /// A new one, from the system's random numbers.
    pub fn random() -> Self {
        // The generator of a thread goes on in a fork where it stands in its parent: both must not make the same ids.
        let process = u128::from(std::process::id()).wrapping_mul(SPREAD);
        Self(rand::random::<u128>() ^ process)
    }

    /// The bits.
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// As 32 hexadecimal digits, without the detour by way of a formatter: every request has some.
    pub(crate) fn hex(self) -> [u8; 32] {
        let mut digits = [0; 32];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0.to_be_bytes()) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        digits
    }

    /// From 32 hexadecimal digits.
    pub fn parse(hex: &str) -> Option<Self> {
        (hex.len() == 32).then(|| u128::from_str_radix(hex, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl Debug for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How a name is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One holder.
    Exclusive,
    /// Many holders, none of them exclusive.
    Shared,
    /// `take` of `of` permits.
    Permits {
        /// How many are taken at once.
        take: u32,
        /// How many there are.
        of: u32,
    },
}

impl Mode {
    pub(crate) const fn is_exclusive(self) -> bool {
        matches!(self, Self::Exclusive)
    }
}

/// One attempt to get a name: enough to undo it.
#[derive(Debug, Clone)]
pub struct Claim {
    /// What is wanted.
    pub name: Name,
    /// This attempt.
    pub id: ClaimId,
    /// How it is wanted.
    pub mode: Mode,
    /// How long a grant should last; ignored where grants live with a process or session.
    pub ttl: Duration,
    /// How many turns this process could use one after the other.
    pub turns: u16,
    /// Who asks, for people.
    pub label: Arc<str>,
}

impl Claim {
    /// The same wish under a new claim id.
    #[must_use]
    pub fn renewed(&self) -> Self {
        Self { id: ClaimId::random(), ..self.clone() }
    }
}

/// A claim that the store has given.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The claim.
    pub claim: Claim,
    /// The first fencing token of the block.
    pub number: u64,
    /// How many tokens the block has.
    pub turns: u16,
    /// Before the sending of the request whose answer proved the grant.
    pub as_of: Moment,
    /// Valid so long after `as_of`; `None` where the grant lives with a process or session.
    pub ttl: Option<Duration>,
    /// What the grant lives with, where it does.
    pub session: Option<Session>,
    /// How many of how many members gave it, for a quorum.
    pub votes: Option<(u8, u8)>,
}

/// How long an acquisition may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// One attempt.
    Now,
    /// One attempt, for stores with [`Capabilities::in_line`]: a claim that is answered with `Ok(None)` may stand in the
    /// store's queue now. A waiting `acquire` of it follows, or its release.
    InLine,
    /// Until then.
    Moment(Moment),
    /// For as long as it takes.
    Forever,
}

impl Until {
    /// The last moment; `None` for a single attempt.
    pub(crate) fn moment(self) -> Option<Moment> {
        match self {
            Self::Now | Self::InLine => None,
            Self::Moment(m) => Some(m),
            Self::Forever => Some(Moment::NEVER),
        }
    }
}

/// What `extend` answers.
#[derive(Debug, Clone)]
pub enum Extension {
    /// Valid for `ttl` after `as_of` (`None`: lives on with its process or session).
    Extended {
        /// Before the sending of the request.
        as_of: Moment,
        /// The time that was given.
        ttl: Option<Duration>,
    },
    /// The claim holds nothing any more, and why: [`Gone`](LossCause::Gone), or [`Evicted`](LossCause::Evicted) where the
    /// store knows that.
    Lost(LossCause),
}

/// What a holder leaves behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leave {
    /// How many turns of the block were used; the store takes the others back.
    pub used: u16,
    /// Keep the lease for so long, held by nobody.
    pub keep_for: Option<Duration>,
}

/// What `release` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// It was held or queued, and is not any more.
    Freed,
    /// There was nothing of this claim.
    NotHeld,
    /// There was nothing of this claim any more, because somebody had taken the lock away from it.
    Evicted,
    /// Nothing of this claim is left, but an earlier `acquire` of it may still arrive: it has to be released again.
    Unsettled,
}

/// What a store promises; see `docs/guarantees.md`.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// L0: two holders are possible without any pause or clock fault.
    BestEffort,
    /// L1: no two holders inside their own validity at once, under the assumptions of the store.
    LeaseExclusive,
}

/// What a store is and can do.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Info {
    /// The scheme of its URLs.
    pub scheme: &'static str,
    /// What errors call it where what it can do depends on more than the scheme: `redis in mode=plain`.
    pub variant: &'static str,
    /// What it promises.
    pub level: Level,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Which one it is, for people; never with a password.
    pub instance: String,
    /// What whoever uses it should be told once, on one line.
    pub caution: Option<&'static str>,
}

impl Info {
    /// A store of this scheme that can do nothing special yet.
    pub fn new(scheme: &'static str, instance: impl Into<String>) -> Self {
        Self {
            scheme,
            variant: scheme,
            level: Level::LeaseExclusive,
            capabilities: Capabilities::default(),
            instance: instance.into(),
            caution: None,
        }
    }
}

/// What a store can do. What is false is refused with a clear error before any I/O.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default)]
pub struct Capabilities {
    /// Grants end after their ttl; false: they live with the process or session and the ttl is ignored.
    pub leases: bool,
    /// Shared locks.
    pub shared: bool,
    /// Permits.
    pub permits: bool,
    /// The lease can be left behind (`leave_for`) without a living process.
    pub keep_for: bool,
    /// A grant can be handed to another process.
    pub adopt: bool,
    /// Every call but a waiting `acquire` ends in its first poll and needs no runtime.
    pub immediate: bool,
    /// A connection is driven by the runtime that made it: each runtime that calls gets one of its own. Waiting and
    /// renewal use the engine's only.
    pub per_runtime: bool,
    /// [`Until::InLine`] is understood: who is going to wait gets in line with its first question.
    pub in_line: bool,
    /// Shorter leases are refused.
    pub min_ttl: Duration,
}

impl Capabilities {
    pub(crate) fn supports(&self, mode: Mode, scheme: &str) -> Result<()> {
        match mode {
            Mode::Shared if !self.shared => Err(Error::unsupported("a shared lock", scheme)),
            Mode::Permits { .. } if !self.permits => Err(Error::unsupported("a semaphore", scheme)),
            _ => Ok(()),
        }
    }
}

/// Fails to compile when the contract stops being usable as a trait object.
#[allow(dead_code, reason = "it only has to compile")]
fn object_safe(_: &dyn Connect, _: &dyn Backend, _: &dyn Notes, _: &dyn Admin, _: &dyn Member) {}
