//! Diagnosing a server and the table for `doctor`.

use super::backend::ShedLock;
use crate::Result;
use crate::backend::Finding;
use crate::stores::mysql::doctor;
use crate::stores::mysql::errors::unexpected;
use crate::stores::mysql::rows::text;
use crate::stores::shared::sql::shedlock::STEP;
use std::time::Duration;

impl ShedLock {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::of_server(&self.link).await?;
        let asked = self.request(|live, statements| async move {
            live.ask(move |session| {
                Box::pin(async move {
                    let rows = session.read(&statements.diagnose, ()).await?;
                    let row = rows.first().ok_or_else(|| unexpected("no column lock_until"))?;
                    Ok((text(row, 0)?, text(row, 1)?, text(row, 2)?))
                })
            })
            .await
        });
        let (ours, theirs, column) = asked.await?;
        findings.push(time_zone(&ours, &theirs, &column));
        findings.push(precision(self.statements.step));
        Ok(findings)
    }
}

fn precision(step: Duration) -> Finding {
    if step == STEP {
        return Finding::ok("precision", "lock_until keeps milliseconds");
    }
    let why = format!(
        "lock_until cuts off fractions of {step:?}: leases end up to that much later; give it and locked_at three digits, \
         as in DATETIME(3) NOT NULL, while nothing is locked"
    );
    Finding::limits("precision", why)
}

fn time_zone(ours: &str, theirs: &str, column: &str) -> Finding {
    if column.eq_ignore_ascii_case("datetime") {
        return Finding::ok(
            "time zone",
            "lock_until is a DATETIME: the time zones of sessions do not matter",
        );
    }
    let remedy = "change lock_until and locked_at to DATETIME(3) NOT NULL while nothing is locked";
    if ours != theirs {
        let message = format!(
            "lock_until is a TIMESTAMP, and the time zone of this session ({ours}) differs from that of the server ({theirs}): \
             sessions with different time zones take locks that are held; {remedy}"
        );
        return Finding::voids("time zone", message);
    }
    let message = format!(
        "lock_until is a TIMESTAMP: every session must use the time zone {theirs}, and an hour that it skips cannot be stored; \
         {remedy}"
    );
    Finding::limits("time zone", message)
}
