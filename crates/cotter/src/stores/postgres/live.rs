//! A connection to the server, shared by many requests.

use super::SCHEME;
use super::address::Endpoint;
use super::errors::{explain, is_end_of_session};
use crate::stores::shared::net::{self, AtHost, Idle, Load, next_number};
use crate::stores::shared::sql::sessions::SessionLive;
use crate::sync::lock;
use crate::{Error, ErrorKind, Moment, Result};
use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{CancelToken, Client, Row, SimpleQueryMessage, Statement};

/// A value that is bound to a statement, and its type.
pub(super) type Bound<'a> = (&'a (dyn ToSql + Sync), Type);

/// A commit of a healthy server waits for a fraction of this time.
const HANGING_COMMIT: &str = "select exists (select from pg_catalog.pg_stat_activity where wait_event = 'SyncRep' \
    and query_start < pg_catalog.clock_timestamp() - interval '1 second')";

/// One connection. Requests run in the order of their first poll.
pub(super) struct Live {
    client: Client,
    /// Unique in this process.
    pub(super) number: u64,
    timeout: Duration,
    driver: Driving,
    idle: Idle,
    answers: AtomicU64,
    broken: AtomicBool,
    load: Load,
    /// The server itself answers, and no pooler that could give each statement to another session.
    direct: AtomicBool,
    /// The statements that this session has prepared, by their text.
    prepared: Mutex<HashMap<String, Statement>>,
    at: Option<AtHost>,
}

/// The task that drives a connection.
pub(super) struct Driving {
    pub(super) task: AbortHandle,
    /// Its sender is dropped when the connection ends.
    pub(super) ended: watch::Receiver<()>,
    /// Where the connection leads to.
    pub(super) endpoint: Endpoint,
}

impl Live {
    pub(super) fn new(client: Client, timeout: Duration, driver: Driving) -> Self {
        let (answers, broken) = (AtomicU64::new(0), AtomicBool::new(false));
        Self {
            client,
            number: next_number(),
            timeout,
            driver,
            idle: Idle::new(),
            answers,
            broken,
            load: Load::default(),
            direct: AtomicBool::new(false),
            prepared: Mutex::default(),
            at: None,
        }
    }

    /// Leads to this host of the URL.
    pub(super) fn at(mut self, host: AtHost) -> Self {
        self.at = Some(host);
        self
    }

    /// Has statements prepared from now on: no pooler gives them to other sessions.
    pub(super) fn set_direct(&self) {
        self.direct.store(true, Ordering::Relaxed);
    }

    /// Whether the server itself answers, as far as is known.
    pub(super) fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// The time limit for the answer to a request.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The requests that were not answered yet.
    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    /// Runs one statement that changes something, if there is anything to change, and reads its answer. `has_written` says whether
    /// anything was changed: only that shows that the server carries out what has to be written.
    pub(super) async fn write<T: Send>(
        &self,
        statement: &str,
        bound: &[Bound<'_>],
        read: impl FnOnce(Vec<Row>) -> Result<T> + Send,
        has_written: impl FnOnce(&T) -> bool + Send,
    ) -> Result<T> {
        let answer = self.rows(statement, bound).await.and_then(read);
        if let Some(at) = &self.at {
            at.count(answer.as_ref().map(has_written), self.has_hanging_commit()).await;
        }
        answer
    }

    /// Whether a commit waits for a standby in vain, as far as this user may see.
    async fn has_hanging_commit(&self) -> bool {
        let asked = self.rows(HANGING_COMMIT, &[]).await;
        asked.is_ok_and(|rows| rows.first().and_then(|row| row.try_get(0).ok()) == Some(true))
    }

    /// Runs one statement that only asks, or concerns its session alone, and waits for its answer. A statement whose future is
    /// dropped may run all the same.
    pub(super) async fn rows(&self, statement: &str, bound: &[Bound<'_>]) -> Result<Vec<Row>> {
        let _pending = self.load.enter();
        let before = self.answers.load(Ordering::Relaxed);
        match tokio::time::timeout(self.timeout, self.ask(statement, bound)).await {
            Ok(Ok(rows)) => {
                self.answers.fetch_add(1, Ordering::Relaxed);
                Ok(rows)
            }
            Ok(Err(e)) => {
                if is_end_of_session(&e) {
                    self.broken.store(true, Ordering::Release);
                }
                self.answers.fetch_add(1, Ordering::Relaxed);
                Err(explain(e, true))
            }
            Err(_) => {
                // If nothing at all was answered in this time, the connection is dead.
                if self.answers.load(Ordering::Relaxed) == before {
                    self.broken.store(true, Ordering::Release);
                }
                let why = format!("no answer from the server within {:?}", self.timeout);
                Err(Error::new(ErrorKind::Unavailable, why).with_outcome_unknown().with_backend(SCHEME))
            }
        }
    }

    /// Runs one statement without a time limit. Behind a pooler it is not prepared under a name, because the next statement may be
    /// given to another session.
    pub(super) async fn ask(
        &self,
        statement: &str,
        bound: &[Bound<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        if self.is_direct() {
            match self.ask_prepared(statement, bound).await {
                // Nothing has run.
                Err(e) if is_about_preparing(&e) => self.direct.store(false, Ordering::Relaxed),
                answer => return answer,
            }
        }
        self.client.query_typed(statement, bound).await
    }

    async fn ask_prepared(
        &self,
        statement: &str,
        bound: &[Bound<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let known = lock(&self.prepared).get(statement).cloned();
        let prepared = match known {
            Some(prepared) => prepared,
            None => {
                let types: Vec<Type> = bound.iter().map(|(_, of)| of.clone()).collect();
                let prepared = self.client.prepare_typed(statement, &types).await?;
                lock(&self.prepared).insert(statement.to_owned(), prepared.clone());
                prepared
            }
        };
        let values: Vec<&(dyn ToSql + Sync)> = bound.iter().map(|(value, _)| *value).collect();
        self.client.query(&prepared, &values).await
    }

    /// Runs several statements without values, in one message and without a time limit; the rows of all of them.
    pub(super) async fn texts(&self, statements: &str) -> Result<Vec<SimpleQueryMessage>> {
        self.client.simple_query(statements).await.map_err(|e| explain(e, true))
    }

    /// Where the connection leads to, and what cancels a statement there.
    pub(super) fn cancel_token(&self) -> (&Endpoint, CancelToken) {
        (&self.driver.endpoint, self.client.cancel_token())
    }

    /// Runs statements without values, and without a time limit.
    pub(super) async fn run(&self, statements: &str) -> Result<()> {
        self.client.batch_execute(statements).await.map_err(|e| explain(e, true))
    }
}

/// Whether a statement failed because it is not prepared in the session, or not any more: there is a pooler after all.
fn is_about_preparing(e: &tokio_postgres::Error) -> bool {
    e.code().is_some_and(|code| matches!(code.code(), "26000" | "42P05" | "0A000"))
}

impl net::Live for Live {
    fn is_usable(&self) -> bool {
        let is_good = self.at.as_ref().is_none_or(AtHost::is_good);
        is_good && !self.broken.load(Ordering::Acquire) && !self.client.is_closed()
    }

    fn may_be_stale(&self, now: impl FnOnce() -> Moment) -> bool {
        self.idle.may_be_stale(now)
    }
}

impl SessionLive for Live {
    fn give_up(&self) {
        self.broken.store(true, Ordering::Release);
    }

    async fn ended(&self) {
        let mut ended = self.driver.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A driver that is left alone says goodbye to the server; one whose connection is dead would stay.
        if self.broken.load(Ordering::Acquire) {
            self.driver.task.abort();
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("number", &self.number).finish_non_exhaustive()
    }
}
