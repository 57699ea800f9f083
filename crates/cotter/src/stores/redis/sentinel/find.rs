//! Connecting to the master.

use super::Sentinels;
use super::master::Named;
use super::role::Role;
use crate::backend::Backoff;
use crate::stores::redis::SCHEME;
use crate::stores::redis::connector::Connector;
use crate::stores::redis::errors::{Sent, explain};
use crate::stores::redis::live::Live;
use crate::stores::redis::options::Options;
use crate::stores::redis::socket::Endpoint;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pauses before the sentinels are asked again.
const BACKOFF: Backoff =
    Backoff::new(Duration::from_millis(20), Duration::from_millis(500)).with_jitter(0.25);
/// The time after which they are asked whether a server that does not answer is still the master.
const PATIENCE: Duration = Duration::from_millis(500);

impl Connector {
    /// Opens a connection for requests to the master, and ends it when another server becomes it.
    pub(in crate::stores::redis) async fn connect_to_master(
        &self,
        sentinels: &Arc<Sentinels>,
    ) -> Result<(Live, Endpoint)> {
        let end = Instant::now() + self.connect_timeout;
        let mut backoff = BACKOFF;
        loop {
            let tried = self.try_master(sentinels).await;
            let pause = backoff.pause();
            match tried {
                Err(e) if e.is_retryable() && Instant::now() + pause < end => sleep(pause).await,
                tried => return tried,
            }
        }
    }

    async fn try_master(&self, sentinels: &Arc<Sentinels>) -> Result<(Live, Endpoint)> {
        let asked = sentinels.master.term();
        let named = sentinels.name(&self.options).await?;
        let endpoint = sentinels.endpoint(&named.host, named.port);
        let mut live = tokio::select! {
            biased;
            opened = self.open_master(sentinels, &named, &endpoint) => opened?,
            () = asked.over() => return Err(replaced(&named)),
            () = sentinels.name_other(&named, &self.options) => return Err(replaced(&named)),
        };
        let Some(term) = sentinels.master.confirm(named.clone(), &asked) else {
            return Err(replaced(&named));
        };
        let (over, listening) = (term.clone(), self.listens.then(|| (sentinels.clone(), self.clone())));
        live.lead(term, async move {
            let listen = async {
                match listening {
                    Some((sentinels, connector)) => sentinels.listen(&connector.options).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = over.over() => {}
                () = listen => {}
            }
        });
        Ok((live, endpoint))
    }

    /// Opens a connection to a server, if it says that it is the master.
    async fn open_master(&self, sentinels: &Sentinels, named: &Named, endpoint: &Endpoint) -> Result<Live> {
        let place = format!("{named}, the master of {:?}", sentinels.service);
        let advise = |e| match endpoint.host() {
            Some(at) if !self.was_at(at) => sentinels.announced.advise(e, at),
            _ => e,
        };
        let opened = self.connect_to(endpoint).await.map_err(advise);
        let live =
            opened.map_err(|e| e.with_server(&place)).inspect_err(|_| sentinels.master.doubt(named))?;
        let answer = live.query(&redis::cmd("ROLE")).await.map_err(|e| role_denied(explain(e, Sent::No)));
        match Role::parse(answer.map_err(|e| e.with_server(&place))?) {
            Some(Role::Master) => Ok(live),
            _ => {
                sentinels.master.refute(named);
                Err(unavailable(format!("the sentinels name {named}, which says that it is not the master")))
            }
        }
    }
}

impl Sentinels {
    async fn name(&self, options: &Options) -> Result<Named> {
        let asked = self.ask(options).await;
        self.choose(&asked, self.master.recent())
    }

    /// Completes when the sentinels name another server than this one.
    async fn name_other(&self, than: &Named, options: &Options) {
        loop {
            sleep(PATIENCE).await;
            if self.name(options).await.is_ok_and(|named| !named.is_at(than)) {
                return;
            }
        }
    }
}

fn role_denied(e: Error) -> Error {
    match e.kind() {
        ErrorKind::Denied => {
            let why =
                format!("the user may not ask whether the server is the master; its ACL needs +role ({e})");
            Error::new(ErrorKind::Denied, why).with_backend(SCHEME)
        }
        _ => e,
    }
}

fn replaced(named: &Named) -> Error {
    unavailable(format!("{named} was replaced as the master while it was connected to"))
}

fn unavailable(why: String) -> Error {
    Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME)
}
