//! Acquire requests in native mode.

use super::SCHEME;
use super::backend::{Native, answered, run_on};
use super::errors::unexpected;
use super::live::Live;
use super::names::LockKeys;
use super::script;
use super::state::{Answer, micros, turns, unfinished, use_of_name};
use super::waiters::Joined;
use super::waiting::{max_silence, poll_period};
use crate::backend::{Acquired, Claim, Mode};
use crate::{Error, Moment, Result};

/// The action of a request if the lock is held.
#[derive(Debug, Clone, Copy)]
pub(super) enum IfBusy<'a> {
    /// Nothing.
    Leave,
    /// Joins the queue, to be woken on this channel.
    Join(&'a str),
    /// Keeps the place in the queue that an earlier request has got.
    Stay(&'a str),
}

impl<'a> IfBusy<'a> {
    fn channel(self) -> Option<&'a str> {
        match self {
            Self::Leave => None,
            Self::Join(channel) | Self::Stay(channel) => Some(channel),
        }
    }
}

/// The mode of a claim, in the form that the scripts take.
pub(super) struct Wanted {
    id: [u8; 32],
    ttl: [u8; 14],
    turns: [u8; 5],
    /// `None` if it wants the name for itself.
    pub(super) share: Option<String>,
    px: String,
}

impl Wanted {
    pub(super) fn args<'a>(&'a self, claim: &'a Claim, retain: &'a str) -> [&'a [u8]; 6] {
        let label = self.share.as_ref().map_or(claim.label.as_bytes(), String::as_bytes);
        [&self.id, &self.ttl, &self.turns, label, self.px.as_bytes(), retain.as_bytes()]
    }
}

impl Native {
    pub(super) fn wanted(&self, claim: &Claim) -> Wanted {
        let (id, ttl, turns) = (claim.id.hex(), micros(claim.ttl), turns(claim.turns.max(1)));
        Wanted { id, ttl, turns, share: share(claim), px: self.px(claim.ttl) }
    }

    /// Sends one acquire request. Returns the answer and the time of sending.
    pub(super) async fn request(&self, claim: &Claim, if_busy: IfBusy<'_>) -> Result<(Answer, Moment)> {
        let live = self.link.live().await?;
        let wanted = self.wanted(claim);
        if let Some(granted) = self.request_free(claim, if_busy, &wanted, &live).await? {
            return Ok(granted);
        }
        let (silence, period) = (micros(max_silence(claim)), micros(poll_period(claim)));
        let stays = matches!(if_busy, IfBusy::Stay(_));
        let known: &[u8] = if stays { b"1" } else { b"" };
        let mut args = wanted.args(claim, &self.retain).to_vec();
        if let Some(channel) = if_busy.channel() {
            args.extend([channel.as_bytes(), &silence, &period, known]);
        }
        let script = match (wanted.share.is_some(), stays) {
            (false, false) => &script::ACQUIRE,
            (false, true) => &script::ACQUIRE_AGAIN,
            (true, false) => &script::SHARE,
            (true, true) => &script::SHARE_AGAIN,
        };
        let sent = self.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        let keys = self.keys.of(&claim.name);
        let answer = match run_on(script, &live, &keys, &args).await.map_err(|e| e.with_name(&claim.name)) {
            Ok(answer) => parse(claim, self.finish(&live, &keys, &answer).await),
            Err(e) => Err(e),
        };
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        let answer = answer?;
        self.met.note(&claim.name, !matches!(answer, Answer::Granted(_)));
        Ok((answer, sent))
    }

    /// Sends the request that can only grant a name that is free and that nobody waits for, or say that it is held. `None` if that
    /// cannot be expected, or was not enough.
    async fn request_free(
        &self,
        claim: &Claim,
        if_busy: IfBusy<'_>,
        wanted: &Wanted,
        live: &Live,
    ) -> Result<Option<(Answer, Moment)>> {
        let may_be_free = wanted.share.is_none() && !matches!(if_busy, IfBusy::Stay(_));
        if !may_be_free || self.met.others(&claim.name) {
            return Ok(None);
        }
        let (lock, queue) = self.keys.of_free(&claim.name);
        let [id, ttl, turns, label, px, _] = wanted.args(claim, &self.retain);
        let sent = self.now();
        let request = self.shared.in_flight.send(claim.id, live.number, self.link.arrives_by(sent));
        let answer = script::ACQUIRE_FREE.run(live, &[&lock, &queue], &[id, ttl, turns, label, px]).await;
        let answer = answered(live, &lock, answer).await.map_err(|e| e.with_name(&claim.name));
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            request.answered();
        }
        let answer = match answer?.as_str() {
            "?" => None,
            answer => Some(Answer::parse(answer)?),
        };
        self.met.note(&claim.name, !matches!(answer, Some(Answer::Granted(_))));
        // Whoever wants a place in the queue has to ask for one.
        let is_final = matches!((answer, if_busy), (Some(Answer::Granted(_)), _) | (Some(_), IfBusy::Leave));
        Ok(answer.filter(|_| is_final).map(|answer| (answer, sent)))
    }

    /// Tries once and leaves nothing behind if the lock is busy.
    pub(super) async fn try_once(&self, claim: &Claim) -> Result<Acquired> {
        match self.request(claim, IfBusy::Leave).await? {
            (Answer::Granted(block), sent) => Ok(Acquired::Granted(Self::grant(claim, block, sent))),
            (Answer::Busy { .. }, _) => Ok(Acquired::Busy),
            (Answer::Queued { .. }, _) => Err(unexpected("a place in the queue, though none was asked for")),
        }
    }

    /// Tries once and joins the queue if the lock is busy.
    pub(super) async fn try_or_join(&self, claim: &Claim, channel: &str) -> Result<Acquired> {
        let joining = self.shared.waiters.join(claim.id);
        match self.request(claim, IfBusy::Join(channel)).await? {
            (Answer::Granted(block), sent) => Ok(Acquired::Granted(Self::grant(claim, block, sent))),
            (Answer::Queued { ticket, left, position }, sent) => {
                joining.joined(Joined { ticket, sent, left, position });
                Ok(Acquired::Queued)
            }
            (Answer::Busy { .. }, _) => Err(unexpected("busy, to a request that joins the queue")),
        }
    }

    /// Sends what a script has left to do, which is limited to a few hundred grants, without waiting for it. Returns its
    /// answer.
    pub(super) async fn finish<'a>(&self, live: &Live, keys: &LockKeys, answer: &'a str) -> &'a str {
        let Some((scripts, answer)) = unfinished(answer) else { return answer };
        script::ADVANCE.send(live, &keys.all(), &[self.retain.as_bytes()], scripts).await;
        answer
    }
}

/// The mode of a claim that shares a name, and its label, in the form that the scripts take. `None` for an exclusive claim.
fn share(claim: &Claim) -> Option<String> {
    match claim.mode {
        Mode::Exclusive => None,
        Mode::Shared => Some(format!("r {}", claim.label)),
        Mode::Permits { take, of } => Some(format!("s{take:010}{of:010} {}", claim.label)),
    }
}

/// Parses an answer, which may be that the name is in use in another way.
pub(super) fn parse(claim: &Claim, answer: &str) -> Result<Answer> {
    if let Some(other) = use_of_name(answer) {
        return Err(claim.mode.mismatch(other).with_backend(SCHEME).with_name(&claim.name));
    }
    Answer::parse(answer)
}
