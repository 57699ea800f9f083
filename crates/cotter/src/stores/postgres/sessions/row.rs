//! `SELECT … FOR UPDATE`: a row that a transaction keeps locked, as long as it is open.
//!
//! Tokens are in another row, written over another session in a transaction of its own: in this one they would go with it when
//! its holder dies. They are reserved only while this transaction is in progress. Another server may have one with the same number,
//! and that session may lead to it, if something in between has changed its mind: so the server has to be the same one.

use super::backend::{Held, Inner, Steps, setting, silence};
use super::connection::{Connection, Refusal, SERVER_START, block, refusal, transaction};
use crate::backend::Claim;
use crate::stores::postgres::SCHEME;
use crate::stores::postgres::backend::{hex, one, value};
use crate::stores::postgres::connector::Link;
use crate::stores::postgres::errors::unexpected;
use crate::stores::postgres::live::Bound;
use crate::stores::postgres::options::Options;
use crate::stores::shared::sql::Table;
use crate::stores::shared::sql::sessions::{self, Asked, CLAIMED_WITHIN, Tokens, Wait, row_vanished};
use crate::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

#[derive(Debug)]
pub(super) struct Row {
    table: Option<Table>,
    lock_set: String,
    lock: String,
    insert: String,
    tokens: String,
    /// Whether the transaction is open, for one that has waited.
    claimed: String,
}

const BEGIN: &str = "begin isolation level read committed, read write";
/// Whether there is a table with this column, whose rows may be locked.
const CHECK: &str = "select to_regclass($1) is not null, \
    exists (select from pg_attribute where attrelid = to_regclass($1) and attname = $2 and attnum > 0 and not attisdropped), \
    coalesce(has_table_privilege(to_regclass($1), 'SELECT') and has_any_column_privilege(to_regclass($1), 'UPDATE'), false)";
/// The limit of a session that is in a transaction.
const IDLE: &str = "idle_in_transaction_session_timeout";
/// Whether a transaction is still open.
const IN_PROGRESS: &str = "coalesce(pg_current_xact_id_if_assigned()::text = $1, false)";

/// The table and the column as arguments of a function.
fn arguments(table: Option<&Table>) -> String {
    match table {
        None => "null, null".into(),
        Some(table) => format!("'{}'::regclass, '{}'", table.quoted('"'), table.column),
    }
}

/// The statement that locks a name inside a transaction of the caller's own.
pub(in crate::stores::postgres) fn in_transaction(options: &Options) -> String {
    let table = options.common.table.as_ref();
    format!(
        "select {}_lock_in_v1('{}', {}, $1)",
        options.qualified(),
        Table::lock_set(table),
        arguments(table)
    )
}

impl Row {
    /// The transaction that has locked the row, or `None` where there is no row.
    async fn attempt(
        &self,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Result<Option<String>, Refusal>> {
        let (limit, waits) = (setting(wait), wait != Wait::No);
        let bound: [Bound<'_>; 3] = [(&&*claim.name, Type::TEXT), (&waits, Type::BOOL), (&limit, Type::TEXT)];
        // Sent together.
        let (began, locked) = tokio::join!(session.live.run(BEGIN), session.live.ask(&self.lock, &bound));
        began?;
        match locked.map_err(refusal) {
            Ok(rows) => Ok(match transaction(&one(rows)?, 1)? {
                Some(none) if none.is_empty() => Err(Refusal::Busy),
                xid => Ok(xid),
            }),
            Err(refused) => refused.map(Err),
        }
    }

    /// Creates the row of a name in a transaction of its own: in the one that locks it, nobody else could see it.
    async fn insert(&self, inner: &Inner<Self>, claim: &Claim) -> Result<()> {
        if let Some(table) = &self.table {
            return Err(missing_row(table, claim));
        }
        let live = inner.parts.pool.of(claim.id).live().await?;
        let bound: [Bound<'_>; 1] = [(&&*claim.name, Type::TEXT)];
        let inserted = live.write(&self.insert, &bound, |rows| Ok(!rows.is_empty()), |is_new| *is_new).await;
        // It may have been, and that does no harm.
        inserted.map(|_| ()).map_err(Error::with_outcome_known)
    }

    async fn is_open(&self, session: &Connection, held: &Held) -> Result<bool> {
        session.is_good(IN_PROGRESS, &[(&held.xid, Type::TEXT)]).await
    }
}

fn missing_row(table: &Table, claim: &Claim) -> Error {
    sessions::missing_row(SCHEME, table, &format!("'{}'", claim.name.replace('\'', "''")))
}

impl Steps for Row {
    const VARIANT: &'static str = "postgres in mode=row";
    /// A newcomer that comes in the moment between the end of a transaction and the waking of the next is served first.
    const ORDERED: bool = false;

    fn new(options: &Options) -> Self {
        let (c, lasts) = (options.qualified(), options.common.session_timeout);
        let (table, lock_set) =
            (options.common.table.clone(), Table::lock_set(options.common.table.as_ref()));
        let arguments = arguments(table.as_ref());
        Self {
            lock: format!(
                "select set_config('lock_timeout', $3, true), {c}_row_v1({arguments}, $1, $2), case when $2 then {} end",
                silence(IDLE, CLAIMED_WITHIN.min(lasts), true)
            ),
            claimed: format!("{} is not null and {IN_PROGRESS}", silence(IDLE, lasts, true)),
            insert: format!("insert into {c}_row (name) values ($1) on conflict do nothing returning 1"),
            tokens: format!(
                "select set_config('synchronous_commit', 'off', true), case when {SERVER_START} = $7 then \
                 {c}_hold_v1('{lock_set}', $1, $2::uuid, $3, $4, null, $5, $6) end"
            ),
            table,
            lock_set,
        }
    }

    fn lock_set(&self) -> &str {
        &self.lock_set
    }

    async fn check(&self, link: &Link) -> Result<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let Table { name, column } = table;
        let bound: [Bound<'_>; 2] = [(&table.quoted('"'), Type::TEXT), (column, Type::TEXT)];
        let row = link.live().await?.rows(CHECK, &bound).await.and_then(one)?;
        let (kind, why) = match (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?) {
            (true, true, true) => return Ok(()),
            (false, ..) => (ErrorKind::Config, format!("table=: there is no table {name}")),
            (_, false, _) => (ErrorKind::Config, format!("column=: the table {name} has no column {column}")),
            _ => (
                ErrorKind::Denied,
                format!("missing privilege for locking rows: GRANT SELECT, UPDATE ON {name} TO …"),
            ),
        };
        Err(Error::new(kind, why).with_backend(SCHEME))
    }

    async fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Asked<Held>> {
        let as_of = inner.parts.now();
        let mut locked = self.attempt(session, claim, wait).await?;
        if matches!(locked, Ok(None)) {
            session.live.run("rollback").await?;
            self.insert(inner, claim).await?;
            locked = self.attempt(session, claim, wait).await?;
        }
        match locked {
            Ok(Some(xid)) => {
                Ok(Asked::Held(Held { as_of, waited: wait != Wait::No, xid: Some(xid), block: None }))
            }
            Ok(None) => Err(row_vanished(SCHEME)),
            Err(Refusal::Busy) => Ok(Asked::Busy { failed: true }),
            Err(Refusal::Cancelled) => Ok(Asked::Cancelled),
        }
    }

    async fn tokens(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        held: &Held,
    ) -> Result<Tokens> {
        let (id, turns) = (hex(claim.id), i32::from(claim.turns.max(1)));
        let bound: [Bound<'_>; 7] = [
            (&&*claim.name, Type::TEXT),
            (&id, Type::TEXT),
            (&turns, Type::INT4),
            (&&*claim.label, Type::TEXT),
            (&session.id.pid, Type::INT4),
            (&held.xid, Type::TEXT),
            (&session.id.server_start, Type::INT8),
        ];
        let reserving = async {
            let live = inner.parts.pool.of(claim.id).live().await?;
            // These do not wait for a standby, so an answer does not show that other commits return.
            block(&live.write(&self.tokens, &bound, one, |_| false).await?, 1)
        };
        if !held.waited {
            return Ok(Tokens { block: reserving.await?, as_of: held.as_of });
        }
        // The lock may have been granted long ago, to a process that stood still.
        let as_of = inner.parts.now();
        let xid: [Bound<'_>; 1] = [(&held.xid, Type::TEXT)];
        let open = session.is_good(&self.claimed, &xid);
        let (block, open) = tokio::join!(reserving, session.limited(open));
        Ok(Tokens { block: block?.filter(|_| open.is_ok_and(|open| open)), as_of })
    }

    async fn beat(&self, session: &Connection, held: &Held) -> Result<bool> {
        self.is_open(session, held).await
    }

    async fn unlock(&self, session: &Connection, _: &Claim, held: &Held) -> Result<bool> {
        let ours = held.xid.as_deref().filter(|xid| xid.bytes().all(|digit| digit.is_ascii_digit()));
        let ours = ours.ok_or_else(|| unexpected("an invalid transaction id"))?;
        let asked = format!("select {}; rollback", IN_PROGRESS.replace("$1", &format!("'{ours}'")));
        session.text(&asked).await.map(|open| open == "t").map_err(Error::with_outcome_unknown)
    }

    async fn reset(&self, session: &Connection) -> Result<()> {
        session.run("rollback").await
    }
}
