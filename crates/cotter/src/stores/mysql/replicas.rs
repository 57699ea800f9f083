//! Whether a failover forgets locks: a diagnosis for `doctor`.

use crate::backend::Finding;
use std::collections::HashMap;

/// Whether commits are to wait for replicas, for how many, and for how long. Which of these there are depends on the server.
pub(super) const SEMI_SYNC: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'rpl_semi_sync_%'";
/// Replicas, and whether commits wait for them at this moment.
pub(super) const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name = 'Slaves_connected' \
    OR Variable_name LIKE 'Rpl_semi_sync_%'";

const SUBJECT: &str = "replicas";
/// Commits that wait for less than this, in milliseconds, go on without a replica while somebody still believes in a failover.
const LONG: u64 = 86_400_000;
const FAILOVER: &str = "a failover may lose the most recent locks, so that two clients hold the same one";

/// The variables of a server by name. Replicas and servers have new names since MySQL 8.0.26.
struct Variables<'a>(&'a HashMap<String, String>);

impl Variables<'_> {
    fn of(&self, what: &str) -> Option<&str> {
        let names = ["master", "source"].map(|role| format!("rpl_semi_sync_{role}_{what}"));
        let (_, value) =
            self.0.iter().find(|(name, _)| names.iter().any(|n| n.eq_ignore_ascii_case(name)))?;
        Some(value)
    }

    fn number(&self, what: &str) -> Option<u64> {
        self.of(what)?.parse().ok()
    }

    fn is_on(&self, what: &str) -> bool {
        self.of(what).is_some_and(|value| value == "ON" || value == "1")
    }
}

/// Diagnoses the losses of a failover.
pub(super) fn finding(variables: &HashMap<String, String>, status: &HashMap<String, String>) -> Finding {
    let connected = status.get("Slaves_connected").and_then(|number| number.parse::<u64>().ok());
    let (settings, status) = (Variables(variables), Variables(status));
    let acknowledging = status.number("clients").unwrap_or(0);
    let connected = connected.or(settings.is_on("enabled").then_some(acknowledging));
    let warning = |message: String| Finding::weakens(SUBJECT, message);
    if settings.is_on("enabled") {
        let limit = settings.number("timeout").unwrap_or(0);
        let wanted = ["wait_for_replica_count", "wait_for_slave_count"];
        let wanted = wanted.iter().find_map(|what| settings.number(what)).unwrap_or(1);
        if !status.is_on("status") {
            return warning(format!(
                "semi-synchronous replication is enabled, and commits do not wait for a replica: too few are left, or one was too \
                 slow; {FAILOVER}"
            ));
        }
        if limit < LONG {
            return warning(format!(
                "each commit waits for a replica for at most {} s, and after that no commit waits: then {FAILOVER}; set \
                 rpl_semi_sync_master_timeout (MySQL: rpl_semi_sync_source_timeout) to at least {LONG} ms",
                limit / 1000
            ));
        }
        if acknowledging < wanted {
            let message = format!(
                "each commit waits for {wanted}, and {acknowledging} that acknowledge are connected: nothing can be locked"
            );
            return Finding::breaks(SUBJECT, message);
        }
        let all = connected.unwrap_or(0).max(acknowledging);
        if wanted < all {
            return warning(format!(
                "each commit waits for {wanted} of {all}: one that did not acknowledge a write may become the primary, and {FAILOVER}"
            ));
        }
        let message = "each commit waits for a replica (semi-synchronous replication)";
        return Finding::ok(SUBJECT, message);
    }
    match connected {
        Some(0) => Finding::ok(SUBJECT, "none are connected"),
        None => {
            let message = "the server does not report its replicas; without semi-synchronous replication, a failover may lose locks";
            Finding::limits(SUBJECT, message)
        }
        Some(n) => warning(format!("{n} asynchronous: {FAILOVER}; enable semi-synchronous replication")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Severity};

    fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The time-out, the status, how many acknowledge and how many there are.
    fn semi_sync(timeout: &str, status: &str, clients: &str, connected: &str) -> Finding {
        let variables =
            map(&[("rpl_semi_sync_master_enabled", "ON"), ("rpl_semi_sync_master_timeout", timeout)]);
        let status = map(&[
            ("Rpl_semi_sync_master_status", status),
            ("Rpl_semi_sync_master_clients", clients),
            ("Slaves_connected", connected),
        ]);
        finding(&variables, &status)
    }

    #[test]
    fn commits_that_give_up_waiting_are_not_enough() {
        let l0 = Some(Level::BestEffort);
        for (timeout, status, clients, connected, severity, level) in [
            ("86400000", "ON", "1", "1", Severity::Ok, None),
            ("10000", "ON", "1", "1", Severity::Warning, l0),
            ("10000", "OFF", "0", "0", Severity::Warning, l0),
            ("86400000", "OFF", "0", "0", Severity::Warning, l0),
            ("86400000", "ON", "0", "0", Severity::Problem, None),
            ("86400000", "ON", "2", "2", Severity::Warning, l0),
            ("86400000", "ON", "1", "2", Severity::Warning, l0),
        ] {
            let finding = semi_sync(timeout, status, clients, connected);
            let case = format!("{timeout} {status} {clients} {connected}: {finding}");
            assert_eq!((finding.severity, finding.level), (severity, level), "{case}");
        }
    }

    #[test]
    fn both_kinds_of_names_are_known() {
        let variables = map(&[
            ("rpl_semi_sync_source_enabled", "ON"),
            ("rpl_semi_sync_source_timeout", "4294967295"),
            ("rpl_semi_sync_source_wait_for_replica_count", "2"),
        ]);
        let status = |clients| {
            map(&[("Rpl_semi_sync_source_status", "ON"), ("Rpl_semi_sync_source_clients", clients)])
        };
        for (clients, severity) in [("1", Severity::Problem), ("2", Severity::Ok), ("3", Severity::Warning)] {
            assert_eq!(finding(&variables, &status(clients)).severity, severity, "{clients}");
        }
    }

    #[test]
    fn without_semi_synchronous_replication_replicas_are_a_risk() {
        for (status, severity) in [
            (map(&[("Slaves_connected", "0")]), Severity::Ok),
            (map(&[("Slaves_connected", "2")]), Severity::Warning),
            (map(&[]), Severity::Warning),
        ] {
            let finding = finding(&map(&[("rpl_semi_sync_master_enabled", "OFF")]), &status);
            assert_eq!(finding.severity, severity, "{finding}");
        }
    }
}
