//! Waiting until replicas have acknowledged what this connection has written.
//!
//! `WAIT` blocks its connection, so one request serves everybody whose write was answered before it was sent (group commit),
//! and there is never more than one under way.

use super::SCHEME;
use super::errors::{Sent, explain, unexpected};
use super::live::Live;
use crate::backend::flight::Flight;
use crate::sync::lock;
use crate::{Error, ErrorKind, Result};
use redis::Value;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The requests for acknowledgement of one link.
pub(super) struct Acknowledged {
    replicas: u32,
    timeout: Duration,
    rounds: Mutex<Rounds>,
}

/// Each round belongs to the connection with this number.
#[derive(Default)]
struct Rounds {
    /// The round that is not sent yet: everybody may join it.
    open: Option<(u64, Flight<u64>)>,
    last: Option<(u64, Flight<u64>)>,
}

impl Acknowledged {
    pub(super) fn by(replicas: u32, timeout: Duration) -> Arc<Self> {
        Arc::new(Self { replicas, timeout, rounds: Mutex::default() })
    }

    /// Waits until the replicas have acknowledged what the connection has written, and what it has read of others.
    ///
    /// Fails if they are too few, or do not answer in time.
    pub(super) async fn wait(self: &Arc<Self>, live: &Arc<Live>) -> Result<()> {
        let count = self.join(live).land().await?;
        if count >= self.replicas.into() {
            return Ok(());
        }
        let why = format!(
            "only {count} of {} replicas have acknowledged the write within {:?}",
            self.replicas, self.timeout
        );
        Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME))
    }

    fn join(self: &Arc<Self>, live: &Arc<Live>) -> Flight<u64> {
        let of_live = |round: &&(u64, Flight<u64>)| round.0 == live.number;
        let mut rounds = lock(&self.rounds);
        if let Some((_, open)) = rounds.open.as_ref().filter(of_live) {
            return open.clone();
        }
        let before = rounds.last.as_ref().filter(of_live).map(|(_, round)| round.clone());
        let (this, live) = (self.clone(), live.clone());
        let number = live.number;
        let round = Flight::new(async move {
            if let Some(before) = before {
                let _ = before.land().await;
            }
            this.close(number);
            this.ask(&live).await
        });
        (rounds.open, rounds.last) = (Some((number, round.clone())), Some((number, round.clone())));
        round
    }

    /// From now on nobody joins the open round: it is about to be sent.
    fn close(&self, number: u64) {
        let mut rounds = lock(&self.rounds);
        rounds.open.take_if(|(of, _)| *of == number);
    }

    /// Returns the number of replicas that have acknowledged. `WAIT` covers everything that the server had carried out, for
    /// any client, when it ran the previous command of this connection.
    async fn ask(&self, live: &Live) -> Result<u64> {
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX));
        match live.query(&wait).await.map_err(|e| explain(e, Sent::Yes))? {
            Value::Int(count) => Ok(count.try_into().unwrap_or_default()),
            other => Err(unexpected(&format!("{other:?}"))),
        }
    }
}

impl fmt::Debug for Acknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acknowledged").field("replicas", &self.replicas).finish_non_exhaustive()
    }
}
