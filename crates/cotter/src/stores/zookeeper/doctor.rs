//! Diagnosing an ensemble for `doctor`.

use super::link::Link;
use crate::Result;
use crate::backend::Finding;

/// The first version with container nodes and a bounded wait of a session for a follower that fails.
const OLDEST: (u32, u32, u32) = (3, 5, 5);

/// Everything that voids or limits a guarantee.
pub(super) async fn diagnose(link: &Link) -> Result<Vec<Finding>> {
    let session = link.session().await?;
    let hosts = link.connector.hosts();
    let mut findings =
        vec![Finding::without_clock(), members(hosts), length(link.connector.session(), session.lasts())];
    for host in 0..hosts {
        let name = link.connector.name(host);
        findings.push(match link.told(host, "srvr").await {
            Ok(text) => member(&name, &text),
            Err(e) => Finding::limits("member", format!("{name} does not answer: {e}")),
        });
    }
    Ok(findings)
}

fn members(many: usize) -> Finding {
    match many {
        1 => Finding::limits(
            "members",
            "the URL lists one member, and while it is down sessions end and no lock can be acquired; list all members of the ensemble",
        ),
        n if n % 2 == 0 => Finding::ok(
            "members",
            format!("the URL lists {n} members; a cluster with one fewer tolerates as many failures"),
        ),
        n => Finding::ok("members", format!("the URL lists {n} members")),
    }
}

fn length(asked: std::time::Duration, given: std::time::Duration) -> Finding {
    if asked == given {
        let why = format!(
            "the session timeout is {given:?}: the lock of a holder that dies becomes free after that time"
        );
        return Finding::ok("session", why);
    }
    let why = format!(
        "session={asked:?} was requested, but the servers granted {given:?}; they allow 2 to 20 ticks, or the range from \
         minSessionTimeout to maxSessionTimeout"
    );
    Finding::limits("session", why)
}

fn member(host: &str, told: &str) -> Finding {
    let field = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let Some(version) = field("Zookeeper version:") else {
        let why = match told.lines().next().unwrap_or_default() {
            "" => "nothing".to_owned(),
            said => format!("{said:?}"),
        };
        let why = format!(
            "{host} answered {why} to the command srvr, so its version is unknown; add srvr to 4lw.commands.whitelist"
        );
        return Finding::limits("member", why);
    };
    let numbers: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut parts = numbers.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let mut part = || parts.next().unwrap_or_default();
    if (part(), part(), part()) < OLDEST {
        let why = format!(
            "{host} has version {numbers}; cotter requires 3.5.5 or later: older versions have no container nodes, and may keep \
             the node of a session that has ended"
        );
        return Finding::voids("version", why);
    }
    let mode = field("Mode:").unwrap_or("unknown");
    Finding::ok("member", format!("{host} has version {numbers} and is in mode {mode}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Severity};

    fn said(told: &str) -> (Severity, String, Option<Level>) {
        let found = member("host:2181", told);
        (found.severity, found.subject, found.level)
    }

    #[test]
    fn each_version_is_told_apart() {
        let version =
            |number: &str| format!("Zookeeper version: {number}-abc, built on 2020\nMode: leader\n");
        for old in ["3.4.14", "3.5.4", "2.9.9"] {
            assert_eq!(
                said(&version(old)),
                (Severity::Problem, "version".to_owned(), Some(Level::BestEffort)),
                "{old}"
            );
        }
        for good in ["3.5.5", "3.6.0", "3.8.0", "3.10.1", "4.0.0"] {
            assert_eq!(said(&version(good)), (Severity::Ok, "member".to_owned(), None), "{good}");
        }
        assert_eq!(
            said("srvr is not executed because it is not in the whitelist."),
            (Severity::Warning, "member".to_owned(), None)
        );
        assert_eq!(said(""), (Severity::Warning, "member".to_owned(), None));
    }
}
