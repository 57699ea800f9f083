//! A session that can hold one lock.

use crate::Result;
use crate::stores::postgres::SCHEME;
use crate::stores::postgres::backend::{one, value};
use crate::stores::postgres::connector::{Connector, Link};
use crate::stores::postgres::errors::{explain, unexpected};
use crate::stores::postgres::live::Bound;
use crate::stores::postgres::socket;
use crate::stores::shared::net::{Open, timed_out};
use crate::stores::shared::sql::sessions::{self, SessionConnector, not_ended, pooled};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use tokio_postgres::types::Type;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// A session, with the statements that run on it.
pub(super) type Connection = sessions::Connection<Connector>;

/// A session of the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionId {
    pub(super) pid: i32,
    /// When it began, in µs: another session may get the same process id later.
    began: i64,
    /// When its server was started.
    pub(super) server_start: i64,
}

/// When the server was started, in µs: no two servers have that in common, not even a primary and its standby.
pub(super) const SERVER_START: &str =
    "(extract(epoch from pg_catalog.pg_postmaster_start_time()) * 1000000)::bigint";
/// Set once in each session. The server looks whether the client of a session that waits is still there, and asks its host
/// ([`TcpLimits`]). Nothing that a session commits has to survive a crash: after one, the server's clock replaces lost counters.
const SETTINGS: &str = "select pg_backend_pid(), current_setting('server_version_num')::integer, \
    (select (extract(epoch from backend_start) * 1000000)::bigint from pg_stat_activity where pid = pg_backend_pid()), \
    set_config('idle_session_timeout', $1, false), set_config('idle_in_transaction_session_timeout', $1, false), \
    set_config('client_connection_check_interval', '1s', false), set_config('statement_timeout', '0', false), \
    set_config('lock_timeout', '0', false), set_config('synchronous_commit', 'off', false), \
    set_config('tcp_keepalives_idle', $2, false), set_config('tcp_keepalives_interval', $3, false), \
    set_config('tcp_keepalives_count', $4, false), set_config('tcp_user_timeout', $5, false)";
/// A server that was made a replica, or read-only, serves none of the clients that have moved to another one, which grants the
/// lock as well. In a transaction that was begun before, only the default says so.
const TAKES_WRITES: &str = "not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' \
    and current_setting('default_transaction_read_only') = 'off'";
/// Since this version the length of a transaction can be limited.
const HAS_TRANSACTION_TIMEOUT: i32 = 170_000;
/// The kernel's limit. Where it is shorter than a session, `unanswered` decides.
const MAX_IDLE: u64 = 32_767;
/// Ends a session, if it is still there.
const TERMINATE: &str = "select pg_terminate_backend(pid, 1000) from pg_stat_activity \
    where pid = $1 and (extract(epoch from backend_start) * 1000000)::bigint = $2";

impl SessionConnector for Connector {
    type Id = SessionId;

    async fn open_session(&self, silence: Duration) -> Result<Connection> {
        let live = self.open().await?;
        if !live.is_direct() {
            return Err(pooled(SCHEME, "a pooler"));
        }
        let TcpLimits { idle, interval, count, unanswered } = TcpLimits::of(silence);
        let [idle, interval, count] = [idle, interval, count].map(|limit| limit.to_string());
        let [silence, unanswered] = [silence, unanswered].map(|limit| format!("{}ms", limit.as_millis()));
        let bound = [&silence, &idle, &interval, &count, &unanswered].map(|value| (value as _, Type::TEXT));
        let settings = live.rows(&format!("{SETTINGS}, {SERVER_START}"), &bound).await.and_then(one)?;
        let id = SessionId {
            pid: value(&settings, 0)?,
            began: value(&settings, 2)?,
            server_start: value(&settings, settings.len() - 1)?,
        };
        if value::<i32>(&settings, 1)? >= HAS_TRANSACTION_TIMEOUT {
            live.run("set transaction_timeout = 0").await?;
        }
        Ok(Connection::new(live, id))
    }

    /// The driver reads everything that the server sends, also between two statements.
    async fn is_there(_: &Connection) -> bool {
        true
    }
}

/// When the server gives up a client whose host is silent: seconds before it is asked for the first time and from then on, how
/// often, and how long anything sent may stay unconfirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TcpLimits {
    idle: u64,
    interval: u64,
    count: u64,
    unanswered: Duration,
}

impl TcpLimits {
    /// No earlier than the session ends of a client that is silent for as long as `silence`: until then its holder counts on
    /// the lock.
    fn of(silence: Duration) -> Self {
        let (interval, count) = (2, 3);
        let seconds = silence.as_millis().div_ceil(1000) as u64 + 1;
        let idle = seconds.saturating_sub(interval * count).clamp(5, MAX_IDLE);
        Self { idle, interval, count, unanswered: silence.max(Duration::from_secs(10)) }
    }
}

impl Connection {
    /// Whether the session is on a server that takes writes, and `holds`, a condition on the session, is true. There is no time
    /// limit: a holder waits for the answer until its deadline.
    pub(super) async fn is_good(&self, holds: &str, bound: &[Bound<'_>]) -> Result<bool> {
        let rows = self.live.ask(&format!("select {holds} and {TAKES_WRITES}"), bound).await;
        rows.map_err(|e| explain(e, true)).and_then(one).and_then(|row| value(&row, 0))
    }

    /// Asks the server to cancel the statement that runs. True if the server has carried it out: then no later statement of this
    /// session is cancelled in its place.
    pub(super) async fn cancel(&self, connector: &Connector) -> bool {
        let (endpoint, token) = self.live.cancel_token();
        let cancelling = async {
            let mut stream = socket::open(&connector.params, endpoint).await.ok()?;
            token.cancel_query_raw(&mut stream, NoTls).await.ok()?;
            // The server closes the connection when it has told the session.
            stream.read(&mut [0]).await.ok()
        };
        timeout(connector.connect_timeout(), cancelling).await.is_ok_and(|done| done.is_some())
    }

    /// Waits for the answer to a statement of a lock that is held or left, for as long as any request may take.
    pub(super) async fn run(&self, statement: &str) -> Result<()> {
        self.limited(self.live.run(statement)).await
    }

    /// The same for statements in one message; the first column of the first row, as text.
    pub(super) async fn text(&self, statements: &str) -> Result<String> {
        let answers = self.limited(self.live.texts(statements)).await?;
        let first = answers.iter().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        first.map(str::to_owned).ok_or_else(|| unexpected("no row"))
    }

    /// Waits for an answer for as long as any request may take.
    pub(super) async fn limited<T>(&self, answer: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.live.timeout();
        timeout(limit, answer).await.unwrap_or_else(|_| {
            Err(timed_out("an answer", limit).with_backend(SCHEME).with_outcome_unknown())
        })
    }
}

impl SessionId {
    /// Ends the session, over another one. It has gone when this is answered.
    pub(super) async fn end(self, link: &Link) -> Result<()> {
        let bound: [Bound<'_>; 2] = [(&self.pid, Type::INT4), (&self.began, Type::INT8)];
        let rows = link.live().await?.rows(TERMINATE, &bound).await?;
        if rows.first().map(|row| value::<bool>(row, 0)).transpose()?.unwrap_or(true) {
            return Ok(());
        }
        Err(not_ended(SCHEME, &format!("the session of process {}", self.pid)))
    }
}

/// The answer to a statement that asks for a lock.
pub(super) enum Refusal {
    /// Held by another, until the time was over.
    Busy,
    /// Cancelled from another session.
    Cancelled,
}

/// Tells a refusal from an error.
pub(super) fn refusal(e: tokio_postgres::Error) -> Result<Refusal> {
    match e.code().map(|code| code.code()) {
        Some("55P03") => Ok(Refusal::Busy),
        Some("57014") => Ok(Refusal::Cancelled),
        _ => Err(explain(e, true)),
    }
}

/// The transaction that a column names.
pub(super) fn transaction(row: &tokio_postgres::Row, column: usize) -> Result<Option<String>> {
    value(row, column)
}

/// A block of tokens: the first one and how many.
pub(super) fn block(row: &tokio_postgres::Row, column: usize) -> Result<Option<(u64, u16)>> {
    let Some(block) = value::<Option<Vec<i64>>>(row, column)? else { return Ok(None) };
    let [number, turns] = block[..] else { return Err(unexpected("a malformed block of tokens")) };
    match (u64::try_from(number), u16::try_from(turns)) {
        (Ok(number), Ok(turns)) => Ok(Some((number, turns))),
        _ => Err(unexpected("a negative token")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_gives_up_no_client_before_its_guard_ends() {
        for silence in [1000, 1001, 8000, 9999, 10_001, 11_000, 60_000, 3_600_000].map(Duration::from_millis)
        {
            let TcpLimits { idle, interval, count, unanswered } = TcpLimits::of(silence);
            assert!(unanswered >= silence, "{silence:?}: {unanswered:?}");
            assert!(Duration::from_secs(idle + interval * count) >= silence, "{silence:?}: {idle} s");
        }
        let usual = TcpLimits { idle: 5, interval: 2, count: 3, unanswered: Duration::from_secs(10) };
        assert_eq!(TcpLimits::of(Duration::from_secs(8)), usual, "a dead client is found out soon");
    }
}
