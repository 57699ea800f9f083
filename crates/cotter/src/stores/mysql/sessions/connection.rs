//! A session that can hold one lock.

use super::ending::SessionId;
use super::limits;
use super::tokens::Seen;
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::connector::Connector;
use crate::stores::mysql::errors::unexpected;
use crate::stores::mysql::rows::value;
use crate::stores::shared::net::Open;
use crate::stores::shared::sql::sessions::{self, SessionConnector, pooled};
use crate::{Moment, Result};
use mysql_async::prelude::FromValue;
use mysql_async::{Params, Row};
use std::time::Duration;

/// A session, with the statements that run on it.
pub(super) type Connection = sessions::Connection<Connector>;

impl SessionConnector for Connector {
    type Id = SessionId;

    async fn open_session(&self, silence: Duration) -> Result<Connection> {
        let (live, marker) = (self.open().await?, SessionId::new_marker());
        let id = live.ask(move |session| {
            Box::pin(async move {
                if !session.has_own_number().await? {
                    return Err(pooled(SCHEME, "a proxy"));
                }
                limits::set(session, silence).await?;
                SessionId::mark(session, marker).await
            })
        });
        let id = id.await?;
        Ok(Connection::new(live, id))
    }

    async fn farewell(&self) {
        Self::farewell(self).await;
    }

    /// The driver does not read between two statements.
    async fn is_there(session: &Connection) -> bool {
        session.tell("DO 0".into()).await.is_ok()
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
            self.live.ask(move |session| Box::pin(async move { session.texts(&statements).await })).await?;
        Ok(told.first().map(|row| value(row, 0)).transpose()?.flatten())
    }

    /// The same, without a time limit; the rows of the last statement that has any.
    pub(super) async fn wait(&self, statements: String) -> Result<Vec<Row>> {
        self.live.wait(move |session| Box::pin(async move { session.texts(&statements).await })).await
    }
}
