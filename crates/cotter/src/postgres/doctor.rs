//! Diagnosing a server for `doctor`.

use super::admin::time;
use super::backend::{Lease, one, value};
use super::connector::Link;
use crate::backend::{Finding, Severity};
use crate::{Level, Moment, Result};
use std::time::SystemTime;
use tokio_postgres::Row;

/// The settings that a guarantee depends on.
const SETTINGS: &str = "select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), \
    current_setting('synchronous_standby_names'), (select count(*) from pg_stat_replication), \
    current_setting('transaction_isolation'), pg_backend_pid()";
const VERSION: i32 = 13;

/// The clock of the database, and a time that is not later than the request.
pub(super) async fn server_time(link: &Link) -> Result<(SystemTime, Moment)> {
    let live = link.live().await?;
    let sent = link.now();
    let row =
        one(live.rows("select (extract(epoch from clock_timestamp()) * 1000000)::bigint", &[]).await?)?;
    Ok((time(value(&row, 0)?), sent))
}

/// Diagnoses the server, for all modes.
pub(super) async fn of_server(link: &Link) -> Result<Vec<Finding>> {
    let before = link.clock().wall();
    let (theirs, _) = server_time(link).await?;
    let mut findings = vec![Finding::of_clocks(before, theirs, link.clock().wall())];
    let row = one(link.live().await?.rows(SETTINGS, &[]).await?)?;
    findings.push(version(&value::<String>(&row, 0)?));
    findings.push(durability(&row)?);
    findings.push(replicas(&row)?);
    Ok(findings)
}

impl Lease {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = of_server(&self.link).await?;
        findings.push(self.notifications().await);
        Ok(findings)
    }

    async fn notifications(&self) -> Finding {
        if self.subscription.wait_until_open().await {
            return Finding::new(Severity::Ok, "notifications", "waiters are woken by NOTIFY");
        }
        let message =
            "do not arrive, as behind a pooler in transaction mode: waiters poll every 25 to 500 ms";
        Finding::new(Severity::Warning, "notifications", message)
    }
}

fn version(version: &str) -> Finding {
    let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|v| v.parse::<i32>().ok());
    match major {
        Some(major) if major < VERSION => {
            let message = format!("{version}; the functions require version {VERSION} or later");
            Finding::new(Severity::Problem, "version", message)
        }
        _ => Finding::new(Severity::Ok, "version", version),
    }
}

/// Diagnoses the losses when the server's machine crashes.
fn durability(row: &Row) -> Result<Finding> {
    let (fsync, commit): (String, String) = (value(row, 1)?, value(row, 2)?);
    if fsync == "on" && commit != "off" {
        return Ok(Finding::new(
            Severity::Ok,
            "durability",
            "acknowledged changes survive a crash of the server",
        ));
    }
    let message = format!(
        "fsync = {fsync}, synchronous_commit = {commit}: a crash may lose the most recent locks; tokens still increase"
    );
    Ok(Finding::new(Severity::Warning, "durability", message).leaving(Level::BestEffort))
}

fn replicas(row: &Row) -> Result<Finding> {
    let (names, replicas): (String, i64) = (value(row, 3)?, value(row, 4)?);
    Ok(match (replicas, names.is_empty()) {
        (0, _) => Finding::new(Severity::Ok, "replicas", "none are connected"),
        (_, false) => Finding::new(Severity::Ok, "replicas", format!("each commit waits for {names}")),
        (n, true) => {
            let message = format!(
                "{n} asynchronous: a failover may lose the most recent locks, so that two clients hold the same one; \
                 set synchronous_standby_names"
            );
            Finding::new(Severity::Warning, "replicas", message).leaving(Level::BestEffort)
        }
    })
}
