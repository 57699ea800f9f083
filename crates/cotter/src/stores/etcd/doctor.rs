//! Diagnosing a cluster for `doctor`.

use super::connection::Link;
use super::messages::StatusResponse;
use crate::Result;
use crate::backend::Finding;

/// Of this series it is known which of its versions have errors in their leases.
const SERIES: (u32, u32) = (3, 4);
/// Before it, a member answers keepalives of leases that were revoked.
const GOOD_LEASES: u32 = 38;

/// Everything that voids or limits a guarantee.
pub(super) async fn diagnose(link: &Link) -> Vec<Finding> {
    let statuses = link.statuses().await;
    let mut findings = vec![Finding::without_clock(), members(&statuses)];
    findings.extend(clusters(&statuses));
    for (host, status) in &statuses {
        findings.push(match status {
            Ok(status) => member(host, status),
            Err(e) => Finding::limits("member", format!("{host} does not answer: {e}")),
        });
    }
    findings
}

/// The finding for an entry without a lease, and for more of them.
pub(super) fn without_lease(key: &[u8], more: usize) -> Finding {
    let key = String::from_utf8_lossy(key);
    let others = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    let why = format!(
        "the key {key}{others} has no lease: it was not written by cotter and never expires, and clients that want the lock wait \
         until it is deleted with `cotter evict` or `etcdctl del`"
    );
    Finding::breaks("keys without a lease", why)
}

/// The finding for a store that other clients use too.
pub(super) fn beside_other_clients() -> Finding {
    let why = "a member that stands still for longer than a lease and then goes on, like a virtual machine that is paused, may end \
               the leases of other clients while they hold locks; cotter moves its own locks to new leases before that";
    Finding::limits("other clients", why)
}

/// The finding if it is not known whether there are entries without a lease.
pub(super) fn unchecked(e: &crate::Error) -> Finding {
    Finding::limits("keys without a lease", format!("could not be checked: {e}"))
}

fn members(statuses: &[(String, Result<StatusResponse>)]) -> Finding {
    match statuses.len() {
        1 => Finding::limits(
            "members",
            "the URL lists one member, and while it is down no lock can be acquired or renewed; list all members of the cluster",
        ),
        n if n % 2 == 0 => Finding::ok(
            "members",
            format!("the URL lists {n} members; a cluster with one fewer tolerates as many failures"),
        ),
        n => Finding::ok("members", format!("the URL lists {n} members")),
    }
}

/// The finding if the URL lists members of several clusters: a process uses whichever answers it.
fn clusters(statuses: &[(String, Result<StatusResponse>)]) -> Option<Finding> {
    let mut known = statuses.iter().filter_map(|(host, status)| {
        let header = status.as_ref().ok()?.header.as_ref()?;
        Some((host, header.cluster_id))
    });
    let (first, cluster) = known.next()?;
    let (other, _) = known.find(|(_, of_other)| *of_other != cluster)?;
    let why = format!(
        "{first} and {other} are members of different clusters, and a lock in one of them is not seen in the other; list the \
         members of one cluster"
    );
    Some(Finding::voids("members", why))
}

fn member(host: &str, status: &StatusResponse) -> Finding {
    let version = &status.version;
    if status.leader == 0 {
        let why =
            format!("{host} (version {version}) sees no leader: it cannot reach a majority of the cluster");
        return Finding::breaks("leader", why);
    }
    if status.is_learner {
        let why = format!(
            "{host} (version {version}) is a learner, which does not serve clients: it is skipped until it is promoted"
        );
        return Finding::limits("member", why);
    }
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let (major, minor, patch) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    if (major, minor) < SERIES {
        let why = format!("{host} has version {version}; cotter requires 3.4 or later");
        return Finding::voids("version", why);
    }
    if let Some(alarm) = status.errors.iter().find_map(|error| error.split_once("alarm:")) {
        return alarmed(host, alarm.1.trim());
    }
    if (major, minor) == SERIES && patch < GOOD_LEASES {
        let why = format!(
            "{host} has version {version}, which acknowledges keepalives of revoked leases; cotter detects this, but other clients \
             may not; upgrade to 3.4.{GOOD_LEASES} or later"
        );
        return Finding::limits("version", why);
    }
    Finding::ok("member", format!("{host} has version {version} and sees a leader"))
}

/// What frees space, in this order: the alarm stays until somebody ends it.
pub(super) const FREE_SPACE: &str =
    "run `etcdctl compact REVISION`, `etcdctl defrag` on each member, and `etcdctl alarm disarm`";

/// The finding for an alarm, which lasts until an operator ends it.
fn alarmed(host: &str, alarm: &str) -> Finding {
    let (effect, remedy) = match alarm {
        "NOSPACE" => {
            ("the database is full: held locks are still renewed, but nothing can be acquired", FREE_SPACE)
        }
        "CORRUPT" => ("members have different data", "replace the member whose data is wrong"),
        _ => ("it refuses some requests", "see `etcdctl alarm list`"),
    };
    let message = format!("{host} reports {alarm}: {effect}; {remedy}");
    if alarm == "CORRUPT" { Finding::voids("alarm", message) } else { Finding::breaks("alarm", message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Severity};

    fn said(version: &str, leader: u64) -> (Severity, String, Option<Level>) {
        let status = StatusResponse { version: version.to_owned(), leader, ..StatusResponse::default() };
        let found = member("host:2379", &status);
        (found.severity, found.subject, found.level)
    }

    #[test]
    fn each_version_is_told_apart() {
        assert_eq!(said("3.3.27", 1), (Severity::Problem, "version".to_owned(), Some(Level::BestEffort)));
        assert_eq!(said("2.3.8", 1), (Severity::Problem, "version".to_owned(), Some(Level::BestEffort)));
        assert_eq!(said("3.4.37", 1), (Severity::Warning, "version".to_owned(), None));
        for good in ["3.4.38", "3.5.0", "3.6.1", "4.0.0"] {
            assert_eq!(said(good, 1), (Severity::Ok, "member".to_owned(), None), "{good}");
        }
        assert_eq!(said("3.5.9", 0), (Severity::Problem, "leader".to_owned(), None));
    }

    #[test]
    fn a_learner_is_told_of() {
        let status = StatusResponse {
            version: "3.5.9".to_owned(),
            leader: 1,
            is_learner: true,
            ..StatusResponse::default()
        };
        let found = member("host:2379", &status);
        assert_eq!((found.severity, &*found.subject), (Severity::Warning, "member"));
        assert!(found.message.contains("is a learner"), "{}", found.message);
    }

    #[test]
    fn an_alarm_is_a_problem() {
        for (alarm, level) in [("NOSPACE", None), ("CORRUPT", Some(Level::BestEffort)), ("ELSE", None)] {
            let status = StatusResponse {
                version: "3.5.9".to_owned(),
                leader: 1,
                errors: vec![format!("memberID:13668033151171901709 alarm:{alarm} ")],
                ..StatusResponse::default()
            };
            let found = member("host:2379", &status);
            assert_eq!((found.severity, &*found.subject, found.level), (Severity::Problem, "alarm", level));
            assert!(found.message.contains(&format!("host:2379 reports {alarm}:")), "{}", found.message);
        }
    }
}
