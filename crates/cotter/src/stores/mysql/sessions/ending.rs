//! Ending a session, or the statement that it waits in, from another one.
//!
//! The number of a session may belong to somebody else when a server has been started again. So each of our sessions marks itself:
//! it has a lock (`GET_LOCK`) with a name that nobody else knows. The server says which session that is, in the same statement that
//! ends it, and when the mark has gone, so has everything else that the session held.

use crate::random;
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::connector::Link;
use crate::stores::mysql::errors::{NO_SUCH_SESSION, code, unexpected};
use crate::stores::mysql::rows::value;
use crate::stores::mysql::session::Session;
use crate::stores::shared::sql::sessions::not_ended;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;
use std::time::Duration;

/// A session of the server.
#[derive(Debug, Clone)]
pub(crate) struct SessionId {
    /// Its number there.
    pub(super) number: u32,
    /// The name of its mark: plain letters and digits.
    pub(super) marker: Arc<str>,
}

/// The time limit for a session to end after it was killed.
const MAX_END_TIME: Duration = Duration::from_secs(1);
/// The pause between two looks whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

impl SessionId {
    /// A name that nobody else has.
    pub(super) fn new_marker() -> String {
        format!("cotter-s:{:032x}", random::bits())
    }

    /// Marks a session.
    pub(super) async fn mark(session: &mut Session, marker: String) -> Result<Self> {
        let rows = session.read("SELECT CONNECTION_ID(), GET_LOCK(?, 0)", (&marker,)).await?;
        let row = rows.first().ok_or_else(|| unexpected("no row"))?;
        match value::<Option<u8>>(row, 1)? {
            Some(1) => Ok(Self { number: value(row, 0)?, marker: marker.into() }),
            _ => Err(Error::new(ErrorKind::Unavailable, "the server refused GET_LOCK").with_backend(SCHEME)),
        }
    }
}

/// Cancels the statement that a session waits in. When this is answered, the server has carried it out.
pub(super) async fn cancel(id: &SessionId, link: &Link) -> Result<()> {
    kill("QUERY", id, link).await
}

/// Ends a session. It has gone when this is answered, and holds nothing any more.
pub(super) async fn end(id: &SessionId, link: &Link) -> Result<()> {
    let over = link.now() + MAX_END_TIME;
    kill("CONNECTION", id, link).await?;
    while is_there(id, link).await? {
        if link.now() > over {
            return Err(not_ended(SCHEME, &format!("session {}", id.number)));
        }
        link.clock().sleep_until(link.now() + PAUSE).await;
    }
    Ok(())
}

async fn is_there(id: &SessionId, link: &Link) -> Result<bool> {
    ask(id, link, "SELECT IS_USED_LOCK(?) IS NOT NULL").await
}

/// Whether the server of another session has this one, too.
pub(super) async fn knows(other: &mut Session, id: &SessionId) -> Result<bool> {
    let known = other.read("SELECT IS_USED_LOCK(?) <=> ?", (&*id.marker, id.number)).await?;
    value(known.first().ok_or_else(|| unexpected("no row"))?, 0)
}

/// Whether a session executes nothing, or has gone. Each user may see their own sessions. The clause at the end keeps what sends reads
/// to a replica from doing so, which would not know the session.
pub(super) async fn is_idle(id: &SessionId, link: &Link) -> Result<bool> {
    let idle = "SELECT COALESCE((SELECT MAX(command = 'Sleep') FROM information_schema.processlist \
        WHERE id = IS_USED_LOCK(?)), 1) FROM DUAL FOR UPDATE";
    ask(id, link, idle).await
}

/// Asks about the session that has the mark.
async fn ask(id: &SessionId, link: &Link, question: &'static str) -> Result<bool> {
    let marker = id.marker.to_string();
    let asked = link.live().await?;
    let asked = asked.ask(move |own| {
        Box::pin(async move {
            let rows = own.read(question, (marker,)).await?;
            value(rows.first().ok_or_else(|| unexpected("no row"))?, 0)
        })
    });
    asked.await
}

async fn kill(what: &str, id: &SessionId, link: &Link) -> Result<()> {
    let kill = format!("KILL {what} IS_USED_LOCK('{}')", id.marker);
    let live = link.live().await?;
    let killed = live.ask(move |own| Box::pin(async move { own.tell(&kill).await })).await;
    match killed {
        // It has gone already.
        Err(e) if code(&e) == Some(NO_SUCH_SESSION) => Ok(()),
        killed => killed,
    }
}
