//! Whether a failover forgets locks: a diagnosis for `doctor`.

use super::backend::value;
use crate::Result;
use crate::backend::Finding;
use tokio_postgres::Row;

/// The settings of this session, and the standbys. What they do is only shown to roles that may read all statistics.
pub(super) const STANDBYS: &str = "select current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), \
    count(*), count(sync_state), count(*) filter (where sync_state in ('sync', 'quorum')), pg_is_in_recovery() \
    from pg_stat_replication";

/// What commits wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standbys {
    commit: String,
    /// The setting, empty if commits wait for nobody.
    names: String,
    connected: i64,
    /// Those whose state is shown, and those that a commit waits for or counts.
    shown: i64,
    counted: i64,
}

impl Standbys {
    pub(super) fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            commit: value(row, 0)?,
            names: value(row, 1)?,
            connected: value(row, 2)?,
            shown: value(row, 3)?,
            counted: value(row, 4)?,
        })
    }

    /// Diagnoses the losses of a failover.
    pub(super) fn finding(&self) -> Finding {
        let Self { commit, names, connected, .. } = self;
        let does_wait = !names.is_empty() && commit != "off" && commit != "local";
        let is_alone = *connected == 0 || self.shown == *connected && self.counted == 0;
        if does_wait && is_alone {
            let message = format!(
                "each commit waits for {names}, and no such standby is connected: nothing can be locked"
            );
            return Finding::breaks(SUBJECT, message);
        }
        if *connected == 0 {
            return Finding::ok(SUBJECT, "none are connected");
        }
        let failover = "a failover may lose the most recent locks, so that two clients hold the same one";
        let waits_for = acknowledgements(names);
        let message = if names.is_empty() {
            format!("{connected} asynchronous: {failover}; set synchronous_standby_names")
        } else if !does_wait {
            format!(
                "synchronous_commit = {commit} for this role, so no commit waits for {names}: {failover}; set it to on"
            )
        } else if waits_for < *connected {
            format!(
                "each commit waits for {waits_for} of {connected}, by {names}: one that did not acknowledge a write may become the \
                 primary, and {failover}; wait for all of them, or never promote another one than has acknowledged everything"
            )
        } else if self.shown < *connected {
            let message = format!(
                "each commit waits for {names}; which standbys these are is not shown to this role: grant pg_read_all_stats to it"
            );
            return Finding::ok(SUBJECT, message);
        } else {
            return Finding::ok(SUBJECT, format!("each commit waits for {names}"));
        };
        Finding::weakens(SUBJECT, message)
    }
}

const SUBJECT: &str = "replicas";

/// How many standbys acknowledge a commit: `ANY 2 (a, b, c)`, `FIRST 2 (a, b, c)`, `2 (a, b, c)`, or a list, of which it is one.
fn acknowledgements(names: &str) -> i64 {
    let head = names.split_once('(').map_or("", |(head, _)| head);
    head.split_whitespace().next_back().and_then(|number| number.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Severity};
    use cotter_testkit::history::{Kind, demand};

    fn standbys(commit: &str, names: &str, [connected, shown, counted]: [i64; 3]) -> Standbys {
        Standbys { commit: commit.into(), names: names.into(), connected, shown, counted }
    }

    #[test]
    fn a_failover_is_safe_only_if_every_standby_has_acknowledged() {
        let l0 = Some(Level::BestEffort);
        for (commit, names, counts, severity, level) in [
            ("on", "", [0, 0, 0], Severity::Ok, None),
            ("on", "", [1, 1, 0], Severity::Warning, l0),
            ("on", "s1", [1, 1, 1], Severity::Ok, None),
            ("on", "s1", [1, 0, 0], Severity::Ok, None),
            ("remote_apply", "ANY 2 (s1, s2)", [2, 2, 2], Severity::Ok, None),
            ("remote_write", "FIRST 2 (s1, s2)", [2, 2, 2], Severity::Ok, None),
            ("local", "s1", [1, 1, 1], Severity::Warning, l0),
            ("off", "s1", [1, 1, 1], Severity::Warning, l0),
            ("local", "nobody", [1, 1, 0], Severity::Warning, l0),
            ("on", "ANY 1 (s1, s2)", [2, 2, 2], Severity::Warning, l0),
            ("on", "FIRST 1 (s1, s2)", [2, 2, 1], Severity::Warning, l0),
            ("on", "1 (s1, s2)", [2, 2, 1], Severity::Warning, l0),
            ("on", "s1", [2, 0, 0], Severity::Warning, l0),
            ("on", "nobody", [0, 0, 0], Severity::Problem, None),
            ("on", "nobody", [1, 1, 0], Severity::Problem, None),
            ("on", "*", [0, 0, 0], Severity::Problem, None),
            ("local", "s1", [0, 0, 0], Severity::Ok, None),
        ] {
            let standbys = standbys(commit, names, counts);
            let finding = standbys.finding();
            let is_so = (finding.severity, finding.level) == (severity, level);
            demand(is_so, Kind::Untrue, format!("{standbys:?}: {finding}"));
        }
    }
}
