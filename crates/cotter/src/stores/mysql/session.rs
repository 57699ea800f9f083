//! The statements of a connection, as its task runs them. Nothing here may be dropped half-way: the driver would answer the next
//! statement with what is left.

use super::errors::{abandoned, demoted, explain, unexpected};
use super::fate::Fate;
use super::schema::Tables;
use crate::{Clock, Moment, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Params, Row};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The state that the task of a connection shares with its users.
#[derive(Debug, Default)]
pub(super) struct Signs {
    /// How many statements were answered.
    pub(super) answers: AtomicU64,
    /// The connection cannot be used any more.
    pub(super) broken: AtomicBool,
}

/// A connection, during one job.
pub(super) struct Session {
    conn: Conn,
    clock: Arc<dyn Clock>,
    signs: Arc<Signs>,
    pub(super) fate: Fate,
}

/// The answer to a statement that changes something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    /// How many rows it has changed. A row that was inserted or replaced counts once or twice.
    pub(super) rows: u64,
    /// The value that the statement has passed to `LAST_INSERT_ID`.
    pub(super) id: u64,
}

/// The number of the session. Some proxies answer the plain question themselves, or have a replica answer it.
pub(super) const SESSION_NUMBER: &str = "SELECT CONNECTION_ID() FROM DUAL FOR UPDATE";
/// The time for saying goodbye to the server.
const GOODBYE: Duration = Duration::from_millis(100);

impl Session {
    pub(super) fn new(conn: Conn, clock: Arc<dyn Clock>, signs: Arc<Signs>) -> Self {
        Self { conn, clock, signs, fate: Fate::default() }
    }

    pub(super) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(super) fn is_broken(&self) -> bool {
        self.signs.broken.load(Ordering::Acquire)
    }

    /// Whether the server still has this connection.
    pub(super) async fn is_there(&mut self) -> bool {
        let is_there = self.conn.ping().await.is_ok();
        if !is_there {
            self.signs.broken.store(true, Ordering::Release);
        }
        is_there
    }

    /// Runs a statement that changes nothing. Where it fails, nothing was changed.
    pub(super) async fn read(&mut self, statement: &str, values: impl Into<Params>) -> Result<Vec<Row>> {
        if self.fate.is_abandoned() {
            return Err(abandoned());
        }
        let answer = self.conn.exec(statement, values.into()).await;
        self.note(answer, false)
    }

    /// Runs a statement that changes something.
    pub(super) async fn write(&mut self, statement: &str, values: impl Into<Params>) -> Result<Written> {
        if !self.fate.begin_write() {
            return Err(abandoned());
        }
        let answer = self.conn.exec_drop(statement, values.into()).await;
        self.note(answer, true)?;
        let id = self.conn.last_insert_id().unwrap_or(0);
        let written = Written { rows: self.conn.affected_rows(), id };
        if written.rows == 0 {
            self.fate.wrote_nothing();
        }
        Ok(written)
    }

    /// Refuses a server that takes no writes any more, whatever it lets this user do: another one has to be looked for.
    pub(super) fn goes_on(&self, takes_writes: bool) -> Result<()> {
        if takes_writes {
            return Ok(());
        }
        self.signs.broken.store(true, Ordering::Release);
        Err(demoted())
    }

    /// The same after a write with this condition: if it has changed nothing, that may be why.
    pub(super) async fn unless_demoted(&mut self, written: Written) -> Result<Written> {
        if written.rows == 0 {
            let rows = self.read(&Tables::takes_writes(), ()).await?;
            let takes_writes = rows.first().and_then(|row| row.get(0));
            self.goes_on(takes_writes.ok_or_else(|| unexpected("no row"))?)?;
        }
        Ok(written)
    }

    /// Runs a statement that may change something, and has an answer.
    pub(super) async fn ask(&mut self, statement: &str, values: impl Into<Params>) -> Result<Vec<Row>> {
        if !self.fate.begin_write() {
            return Err(abandoned());
        }
        let answer = self.conn.exec(statement, values.into()).await;
        self.note(answer, true)
    }

    /// The same for statements without values, in one message; the rows of all of them.
    pub(super) async fn texts(&mut self, statements: &str) -> Result<Vec<Row>> {
        if !self.fate.begin_write() {
            return Err(abandoned());
        }
        let answer = texts(&mut self.conn, statements).await;
        self.note(answer, true)
    }

    /// Runs a statement that cannot be prepared, and changes no rows.
    pub(super) async fn tell(&mut self, statement: &str) -> Result<()> {
        if self.fate.is_abandoned() {
            return Err(abandoned());
        }
        let answer = self.conn.query_drop(statement).await;
        self.note(answer, false)
    }

    /// Takes another session of this user out of the queue in which it waits. That session goes on. Its number may belong to
    /// somebody else by now, after a restart or on another server: only what stands in such a queue is ended.
    pub(super) async fn end_standing(&mut self, session: u32) -> Result<()> {
        let stands = "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ? AND info LIKE '%GET_LOCK(CONCAT(''cotter:''%'";
        let rows = self.read(stands, (session,)).await?;
        if rows.first().and_then(|row| row.get(0)) != Some(1) {
            return Ok(());
        }
        self.tell(&format!("KILL QUERY {session}")).await
    }

    /// Whether the server knows this session by the number that the driver has been told. Behind a proxy it may not.
    pub(super) async fn has_own_number(&mut self) -> Result<bool> {
        let rows = self.read(SESSION_NUMBER, ()).await?;
        Ok(rows.first().and_then(|row| row.get(0)) == Some(self.conn.id()))
    }

    fn note<T>(&self, answer: mysql_async::Result<T>, writes: bool) -> Result<T> {
        answer
            .map_err(|e| {
                let (error, ends) = explain(e, writes);
                if ends {
                    self.signs.broken.store(true, Ordering::Release);
                } else {
                    self.signs.answers.fetch_add(1, Ordering::Relaxed);
                }
                if !error.outcome_unknown() {
                    self.fate.wrote_nothing();
                }
                error
            })
            .inspect(|_| _ = self.signs.answers.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends the connection, whatever it was doing. Unlike a connection that is dropped, it reads nothing more.
    pub(super) async fn close(self) {
        let _ = tokio::time::timeout(GOODBYE, self.conn.disconnect()).await;
    }
}

async fn texts(conn: &mut Conn, statements: &str) -> mysql_async::Result<Vec<Row>> {
    let (mut answers, mut rows) = (conn.query_iter(statements).await?, Vec::new());
    loop {
        rows.extend(answers.collect::<Row>().await?);
        if answers.is_empty() {
            // An error of a later statement is told here, or to the next statement.
            return answers.drop_result().await.map(|()| rows);
        }
    }
}
