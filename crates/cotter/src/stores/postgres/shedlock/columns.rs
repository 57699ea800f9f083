//! The columns of a table that somebody else has made.

use crate::stores::postgres::SCHEME;
use crate::stores::postgres::backend::value;
use crate::stores::postgres::live::Live;
use crate::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

/// The columns with moments whose values depend on the time zone of the session that reads or writes them.
const ZONED: &str = "select attname::text from pg_attribute where attrelid = to_regclass($1) \
    and attname in ('lock_until', 'locked_at') and atttypid = 'timestamptz'::regtype order by attname desc";

/// Refuses columns of the type `timestamptz`: ShedLock writes readings of UTC without a zone, so sessions with different time zones
/// would store different moments, and take locks that are held.
pub(in crate::stores::postgres) async fn check(live: &Live, table: &str) -> Result<()> {
    let rows = live.rows(ZONED, &[(&table, Type::TEXT)]).await?;
    if rows.is_empty() {
        return Ok(());
    }
    let columns: Vec<String> = rows.iter().map(|row| value(row, 0)).collect::<Result<_>>()?;
    let alter = |column: &String| format!("alter {column} type timestamp using {column} at time zone 'utc'");
    let why = format!(
        "{} of {table} has the type timestamptz: sessions with different time zones would take locks that are held; \
         while nothing is locked: alter table {table} {}",
        columns.join(" and "),
        columns.iter().map(alter).collect::<Vec<_>>().join(", ")
    );
    Err(Error::new(ErrorKind::Config, why).with_backend(SCHEME))
}
