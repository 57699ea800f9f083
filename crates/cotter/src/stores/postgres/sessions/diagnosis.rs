//! Diagnosing a server for `doctor`.

use super::backend::{Inner, Steps};
use crate::Result;
use crate::backend::Finding;
use crate::stores::postgres::backend::{one, value};
use crate::stores::postgres::doctor;
use crate::stores::shared::sql::sessions::session_count;

/// How many sessions there are, and how many there may be.
const SESSIONS: &str = "select (select count(*) from pg_stat_activity where backend_type = 'client backend'), \
    current_setting('max_connections')::bigint, (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::bigint \
      from pg_stat_activity where state = 'idle in transaction')";
/// After this many seconds an open transaction is reported: it keeps VACUUM from removing rows.
const LONG: i64 = 3600;

impl<S: Steps> Inner<S> {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::of_server(&self.parts.link).await?;
        findings.push(doctor::reads(&self.parts.link, &self.statements).await);
        let row = one(self.parts.link.live().await?.rows(SESSIONS, &[]).await?)?;
        let (now, most, open): (i64, i64, i64) = (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?);
        findings.push(session_count(now.unsigned_abs(), most.unsigned_abs()));
        if open > LONG {
            let message = format!(
                "the oldest has been open and idle for {} h, so VACUUM cannot remove rows that were deleted since; \
                 a lock in mode=row keeps a transaction open",
                open / 3600
            );
            findings.push(Finding::limits("transactions", message));
        }
        Ok(findings)
    }
}
