//! A connection that receives notifications.

use super::connector::{Driver, process_id};
use super::errors::{explain, unexpected};
use super::schema::LISTENS;
use crate::Result;
use std::future::poll_fn;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_postgres::{AsyncMessage, Client};

/// The number of times that a pooler is tried.
const ROUNDS: usize = 8;

/// A connection that listens on one channel.
pub(super) struct Listening {
    /// Without it the connection would end.
    client: Client,
    payloads: UnboundedReceiver<String>,
    driver: AbortHandle,
    /// The server itself answers, and no pooler.
    direct: bool,
}

impl Listening {
    /// Takes over a connection on which nothing was sent yet.
    pub(super) async fn start(client: Client, driver: Driver) -> Result<Self> {
        let (sender, payloads) = mpsc::unbounded_channel();
        let driver = tokio::spawn(drive(driver, sender)).abort_handle();
        let mut listening = Self { client, payloads, driver, direct: false };
        let (key, asked) = tokio::join!(process_id(listening.client.cancel_token()), listening.session());
        listening.direct = key == Some(asked?);
        Ok(listening)
    }

    /// Whether a pooler stands in between.
    pub(super) fn is_pooled(&self) -> bool {
        !self.direct
    }

    /// Listens on a channel, whose name is made by this crate. Behind a pooler, [`keep`](Self::keep) has to follow.
    pub(super) async fn listen(&self, channel: &str) -> Result<()> {
        if self.direct {
            self.keep(channel).await?;
        }
        self.run(&format!("listen \"{channel}\"")).await
    }

    /// Tells that the channel is listened to: without the lock, whoever wakes waiters takes those of this channel for dead. The lock
    /// goes with the session. Behind a pooler it may be somebody else's, and stay there for ever: so nothing is locked until what
    /// was sent to the channel has arrived.
    pub(super) async fn keep(&self, channel: &str) -> Result<()> {
        self.run(&format!("select pg_advisory_lock_shared({LISTENS}, hashtext('{channel}'))")).await
    }

    /// Whether a pooler gives the statements of one client to several sessions, as in transaction mode. `other` is a second client of
    /// the same pooler. Those that prefer the session that was used last give the first client's to the second one, and
    /// those that take turns give the first client another one. Other clients may be in the way of either, so that it is tried
    /// several times.
    pub(super) async fn changes_sessions(&self, other: &Self) -> Result<bool> {
        let own = self.session().await?;
        for _ in 0..ROUNDS {
            if self.session().await? != own {
                return Ok(true);
            }
            other.run("begin").await?;
            let changes = other.session().await? == own || self.session().await? != own;
            other.run("rollback").await?;
            if changes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The process of the server that answers.
    async fn session(&self) -> Result<i32> {
        let rows =
            self.client.query_typed("select pg_backend_pid()", &[]).await.map_err(|e| explain(e, false))?;
        rows.first().and_then(|row| row.try_get(0).ok()).ok_or_else(|| unexpected("no process id"))
    }

    async fn run(&self, statements: &str) -> Result<()> {
        self.client.batch_execute(statements).await.map_err(|e| explain(e, false))
    }

    /// The payload of the next notification; `None` when the connection is lost. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<String> {
        self.payloads.recv().await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // The connection may be dead, and then a driver that says goodbye would stay.
        self.driver.abort();
    }
}

async fn drive(mut driver: Driver, payloads: UnboundedSender<String>) {
    while let Some(Ok(message)) = poll_fn(|cx| driver.poll_message(cx)).await {
        if let AsyncMessage::Notification(notification) = message
            && payloads.send(notification.payload().to_owned()).is_err()
        {
            return;
        }
    }
}
