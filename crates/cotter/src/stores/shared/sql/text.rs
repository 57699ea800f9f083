//! A lock as the text of a row. Equal locks have equal texts, so that a row can be replaced if it is still the same.

use super::boot::Boot;
use crate::backend::{Claim, ClaimId, Mode};
use crate::stores::shared::lock_state::{Held, Lock, Queued, Waiter};
use crate::{Moment, Name};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A waiter that a row can name: it asks again and again, often from another process.
pub(crate) trait Asks: Waiter {
    fn write(&self) -> AskText;

    fn read(text: AskText) -> Self;
}

/// How long a waiter keeps its place without asking. In between its row is written once a second.
const KEEPS_PLACE: Duration = Duration::from_secs(3);
const STEP: u64 = 1_000_000_000;

/// Until when a waiter that asks now keeps its place.
pub(crate) fn keeps_place(now: Moment) -> Moment {
    Moment::from_nanos(now.as_nanos() / STEP * STEP) + KEEPS_PLACE
}

/// The text of an unused lock.
const UNUSED: &str = "";

#[derive(Default, Serialize, Deserialize)]
struct Text {
    /// The boot of the machine from which moments count; empty where it has no name, or they are those of a server's clock.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    boot: String,
    holders: Vec<HolderText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    queue: Vec<WaiterText>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evicted: Vec<(String, u64)>,
    /// When this was written, on a clock that counts from the boot. The last field, see `STAMP`.
    #[serde(default, skip_serializing_if = "is_zero")]
    written: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How the last field of a text begins, if it has one. Within a string the quotes would be escaped.
const STAMP: &str = ",\"written\":";

/// Whether two texts are of the same lock, whenever they were written.
pub(crate) fn are_equal(one: &str, other: &str) -> bool {
    let unstamped = |text: &str| text.rfind(STAMP).unwrap_or(text.len());
    let (end, other_end) = (unstamped(one), unstamped(other));
    one[..end] == other[..other_end]
}

#[derive(Serialize, Deserialize)]
struct ClaimText {
    id: String,
    label: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    /// `[take, of]`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permits: Option<(u32, u32)>,
    ttl_ns: u64,
    turns: u16,
}

#[derive(Serialize, Deserialize)]
struct HolderText {
    #[serde(flatten)]
    claim: ClaimText,
    token: u64,
    /// The size of its block of tokens.
    tokens: u16,
    since: u64,
    ends: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    evicted: bool,
}

#[derive(Serialize, Deserialize)]
struct WaiterText {
    #[serde(flatten)]
    claim: ClaimText,
    #[serde(flatten)]
    ask: AskText,
}

/// The fields of a waiter in a row, besides its claim.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct AskText {
    pub(crate) asks_until: u64,
    /// Its process, where others can look whether it is still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid: Option<u32>,
    /// The number of the namespace that the pid belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pid_namespace: Option<u64>,
}

/// The text of a lock that one claim holds alone, up to the numbers that follow from the time: `ALONE` says how it goes on. `None`:
/// the text would be another one.
#[cfg(feature = "mysql")]
pub(crate) fn alone(claim: &Claim, turns: u16) -> Option<String> {
    let (ends, since) = (Moment::ZERO, Moment::ZERO);
    let held = Held { claim: claim.clone(), number: 0, turns, ends, since, evicted: false };
    let text = Text { holders: vec![HolderText::of(&held)], ..Text::default() };
    let mut text = serde_json::to_string(&text).ok()?;
    let [token, tokens, since, ends, end] = ALONE;
    let zeros = format!("{token}0{tokens}{turns}{since}0{ends}0{end}");
    let head = text.strip_suffix(&zeros)?.len();
    text.truncate(head);
    Some(text)
}

/// The texts before the token, the number of tokens, the beginning and the end of the lease, and the text at the end.
#[cfg(feature = "mysql")]
pub(crate) const ALONE: [&str; 5] = ["\"token\":", ",\"tokens\":", ",\"since\":", ",\"ends\":", "}]}"];

/// Writes a lock, without its last token.
pub(crate) fn write<W: Asks>(lock: &Lock<W>, boot: Boot<'_>) -> String {
    if lock.is_unused() {
        return UNUSED.into();
    }
    let text = Text {
        boot: boot.id.to_owned(),
        written: boot.written(),
        holders: lock.holders.iter().map(HolderText::of).collect(),
        queue: lock.queue.iter().map(WaiterText::of).collect(),
        evicted: lock.evicted.iter().map(|(id, ends)| (id.to_string(), ends.as_nanos())).collect(),
    };
    serde_json::to_string(&text).unwrap_or_default()
}

/// Reads a lock. What was held before the machine was started again is not held any more. `None` for a text of somebody
/// else.
pub(crate) fn read<W: Asks>(name: &Name, last: u64, text: &str, boot: Boot<'_>) -> Option<Lock<W>> {
    let mut lock = Lock::default();
    lock.last = last;
    if text == UNUSED {
        return Some(lock);
    }
    let text: Text = serde_json::from_str(text).ok()?;
    if boot.is_after(&text.boot, text.written) {
        return Some(lock);
    }
    lock.holders = text.holders.into_iter().map(|h| h.held(name)).collect::<Option<_>>()?;
    lock.queue = text.queue.into_iter().map(|q| q.queued(name)).collect::<Option<_>>()?;
    let evicted =
        text.evicted.iter().map(|(id, ends)| Some((ClaimId::parse(id)?, Moment::from_nanos(*ends))));
    lock.evicted = evicted.collect::<Option<_>>()?;
    Some(lock)
}

impl ClaimText {
    fn of(claim: &Claim) -> Self {
        let permits = match claim.mode {
            Mode::Permits { take, of } => Some((take, of)),
            Mode::Exclusive | Mode::Shared => None,
        };
        Self {
            id: claim.id.to_string(),
            label: claim.label.to_string(),
            shared: claim.mode == Mode::Shared,
            permits,
            ttl_ns: u64::try_from(claim.ttl.as_nanos()).unwrap_or(u64::MAX),
            turns: claim.turns,
        }
    }

    fn claim(self, name: &Name) -> Option<Claim> {
        let mode = match (self.permits, self.shared) {
            (Some((take, of)), _) => Mode::Permits { take, of },
            (None, true) => Mode::Shared,
            (None, false) => Mode::Exclusive,
        };
        let (id, ttl) = (ClaimId::parse(&self.id)?, Duration::from_nanos(self.ttl_ns));
        Some(Claim { id, turns: self.turns, label: self.label.into(), ..Claim::new(name.clone(), mode, ttl) })
    }
}

impl HolderText {
    fn of(held: &Held) -> Self {
        Self {
            claim: ClaimText::of(&held.claim),
            token: held.number,
            tokens: held.turns,
            since: held.since.as_nanos(),
            ends: held.ends.as_nanos(),
            evicted: held.evicted,
        }
    }

    fn held(self, name: &Name) -> Option<Held> {
        Some(Held {
            claim: self.claim.claim(name)?,
            number: self.token,
            turns: self.tokens,
            ends: Moment::from_nanos(self.ends),
            since: Moment::from_nanos(self.since),
            evicted: self.evicted,
        })
    }
}

impl WaiterText {
    fn of<W: Asks>(queued: &Queued<W>) -> Self {
        Self { claim: ClaimText::of(&queued.claim), ask: queued.waiter.write() }
    }

    fn queued<W: Asks>(self, name: &Name) -> Option<Queued<W>> {
        Some(Queued { claim: self.claim.claim(name)?, waiter: W::read(self.ask) })
    }
}
