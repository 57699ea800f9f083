//! The contract, in native mode.

use super::admin::Walk;
use super::connection::{Link, Live};
use super::errors::{Sent, explain};
use super::inflight::{Desk, Got};
use super::names::Keys;
use super::script::{self, Script};
use super::state::{Answer, Block, digits, extended, micros, text, turns};
use super::waiting::{Place, UNCONFIRMED, period, silence};
use super::wake::Wake;
use super::{SCHEME, Shared};
use crate::backend::poll;
use crate::backend::{
    Admin, Backend, Capabilities, Claim, ClaimId, Extension, Grant, Info, Leave, Notes, Release, Until,
};
use crate::{Clock, Error, ErrorKind, Moment, Result};
use async_trait::async_trait;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, SystemTime};

/// One connection that speaks native mode.
#[derive(Debug)]
pub(super) struct Native {
    pub(super) link: Arc<Link>,
    pub(super) shared: Arc<Shared>,
    pub(super) keys: Keys,
    wake: Wake,
    info: Info,
    /// How long a free name is remembered, in milliseconds, as the scripts take it.
    pub(super) retain: String,
    /// How long the key of a lock stays that is handed over by message, in milliseconds.
    passed_px: String,
    /// A listing that is under way.
    pub(super) walk: Mutex<Option<Walk>>,
}

/// What the lock of a dead holder stays beyond its lease, so that its queue and its token are not forgotten.
const GRACE: Duration = Duration::from_secs(3600);
/// So many grants are extended by one call: the server does nothing else meanwhile.
pub(super) const BATCH: usize = 64;
/// Shorter leases than this would be over before their answer is read.
const MIN_TTL: Duration = Duration::from_millis(5);

impl Native {
    pub(super) fn new(link: Arc<Link>, shared: Arc<Shared>, _: Arc<dyn Clock>) -> Self {
        let options = &shared.options;
        let mut info = Info::new(SCHEME, &options.instance);
        info.capabilities = Capabilities {
            leases: true,
            per_runtime: true,
            keep_for: true,
            in_line: true,
            min_ttl: MIN_TTL,
            ..Capabilities::default()
        };
        let retain = options.retain.as_millis().to_string();
        let channel = format!("{}:wake:{}", options.prefix, ClaimId::random());
        let wake = Wake::new(&link, &shared.desk, channel, retain.clone());
        let passed_px = px(UNCONFIRMED, options.retain);
        Self { keys: Keys::new(options), wake, info, retain, passed_px, walk: Mutex::default(), link, shared }
    }

    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.shared.desk
    }

    pub(super) fn wake(&self) -> &Wake {
        &self.wake
    }

    pub(super) fn now(&self) -> Moment {
        self.link.now()
    }

    pub(super) fn grant(claim: &Claim, block: Block, as_of: Moment) -> Grant {
        let mut grant = Grant::new(claim.clone(), block.number, as_of);
        (grant.turns, grant.ttl) = (block.turns, Some(block.ttl));
        grant
    }

    /// How long the key of a lock with this lease stays, in milliseconds.
    fn px(&self, ttl: Duration) -> String {
        px(ttl, self.shared.options.retain)
    }

    /// One question for the lock, and when it was sent. `channel`: get in line, to be woken there. `again`: it stands
    /// there already.
    pub(super) async fn ask(
        &self,
        claim: &Claim,
        channel: Option<&str>,
        again: bool,
    ) -> Result<(Answer, Moment)> {
        let live = self.link.live().await?;
        let (id, ttl, turns, px) =
            (claim.id.hex(), micros(claim.ttl), turns(claim.turns.max(1)), self.px(claim.ttl));
        let (silence, period) = (micros(silence(claim)), micros(period(claim)));
        let (label, retain) = (claim.label.as_bytes(), self.retain.as_bytes());
        let known: &[u8] = if again { b"1" } else { b"" };
        let args: [&[u8]; 10] = [
            &id,
            &ttl,
            &turns,
            label,
            px.as_bytes(),
            retain,
            channel.unwrap_or_default().as_bytes(),
            &silence,
            &period,
            known,
        ];
        let args = if channel.is_some() { &args[..] } else { &args[..6] };
        let script = if again { &script::ASK_AGAIN } else { &script::ACQUIRE };
        let sent = self.now();
        let asked = self.desk().asks(claim.id, live.number, self.link.stray_until(sent));
        let answer = script.run(&live, &self.keys.of(&claim.name).all(), args).await;
        let answer = answer.map_err(|e| explain(e, Sent::Yes).with_name(&claim.name)).and_then(Answer::parse);
        if !answer.as_ref().is_err_and(Error::outcome_unknown) {
            asked.answered();
        }
        Ok((answer?, sent))
    }

    /// Runs a step for one name and answers with its text.
    pub(super) async fn step(&self, script: &Script, keys: &[&str], args: &[&[u8]]) -> Result<String> {
        let live = self.link.live().await?;
        text(script.run(&live, keys, args).await.map_err(|e| explain(e, Sent::Yes))?)
    }

    /// One question that gets a place if the lock is held and somebody here listens.
    async fn get_in_line(&self, claim: &Claim, channel: &str) -> Result<Option<Grant>> {
        let coming = self.desk().comes(claim.id);
        match self.ask(claim, Some(channel), false).await? {
            (Answer::Granted(block), sent) => Ok(Some(Self::grant(claim, block, sent))),
            (Answer::Queued { ticket, left, position }, sent) => {
                coming.got(Got { ticket, sent, left, position });
                Ok(None)
            }
            (Answer::Busy { .. }, _) => Err(super::errors::garbled("busy to one who joins")),
        }
    }

    async fn wait(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        let mut place = Place::new(self, claim);
        let granted = poll::until(&**self.link.clock(), until, &mut place).await;
        drop(place);
        if let Ok(None) = granted {
            // Nothing of the claim may stay behind.
            let left = self.release(claim, Leave::default()).await.map_err(Error::with_outcome_unknown)?;
            if matches!(left, Release::Unsettled { .. }) {
                let why = "the connection that carried the question has gone; it may still arrive";
                let error = Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME);
                return Err(error.with_name(&claim.name).with_outcome_unknown());
            }
        }
        granted
    }

    async fn let_go(&self, live: &Live, claim: &Claim, leave: Leave) -> Result<Release> {
        let (id, used, rest) = (claim.id.hex(), turns(leave.used), leave.keep_for.map(micros));
        let mut args: Vec<&[u8]> = vec![&id, &used, self.retain.as_bytes(), self.passed_px.as_bytes()];
        args.extend(rest.as_ref().map(<[u8; 14]>::as_slice));
        let answer = script::RELEASE.run(live, &self.keys.of(&claim.name).all(), &args).await;
        let answer = answer.map_err(|e| explain(e, Sent::Yes)).and_then(text);
        match answer.map_err(|e| e.with_name(&claim.name))?.as_str() {
            "f" => Ok(Release::Freed),
            "n" => Ok(Release::NotHeld),
            "e" => Ok(Release::Evicted),
            other => Err(super::errors::garbled(other)),
        }
    }

    async fn extend_some(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        let keys: Vec<String> = grants.iter().map(|g| self.keys.lock(&g.claim.name)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let (wanted, px) = (micros(ttl), self.px(ttl));
        let ours: Vec<[u8; 49]> = grants.iter().map(|g| believed(g)).collect();
        let mut args: Vec<&[u8]> = vec![&wanted, px.as_bytes()];
        args.extend(ours.iter().map(<[u8; 49]>::as_slice));
        let live = match self.link.live().await {
            Ok(live) => live,
            Err(e) => return vec![Err(e); grants.len()],
        };
        let as_of = self.now();
        let answer = script::EXTEND.run(&live, &keys, &args).await;
        let answer = answer.map_err(|e| explain(e, Sent::Yes)).and_then(text);
        match answer {
            Err(e) => vec![Err(e); grants.len()],
            Ok(fields) => grants.iter().enumerate().map(|(i, g)| extension(g, &fields, i, as_of)).collect(),
        }
    }
}

fn px(ttl: Duration, retain: Duration) -> String {
    let whole = (ttl + GRACE + retain).as_millis();
    u64::try_from(whole).unwrap_or(u64::MAX).to_string()
}

/// Claim id and token, as they are compared with what stands in the server.
fn believed(grant: &Grant) -> [u8; 49] {
    let mut text = [b' '; 49];
    text[..32].copy_from_slice(&grant.claim.id.hex());
    text[33..].copy_from_slice(&digits::<16>(grant.number));
    text
}

/// 14 characters for each.
fn extension(grant: &Grant, fields: &str, i: usize, as_of: Moment) -> Result<Extension> {
    let field =
        fields.get(i * 14..(i + 1) * 14).ok_or_else(|| super::errors::garbled("too few extensions"))?;
    let left = extended(field).map_err(|e| e.with_name(&grant.claim.name))?;
    Ok(left.map_or_else(Extension::Lost, |ttl| Extension::Extended { as_of, ttl: Some(ttl) }))
}

/// Polls all of them until all are done.
pub(super) async fn all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, slot) in running.iter_mut().zip(&mut done) {
            if slot.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(cx)
            {
                *slot = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[async_trait]
impl Backend for Native {
    fn info(&self) -> &Info {
        &self.info
    }

    async fn acquire(&self, claim: &Claim, until: Until) -> Result<Option<Grant>> {
        self.info.capabilities.supports(claim.mode, SCHEME)?;
        // Boxed, or one question would carry the room for it.
        match until {
            Until::Now => {}
            Until::InLine => {
                if let Some(channel) = self.desk().ear() {
                    return Box::pin(self.get_in_line(claim, &channel)).await;
                }
            }
            _ => return Box::pin(self.wait(claim, until)).await,
        }
        match self.ask(claim, None, false).await? {
            (Answer::Granted(block), sent) => Ok(Some(Self::grant(claim, block, sent))),
            (Answer::Busy { .. }, _) => Ok(None),
            (Answer::Queued { .. }, _) => Err(super::errors::garbled("a place to one who does not join")),
        }
    }

    async fn extend(&self, grants: &[&Grant], ttl: Duration) -> Vec<Result<Extension>> {
        all(grants.chunks(BATCH).map(|some| self.extend_some(some, ttl)))
            .await
            .into_iter()
            .flatten()
            .collect()
    }

    async fn release(&self, claim: &Claim, leave: Leave) -> Result<Release> {
        self.desk().leave(claim.id);
        let live = self.link.live().await?;
        let released = self.let_go(&live, claim, leave).await?;
        // On the connection that carried it, a question is never behind its release; on another one it may be, and then
        // it takes the lock again, whether it was held or not.
        let stray = self.desk().stray_until(claim.id, live.number, self.now());
        Ok(stray.map_or(released, |until| Release::Unsettled { until }))
    }

    async fn time(&self) -> Result<Option<SystemTime>> {
        super::doctor::time(&self.link).await.map(|(now, _)| Some(now))
    }

    async fn close(&self) {
        self.wake.close();
        self.link.close();
    }

    fn notes(&self) -> Option<&dyn Notes> {
        Some(self)
    }

    fn admin(&self) -> Option<&dyn Admin> {
        Some(self)
    }
}
