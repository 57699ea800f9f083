//! A session that can hold one lock.

use super::ending::SessionId;
use super::limits;
use super::tokens::Seen;
use crate::mysql::SCHEME;
use crate::mysql::connector::Connector;
use crate::mysql::errors::unexpected;
use crate::mysql::live::Live;
use crate::mysql::rows::value;
use crate::net::{Live as _, Open, Pooled};
use crate::sql::sessions;
use crate::{Error, ErrorKind, Moment, Result};
use mysql_async::prelude::FromValue;
use mysql_async::{Params, Row};
use std::time::Duration;

/// A session, and what it takes to end it from another one.
#[derive(Debug)]
pub(super) struct Connection {
    live: Live,
    pub(super) id: SessionId,
    /// It holds nothing, and no answer is awaited.
    is_idle: bool,
}

/// Opens the sessions of a store.
pub(super) struct Opener {
    connector: Connector,
    silence: Duration,
}

impl Opener {
    pub(super) fn new(connector: Connector, silence: Duration) -> Self {
        Self { connector, silence }
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").field("silence", &self.silence).finish_non_exhaustive()
    }
}

impl sessions::Opens for Opener {
    type Connection = Connection;

    async fn open(&self) -> Result<Connection> {
        let live = self.connector.open().await?;
        let (silence, marker) = (self.silence, SessionId::new_marker());
        let id = live.run(move |session| {
            Box::pin(async move {
                if !session.has_own_number().await? {
                    return Err(pooled());
                }
                limits::set(session, silence).await?;
                SessionId::mark(session, marker).await
            })
        });
        let id = id.await?;
        Ok(Connection { live, id, is_idle: false })
    }

    fn connections(&self) -> usize {
        self.connector.connections()
    }

    fn silence(&self) -> Duration {
        self.silence
    }
}

impl Connection {
    /// Runs a statement that may change something, or wait: without a time limit. One row.
    pub(super) async fn ask(&self, statement: &str, values: impl Into<Params>) -> Result<Row> {
        let (statement, values) = (statement.to_owned(), values.into());
        let asked =
            self.live.wait(move |session| Box::pin(async move { session.ask(&statement, values).await }));
        asked.await?.pop().ok_or_else(|| unexpected("no row"))
    }

    /// The same; the value of its first column.
    pub(super) async fn ask_for<T: FromValue>(
        &self,
        statement: &str,
        values: impl Into<Params>,
    ) -> Result<T> {
        value(&self.ask(statement, values).await?, 0)
    }

    /// Whether the session holds the lock of a name, and if so what its tokens depend on.
    pub(super) async fn look(&self, statement: &str, name: &str, now: Moment) -> Result<Option<Seen>> {
        let row = self.ask(statement, (name, name)).await?;
        let holds: bool = value(&row, 0)?;
        holds.then(|| Seen::new(&row, now)).transpose()
    }

    /// Runs statements without values, in one message and for as long as any request may take; the first value of the first
    /// row, if it is not NULL.
    pub(super) async fn tell(&self, statements: String) -> Result<Option<String>> {
        let told =
            self.live.run(move |session| Box::pin(async move { session.texts(&statements).await })).await?;
        Ok(told.first().map(|row| value(row, 0)).transpose()?.flatten())
    }

    /// The same, without a time limit; the rows of the last statement that has any.
    pub(super) async fn wait(&self, statements: String) -> Result<Vec<Row>> {
        self.live.wait(move |session| Box::pin(async move { session.texts(&statements).await })).await
    }
}

impl sessions::Connection for Connection {
    type Id = SessionId;

    fn id(&self) -> SessionId {
        self.id.clone()
    }

    fn is_usable(&self) -> bool {
        self.live.is_usable()
    }

    /// The driver does not read between two statements.
    async fn is_there(&self) -> bool {
        self.tell("DO 0".into()).await.is_ok()
    }

    fn set_idle(&mut self, is_idle: bool) {
        self.is_idle = is_idle;
    }

    fn give_up(&self) {
        self.live.give_up();
    }

    async fn ended(&self) {
        self.live.ended().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // One that waits would say goodbye only when it has been served.
        if !self.is_idle {
            self.live.give_up();
        }
    }
}

fn pooled() -> Error {
    let why = "a proxy stands between this client and the server: it may give each transaction another session, and a lock \
        that lives with a session is then held by nobody or by somebody else; name the server itself in the URL, or use mode=lease";
    Error::new(ErrorKind::Config, why).with_backend(SCHEME)
}
