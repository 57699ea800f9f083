//! A connection that receives notifications.

use super::connector::Driver;
use super::errors::explain;
use super::schema::LISTENS;
use crate::Result;
use std::future::poll_fn;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::AbortHandle;
use tokio_postgres::{AsyncMessage, Client};

/// A connection that listens on one channel.
pub(super) struct Listening {
    /// Without it the connection would end.
    client: Client,
    payloads: UnboundedReceiver<String>,
    driver: AbortHandle,
}

impl Listening {
    /// Listens on a channel, whose name is made by this crate.
    pub(super) async fn start(client: Client, driver: Driver, channel: &str) -> Result<Self> {
        let (sender, payloads) = mpsc::unbounded_channel();
        let driver = tokio::spawn(drive(driver, sender)).abort_handle();
        let listening = Self { client, payloads, driver };
        // The lock goes with the session: without it, whoever wakes waiters takes those of this channel for dead.
        let alive = format!("select pg_advisory_lock_shared({LISTENS}, hashtext('{channel}'))");
        let listen = format!("{alive}; listen \"{channel}\"");
        listening.client.batch_execute(&listen).await.map_err(|e| explain(e, false))?;
        Ok(listening)
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
