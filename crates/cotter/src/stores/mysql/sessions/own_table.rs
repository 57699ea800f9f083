//! A table of the user's own: whether its rows can be locked.

use crate::backend::Claim;
use crate::stores::mysql::SCHEME;
use crate::stores::mysql::attempt::attempt;
use crate::stores::mysql::connector::Link;
use crate::stores::mysql::rows::{text, value};
use crate::stores::shared::sql::{Table, sessions};
use crate::{Error, ErrorKind, Result};

/// The kind of table, whether it has the column, and whether an index begins with it, as far as this user may see them.
const CHECK: &str = "SELECT t.table_type, COALESCE(t.engine, ''), \
    EXISTS (SELECT 1 FROM information_schema.columns AS c \
      WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.column_name = ?), \
    EXISTS (SELECT 1 FROM information_schema.statistics AS i \
      WHERE i.table_schema = t.table_schema AND i.table_name = t.table_name AND i.column_name = ? AND i.seq_in_index = 1) \
    FROM information_schema.tables AS t WHERE t.table_schema = COALESCE(?, DATABASE()) AND t.table_name = ?";

/// Refuses a table whose rows cannot be locked one by one.
pub(super) async fn check(link: &Link, table: &Table) -> Result<()> {
    let found = attempt(link, |live| {
        let (schema, name) = split(&table.name);
        let (schema, name, column) = (schema.map(str::to_owned), name.to_owned(), table.column.clone());
        // Nothing is locked by this, but it needs the same privileges.
        let lock = format!("SELECT 1 FROM {} LIMIT 0 FOR UPDATE", table.quoted('`'));
        async move {
            live.ask(move |session| {
                Box::pin(async move {
                    let rows = session.read(CHECK, (&column, &column, schema, name)).await?;
                    let Some(row) = rows.first() else { return Ok(None) };
                    let found =
                        (text(row, 0)?, text(row, 1)?, value::<bool>(row, 2)?, value::<bool>(row, 3)?);
                    session.read(&lock, ()).await?;
                    Ok(Some(found))
                })
            })
            .await
        }
    });
    let Table { name, column } = table;
    let why = match found.await? {
        None => format!("table=: there is no table {name}, or this user cannot see it"),
        Some((kind, engine, ..)) if kind != "BASE TABLE" || !engine.eq_ignore_ascii_case("innodb") => {
            format!("table=: {name} is not an InnoDB table, and only InnoDB locks single rows")
        }
        Some((_, _, false, _)) => format!("column=: the table {name} has no column {column}"),
        Some((.., false)) => format!(
            "column=: {name} has no index that starts with {column}, so the server would lock every row that it scans; create one: \
             CREATE UNIQUE INDEX {column} ON {name} ({column})"
        ),
        Some(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::Config, why).with_backend(SCHEME))
}

fn split(name: &str) -> (Option<&str>, &str) {
    name.split_once('.').map_or((None, name), |(schema, name)| (Some(schema), name))
}

/// The error for a name without a row.
pub(super) fn missing_row(table: &Table, claim: &Claim) -> Error {
    sessions::missing_row(SCHEME, table, &literal(claim))
}

/// The error for a name with more than one row.
pub(super) fn several(table: &Table, claim: &Claim) -> Error {
    let Table { name, column } = table;
    let why = format!("several rows of {name} have {column} = {}; it must be unique", literal(claim));
    Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME)
}

fn literal(claim: &Claim) -> String {
    format!("'{}'", claim.name.replace('\\', "\\\\").replace('\'', "''"))
}
