//! Diagnosing a server for `doctor`.

use super::backend::{Inner, Steps};
use crate::Result;
use crate::backend::Finding;
use crate::stores::mysql::doctor;
use crate::stores::shared::sql::sessions::session_count;

/// How many sessions there are.
const SESSIONS: &str = "SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'";
/// How many there may be.
const MOST: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'max_connections'";

impl<S: Steps> Inner<S> {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = doctor::of_server(&self.parts.link).await?;
        findings.push(doctor::reads(&self.parts.link, &self.shared.servers).await);
        let (now, most) = (
            doctor::variables(&self.parts.link, SESSIONS).await?,
            doctor::variables(&self.parts.link, MOST).await?,
        );
        let number = |value: Option<&String>| value.and_then(|value| value.parse().ok()).unwrap_or(0);
        findings
            .push(session_count(number(now.get("Threads_connected")), number(most.get("max_connections"))));
        Ok(findings)
    }
}
