//! The task of one claim: it asks for the lock, keeps its session alive, and gives the lock back.
//!
//! Whoever wants the lock may be dropped at any time. The task goes on until the claim is released, and its release waits for it.

use super::connection::SessionLive;
use super::parts::Parts;
use super::seats::{End, Seat};
use super::store::{Asked, IdOf, SessionOf, Store, Tokens, Wait};
use crate::backend::{Backoff, Claim, Grant, Session, Until};
use crate::{Error, ErrorKind, LossCause, Moment, Result};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Keeper<S: Store> {
    store: Arc<S>,
    claim: Claim,
    until: Until,
    seat: Arc<Seat<IdOf<S>>>,
    /// The session that it asks over.
    session: Option<IdOf<S>>,
}

/// A task that panics, or that ends with its client, leaves nobody waiting for it. Its session was dropped before.
impl<S: Store> Drop for Keeper<S> {
    fn drop(&mut self) {
        self.seat.deserted(self.session.take());
    }
}

/// The share of the time after which the server ends a silent session: two proofs may fail, and a third one be late.
const BEATS: u32 = 4;
/// The pauses between two requests to cancel a statement: one may arrive before the statement does.
const CANCEL_PAUSES: Backoff = Backoff::new(Duration::from_millis(2), Duration::from_millis(100));

/// The time between two looks whether the server still has a statement that waits. Two in a row have to find that it has not: the
/// answer may be under way at one.
const LOOK_PERIOD: Duration = Duration::from_secs(3);
const LOOKS: u32 = 2;

/// The time for finding out why a session has ended. Whatever comes of it, its deadline stands.
const EVICTION_LOOK: Duration = Duration::from_millis(250);

/// How a claim ends, and whether its session can be used again.
type Ending<S> = Result<(End<IdOf<S>>, Reuse), Error>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reuse {
    /// It holds nothing.
    Yes,
    /// It may still hold something, or be in a transaction that has failed.
    Reset,
    /// A request to cancel a statement may still be under way to it.
    No,
}

/// The answer to a request for the lock, and whether the session can be used after it.
struct Answer<H> {
    asked: Asked<H>,
    reuse: Reuse,
}

impl<S: Store> Keeper<S> {
    pub(super) fn new(store: &Arc<S>, claim: &Claim, until: Until, seat: &Arc<Seat<IdOf<S>>>) -> Self {
        Self { store: store.clone(), claim: claim.clone(), until, seat: seat.clone(), session: None }
    }

    fn parts(&self) -> &Parts<S::Connector> {
        self.store.parts()
    }

    pub(super) async fn run(mut self) {
        let session = tokio::select! {
            biased;
            _ = self.seat.is_left() => return self.seat.end(End::Nothing),
            session = self.parts().spares.take() => match session {
                Ok(session) => session,
                Err(e) => return self.seat.end(End::Failed(e)),
            },
        };
        self.session = Some(session.id.clone());
        match self.hold(&session).await {
            Ok((end, reuse)) => self.put_back(session, end, reuse).await,
            Err(e) => {
                session.live.give_up();
                let id = session.id.clone();
                drop(session);
                self.seat.end(End::Broken(id, e));
            }
        }
    }

    async fn put_back(&self, session: SessionOf<S>, end: End<IdOf<S>>, reuse: Reuse) {
        match reuse {
            Reuse::Yes => {
                self.parts().spares.put(session);
                self.seat.end(end);
            }
            Reuse::Reset => match self.store.reset(&session, &self.claim).await {
                Ok(()) => {
                    self.parts().spares.put(session);
                    self.seat.end(end);
                }
                Err(e) => self.seat.end(End::Broken(session.id.clone(), e)),
            },
            Reuse::No => {
                // Ended by the server, and waited for: another session may have to wait for what this one holds.
                let ended = self.store.end(&session.id).await;
                session.live.give_up();
                match ended {
                    Ok(()) => self.seat.end(end),
                    Err(e) => self.seat.end(End::Broken(session.id.clone(), e)),
                }
            }
        }
    }

    /// From the request to the end. An error means that the session is in an unknown state.
    async fn hold(&self, session: &SessionOf<S>) -> Ending<S> {
        let Answer { asked, reuse } = match self.ask(session).await {
            Ok(answer) => answer,
            Err(e) if e.outcome_unknown() => return Err(e),
            Err(e) => return Ok((End::Failed(e), Reuse::Reset)),
        };
        let held = match asked {
            Asked::Held(held) => held,
            Asked::Busy { .. } => return Ok((End::Nothing, reuse)),
            Asked::Cancelled => return Ok((self.cancelled().await, reuse)),
        };
        let Tokens { block, as_of } = match self.store.tokens(session, &self.claim, &held).await {
            Ok(tokens) => tokens,
            Err(e) if e.outcome_unknown() => return Err(e),
            Err(e) => return Ok((End::Failed(e), if reuse == Reuse::No { reuse } else { Reuse::Reset })),
        };
        let Some((number, turns)) = block else { return Err(lost()) };
        let life = Session::new();
        life.prove(as_of, self.parts().spares.silence());
        let mut grant = Grant::new(self.claim.clone(), number, as_of);
        (grant.turns, grant.session) = (turns, Some(life.clone()));
        self.seat.granted(grant);
        match self.keep(session, &held, &life).await {
            Ok(used) => {
                let (freed, _) = tokio::join!(
                    self.store.unlock(session, &self.claim, &held),
                    self.store.give_back(&self.claim, (number, turns), used)
                );
                let end = if freed? { End::Released } else { End::Nothing };
                Ok((end, if reuse == Reuse::No { reuse } else { Reuse::Yes }))
            }
            Err(e) => {
                // Whoever evicts a holder ends its session, after saying so in its row.
                let asked = tokio::time::timeout(EVICTION_LOOK, self.store.evicted(&[&self.claim])).await;
                let evicted = asked.is_ok_and(|asked| asked.is_ok_and(|evicted| evicted == [true]));
                life.lose(if evicted { LossCause::Evicted } else { LossCause::SessionLost });
                Err(e)
            }
        }
    }

    /// Asks for the lock. When the claim is released, or the time is over, the statement is cancelled.
    async fn ask(&self, session: &SessionOf<S>) -> Result<Answer<S::Held>> {
        let (clock, now) = (self.parts().host.clock(), self.parts().now());
        let (wait, end) = match self.until {
            Until::Now | Until::InLine => (Wait::No, now + self.parts().link.timeout()),
            Until::Moment(end) => (Wait::For(end.since(now)), end),
            Until::Forever => (Wait::Forever, Moment::NEVER),
        };
        let mut asking = pin!(self.store.lock(session, &self.claim, wait));
        tokio::select! {
            biased;
            asked = &mut asking => return asked.map(|asked| Answer { reuse: reuse_after(&asked), asked }),
            () = self.unheard(session) => return Err(unheard()),
            _ = self.seat.is_left() => {}
            () = clock.sleep_until(end) => {}
        }
        let over = self.parts().now() + self.parts().link.timeout();
        let (mut pauses, mut reuse) = (CANCEL_PAUSES, Reuse::Reset);
        while self.parts().now() < over {
            let mut cancelling = pin!(self.store.cancel(session));
            let (answered, carried_out) = tokio::select! {
                biased;
                asked = &mut asking => (Some(asked), cancelling.await),
                done = &mut cancelling => (None, done),
            };
            if !carried_out {
                reuse = Reuse::No;
            }
            let answered = match answered {
                Some(asked) => Some(asked),
                None => tokio::select! {
                    biased;
                    asked = &mut asking => Some(asked),
                    () = clock.sleep_until(self.parts().now() + pauses.pause()) => None,
                },
            };
            if let Some(asked) = answered {
                return asked.map(|asked| Answer { asked, reuse });
            }
        }
        let why = "the server did not answer the request to cancel a statement that waits for a lock";
        Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown())
    }

    /// Completes when the answer to a statement that waits is known to be lost.
    async fn unheard(&self, session: &SessionOf<S>) {
        let (clock, mut missed) = (self.parts().host.clock(), 0);
        while missed < LOOKS {
            clock.sleep_until(self.parts().now() + LOOK_PERIOD).await;
            match self.store.still_waits(session).await {
                Ok(false) => missed += 1,
                Ok(true) => missed = 0,
                // Nothing is known.
                Err(_) => {}
            }
        }
    }

    /// A wait that was cancelled, by this task or by somebody else.
    async fn cancelled(&self) -> End<IdOf<S>> {
        let released = tokio::select! {
            biased;
            _ = self.seat.is_left() => true,
            () = std::future::ready(()) => false,
        };
        if released {
            return End::Released;
        }
        let why = match self.until {
            // Nobody would have been waited for: something else has kept the server from answering.
            Until::Now | Until::InLine => "the server did not answer in time whether the lock is free",
            Until::Moment(end) if self.parts().now() >= end => return End::Nothing,
            _ => "another session cancelled the statement that was waiting for the lock",
        };
        End::Failed(Error::new(ErrorKind::Unavailable, why))
    }

    /// Keeps the session alive until the claim is released; returns the turns that were used.
    async fn keep(&self, session: &SessionOf<S>, held: &S::Held, life: &Session) -> Result<u16> {
        let (clock, lasts) = (self.parts().host.clock(), self.parts().spares.silence());
        loop {
            let (as_of, _) = life.proof().ok_or_else(lost)?;
            let beat = async {
                clock.sleep_until(as_of + lasts / BEATS).await;
                let sent = self.parts().now();
                self.store.beat(session, &self.claim, held).await.map(|holds| holds.then_some(sent))
            };
            tokio::select! {
                biased;
                used = self.seat.is_left() => return Ok(used),
                () = session.live.ended() => return Err(lost()),
                beat = beat => match beat? {
                    Some(sent) => life.prove(sent, lasts),
                    None => return Err(lost()),
                },
                () = clock.sleep_until(as_of + lasts) => return Err(lost()),
            }
        }
    }
}

fn reuse_after<H>(asked: &Asked<H>) -> Reuse {
    match asked {
        Asked::Held(_) | Asked::Busy { failed: false } => Reuse::Yes,
        Asked::Busy { failed: true } | Asked::Cancelled => Reuse::Reset,
    }
}

fn unheard() -> Error {
    let why = "the server has answered the statement that waited for the lock, and the answer did not arrive";
    Error::new(ErrorKind::Unavailable, why).with_outcome_unknown()
}

fn lost() -> Error {
    let why = "the session that holds the lock has ended";
    Error::new(ErrorKind::Unavailable, why).with_outcome_unknown()
}
