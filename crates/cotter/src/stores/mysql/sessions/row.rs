//! `SELECT … FOR UPDATE`: a row that a transaction keeps locked, as long as it is open.
//!
//! Beside it the session has the lock of the name's digest (`GET_LOCK`), for which it never has to wait: it tells others who holds
//! the row, which the server tells nobody. A transaction of ours ends with its session or by our own statement only, so the two
//! are held together.

use super::backend::{Held, Inner, Steps, seconds};
use super::connection::Connection;
use super::limits;
use super::own_table;
use super::statements::{Statements, hex};
use super::tokens::Seen;
use crate::backend::Claim;
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::connector::Link;
use crate::stores::mysql::errors::{INTERRUPTED, LOCK_TIMEOUT, LOCKED, code};
use crate::stores::mysql::options::Options;
use crate::stores::mysql::rows::{text, value};
use crate::stores::shared::sql::Table;
use crate::stores::shared::sql::sessions::{Asked, Wait, row_vanished};
use crate::{Error, ErrorKind, Result};
use mysql_async::Row as Found;
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Row {
    table: Option<Table>,
    /// The statement up to the name.
    select: String,
    insert: String,
}

/// How a row was asked for.
enum Locked {
    Yes,
    Missing,
    Refused(Asked<Held>),
}

/// The seconds for which the session that had the row before may keep its digest: it gives up the row first when it is ended.
const LEFTOVER: u32 = 1;

impl Row {
    /// The statements that lock a row: one message.
    fn statements(&self, name: &str, wait: Wait, silence: Duration) -> String {
        let (seconds, of) = (seconds(wait).max(1), if wait == Wait::No { " NOWAIT" } else { "" });
        // As text the name is compared by the rules of the column, so that its index can be used.
        let name = match self.table {
            Some(_) => format!("_utf8mb4 {}", hex(name)),
            None => hex(name),
        };
        format!(
            "SET SESSION innodb_lock_wait_timeout = {seconds}, lock_wait_timeout = {seconds}, {}; START TRANSACTION; \
             {}{name} LIMIT 2 FOR UPDATE{of}",
            if wait == Wait::No { limits::within(silence) } else { limits::waiting(silence) },
            self.select
        )
    }

    async fn attempt(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Locked> {
        let silence = inner.shared.options.session_timeout;
        let asked = session.wait(self.statements(&claim.name, wait, silence)).await;
        if wait != Wait::No {
            session.tell(format!("SET SESSION {}", limits::within(silence))).await?;
        }
        match asked {
            Ok(rows) => self.judge(&rows, claim),
            Err(e) => match code(&e) {
                Some(LOCKED) => Ok(Locked::Refused(Asked::Busy { failed: true })),
                Some(LOCK_TIMEOUT) => {
                    self.check_writable(session).await?;
                    Ok(Locked::Refused(Asked::Busy { failed: true }))
                }
                Some(INTERRUPTED) => Ok(Locked::Refused(Asked::Cancelled)),
                _ => Err(e),
            },
        }
    }

    /// Whoever is kept waiting by a backup or an administrator, and not by the holder of a row, gets the same answer. So it asks
    /// for no row, which only they refuse.
    async fn check_writable(&self, session: &Connection) -> Result<()> {
        match session.wait(format!("{}NULL FOR UPDATE NOWAIT", self.select)).await {
            Err(e) if code(&e) == Some(LOCK_TIMEOUT) => {
                let why = "the server keeps all changes of the table waiting, as during a backup or FLUSH TABLES WITH READ LOCK";
                Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME))
            }
            Err(e) => Err(e),
            Ok(_) => Ok(()),
        }
    }

    /// Two names may be equal by the rules of the column, and still be two names.
    fn judge(&self, rows: &[Found], claim: &Claim) -> Result<Locked> {
        let (Some(row), rest) = (rows.first(), rows.get(1)) else { return Ok(Locked::Missing) };
        let Some(table) = &self.table else { return Ok(Locked::Yes) };
        if rest.is_some() {
            return Err(own_table::several(table, claim));
        }
        let is_same = text(row, 0).is_ok_and(|found| found == *claim.name);
        Ok(if is_same { Locked::Yes } else { Locked::Missing })
    }

    /// Creates the row of a name in a transaction of its own: in the one that locks it, nobody else could see it.
    async fn insert(&self, inner: &Inner<Self>, claim: &Claim) -> Result<()> {
        if let Some(table) = &self.table {
            return Err(own_table::missing_row(table, claim));
        }
        let live = inner.parts.pool.of(claim.id).live().await?;
        let (insert, name) = (self.insert.clone(), claim.name.to_string());
        let inserted = live.run(move |own| Box::pin(async move { own.write(&insert, (name,)).await })).await;
        match inserted {
            // Somebody else has created it, and locked it.
            Err(e) if code(&e) == Some(LOCK_TIMEOUT) => Ok(()),
            // It may have been, and that does no harm.
            Err(e) => Err(e.with_outcome_known()),
            Ok(_) => Ok(()),
        }
    }

    /// Takes the digest of the name, and reads what a token depends on.
    async fn mark(&self, inner: &Inner<Self>, session: &Connection, claim: &Claim) -> Result<Asked<Held>> {
        let (name, as_of) = (&*claim.name, inner.parts.now());
        let row = session.ask(&inner.statements.get_lock_and_look, (name, LEFTOVER, name)).await?;
        match value::<Option<u8>>(&row, 0)? {
            Some(1) => Ok(Asked::Held(Held { seen: Some(Seen::new(&row, as_of)?) })),
            Some(_) => {
                let why = "the session of the previous holder has not ended yet";
                Err(Error::new(ErrorKind::Unavailable, why).with_backend(SCHEME))
            }
            None => Ok(Asked::Cancelled),
        }
    }
}

impl Steps for Row {
    const VARIANT: &'static str = "mysql in mode=row";
    /// A newcomer that comes in the moment between the end of a transaction and the waking of the next is served first, and MySQL
    /// prefers those who block many others.
    const ORDERED: bool = false;

    fn new(options: &Options) -> Self {
        let own = format!("`{}_row`", options.prefix);
        let select = match &options.table {
            None => format!("SELECT name FROM {own} WHERE name = "),
            Some(table) => {
                let (name, column) = (table.quoted('`'), &table.column);
                format!("SELECT CONVERT(`{column}` USING utf8mb4) FROM {name} WHERE `{column}` = ")
            }
        };
        let insert = format!("INSERT IGNORE INTO {own} (name) VALUES (?)");
        Self { table: options.table.clone(), select, insert }
    }

    fn lock_set(options: &Options) -> String {
        Table::lock_set(options.table.as_ref())
    }

    async fn check(&self, link: &Link) -> Result<()> {
        match &self.table {
            Some(table) => own_table::check(link, table).await,
            None => Ok(()),
        }
    }

    async fn lock(
        &self,
        inner: &Inner<Self>,
        session: &Connection,
        claim: &Claim,
        wait: Wait,
    ) -> Result<Asked<Held>> {
        let mut locked = self.attempt(inner, session, claim, wait).await?;
        if matches!(locked, Locked::Missing) {
            session.tell("ROLLBACK".into()).await?;
            self.insert(inner, claim).await?;
            locked = self.attempt(inner, session, claim, wait).await?;
        }
        match locked {
            Locked::Yes => self.mark(inner, session, claim).await,
            Locked::Refused(refused) => Ok(refused),
            Locked::Missing => Err(row_vanished(SCHEME)),
        }
    }

    async fn look(&self, inner: &Inner<Self>, session: &Connection, claim: &Claim) -> Result<Option<Seen>> {
        session.look(&inner.statements.look, &claim.name, inner.parts.now()).await
    }

    fn unlock(&self, statements: &Statements, claim: &Claim) -> String {
        format!("SELECT RELEASE_LOCK({}); ROLLBACK", statements.lock_of(&claim.name))
    }
}
