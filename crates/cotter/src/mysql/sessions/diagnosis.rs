//! Diagnosing a server for `doctor`.

use super::backend::{Inner, Steps};
use crate::Result;
use crate::backend::{Finding, Severity};
use crate::mysql::doctor;

/// How many sessions there are.
const SESSIONS: &str = "SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'";
/// How many there may be.
const MOST: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'max_connections'";

impl<S: Steps> Inner<S> {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::of_server(&self.link).await?;
        let (now, most) =
            (doctor::variables(&self.link, SESSIONS).await?, doctor::variables(&self.link, MOST).await?);
        let number = |value: Option<&String>| value.and_then(|value| value.parse().ok()).unwrap_or(0);
        findings.push(sessions(number(now.get("Threads_connected")), number(most.get("max_connections"))));
        Ok(findings)
    }
}

fn sessions(now: u64, most: u64) -> Finding {
    let message = format!("{now} of {most}; each lock that is held or waited for has one");
    let severity = if now * 10 > most * 8 { Severity::Warning } else { Severity::Ok };
    Finding::new(severity, "sessions", message)
}
