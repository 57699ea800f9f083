//! `pg_advisory_lock`: the server keeps a number for a session, until the session gives it back or ends.
//!
//! The number is a hash of the name. The row of the name says which number it has, and no two names have the same, so a name
//! whose number is in use for another is an error and not a lock that nobody can explain.

use super::backend::{Held, Inner, Steps, setting, silence};
use super::connection::{Connection, Refusal, block, refusal};
use crate::backend::Claim;
use crate::stores::postgres::SCHEME;
use crate::stores::postgres::backend::{hex, one, value};
use crate::stores::postgres::connector::Link;
use crate::stores::postgres::live::Bound;
use crate::stores::postgres::options::Options;
use crate::stores::shared::sql::sessions::{Asked, CLAIMED_WITHIN, Tokens, Wait};
use crate::{Error, ErrorKind, Result, random};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

#[derive(Debug)]
pub(super) struct Advisory {
    attempt: String,
    wait: String,
    tokens: String,
    unlock: String,
    reset: String,
}

const PLACE: &str = "advisory";
/// The limit of a session that is in no transaction.
const IDLE: &str = "idle_session_timeout";

/// Takes a lock that nobody else has, asks whether the server knows of it, and gives it back.
fn known(key: i64) -> String {
    format!(
        "select pg_catalog.pg_try_advisory_lock({key}); select version(); \
         select exists (select from pg_locks where locktype = 'advisory' and granted and pid = pg_catalog.pg_backend_pid() \
           and (classid::bigint << 32) | objid::bigint = {key}); \
         select pg_catalog.pg_advisory_unlock({key})"
    )
}

impl Advisory {
    async fn attempt(&self, inner: &Inner<Self>, session: &Connection, claim: &Claim) -> Result<Asked<Held>> {
        let as_of = inner.parts.now();
        let answer = session.live.ask(&self.attempt, &Values::of(claim).bound()).await;
        let row = match answer {
            Ok(rows) => one(rows)?,
            // The lock itself is not waited for, so this is about the row with the tokens.
            Err(e) if e.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                let why = "the row of the name in cotter_session is locked by another session, possibly one with an open transaction";
                return Err(Error::new(ErrorKind::Unavailable, why).with_source(e));
            }
            Err(e) => return refusal(e).map(Asked::from),
        };
        let block = block(&row, 0)?;
        Ok(block.map_or(Asked::Busy { failed: false }, |block| {
            Asked::Held(Held { as_of, waited: false, xid: None, block: Some(block) })
        }))
    }
}

/// The values that are bound to the statements about a claim.
struct Values<'a> {
    name: &'a str,
    id: String,
    turns: i32,
    label: &'a str,
}

impl<'a> Values<'a> {
    fn of(claim: &'a Claim) -> Self {
        Self {
            name: &claim.name,
            id: hex(claim.id),
            turns: i32::from(claim.turns.max(1)),
            label: &claim.label,
        }
    }

    fn bound(&self) -> [Bound<'_>; 4] {
        [
            (&self.name, Type::TEXT),
            (&self.id, Type::TEXT),
            (&self.turns, Type::INT4),
            (&self.label, Type::TEXT),
        ]
    }
}

impl From<Refusal> for Asked<Held> {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Busy => Self::Busy { failed: true },
            Refusal::Cancelled => Self::Cancelled,
        }
    }
}

impl Steps for Advisory {
    const VARIANT: &'static str = "postgres in mode=advisory";
    const ORDERED: bool = true;

    fn new(options: &Options) -> Self {
        let (c, lasts) = (options.qualified(), options.common.session_timeout);
        let key = format!("hashtextextended('{}.{}:' || $1, 0)", options.schema(), options.common.prefix);
        let hold = format!("{c}_hold_v1('{PLACE}', $1, $2::uuid, $3, $4, {key}, pg_backend_pid(), null)");
        Self {
            attempt: format!("select case when pg_catalog.pg_try_advisory_lock({key}) then {hold} end"),
            wait: format!(
                "select set_config('lock_timeout', $2, true), pg_catalog.pg_advisory_lock({key}), {}",
                silence(IDLE, CLAIMED_WITHIN.min(lasts), false)
            ),
            tokens: format!("select {hold}, {}", silence(IDLE, lasts, false)),
            unlock: format!("select pg_catalog.pg_advisory_unlock({key})"),
            reset: format!("select pg_catalog.pg_advisory_unlock_all(), {}", silence(IDLE, lasts, false)),
        }
    }

    fn lock_set(&self) -> &str {
        PLACE
    }

    /// Refuses a server that has these functions only in name: it grants the lock, and knows nothing of it.
    async fn check(&self, link: &Link) -> Result<()> {
        let key = i64::from_be_bytes(random::bits().to_be_bytes()[..8].try_into().unwrap_or_default());
        let live = link.live().await?;
        if !live.is_direct() {
            // Refused as soon as a session is opened.
            return Ok(());
        }
        let answers = live.texts(&known(key)).await?;
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let mut told = rows.filter_map(|row| row.get(0));
        let (granted, version, is_known) = (told.next(), told.next().unwrap_or_default(), told.next());
        if granted == Some("t") && is_known == Some("t") {
            return Ok(());
        }
        let why = format!(
            "this server ({version}) does not have the advisory locks that it grants: pg_locks knows nothing of them; use mode=lease"
        );
        Err(Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME))
    }

    async fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Asked<Held>> {
        if wait == Wait::No {
            return self.attempt(inner, session, claim).await;
        }
        let limit = setting(wait);
        let bound: [Bound<'_>; 2] = [(&&*claim.name, Type::TEXT), (&limit, Type::TEXT)];
        match session.live.ask(&self.wait, &bound).await.map_err(refusal) {
            Ok(_) => Ok(Asked::Held(Held { as_of: inner.parts.now(), waited: true, xid: None, block: None })),
            Err(refused) => refused.map(Asked::from),
        }
    }

    async fn tokens(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> Result<Tokens> {
        if held.block.is_some() {
            return Ok(Tokens { block: held.block, as_of: held.as_of });
        }
        // The lock may have been granted long ago, to a process that stood still. This is answered by a session that holds it.
        let as_of = inner.parts.now();
        let rows = session.live.rows(&self.tokens, &Values::of(claim).bound()).await?;
        Ok(Tokens { block: block(&one(rows)?, 0)?, as_of })
    }

    async fn beat(&self, session: &Connection, _: &Held) -> Result<bool> {
        session.is_good("true", &[]).await
    }

    async fn unlock(&self, session: &Connection, claim: &Claim, _: &Held) -> Result<bool> {
        let rows = session.live.rows(&self.unlock, &[(&&*claim.name, Type::TEXT)]).await;
        rows.and_then(one).and_then(|row| value(&row, 0)).map_err(Error::with_outcome_unknown)
    }

    async fn reset(&self, session: &Connection) -> Result<()> {
        session.run(&self.reset).await
    }
}
