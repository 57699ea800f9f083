//! Diagnosing a server for `doctor`.

use super::attempt::attempt;
use super::backend::Lease;
use super::connector::Link;
use super::errors::unexpected;
use super::rows::{text, value};
use super::schema::CLOCK;
use super::state;
use crate::backend::{Finding, Severity};
use crate::lock_state::Now;
use crate::{Level, Result};
use std::collections::HashMap;

/// The settings that a guarantee depends on.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit', \
    'log_bin', 'sync_binlog')";
/// Replicas, and whether commits wait for them. Which of these there are depends on the server.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Slaves_connected', 'Rpl_semi_sync_master_status', \
    'Rpl_semi_sync_source_status')";

/// The clock of the server.
pub(super) async fn server_time(link: &Link) -> Result<Now> {
    attempt(link, |live| async move {
        live.run(|session| {
            Box::pin(async move {
                let rows = session.read(&format!("SELECT {CLOCK}"), ()).await?;
                let row = rows.first().ok_or_else(|| unexpected("no row"))?;
                Ok(state::now(value(row, 0)?))
            })
        })
        .await
    })
    .await
}

/// Diagnoses the server, for all modes.
pub(super) async fn of_server(link: &Link) -> Result<Vec<Finding>> {
    let before = link.clock().wall();
    let theirs = state::wall(server_time(link).await?);
    let mut findings = vec![Finding::of_clocks(before, theirs, link.clock().wall())];
    let (settings, status) = (variables(link, SETTINGS).await?, variables(link, STATUS).await?);
    let version = settings.get("version").cloned().unwrap_or_default();
    findings.push(Finding::new(Severity::Ok, "version", version));
    findings.push(durability(&settings));
    findings.push(replicas(&status));
    Ok(findings)
}

impl Lease {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = of_server(&self.link).await?;
        findings.push(self.waiting().await?);
        Ok(findings)
    }

    async fn waiting(&self) -> Result<Finding> {
        let asked = self.attempt(&self.link, |live| async move {
            live.run(|session| Box::pin(async move { session.has_own_number().await })).await
        });
        if asked.await? {
            return Ok(Finding::new(Severity::Ok, "waiting", "waiters are woken by GET_LOCK"));
        }
        let message =
            "connected through a proxy, so GET_LOCK cannot wake waiters: they poll every 25 to 700 ms";
        Ok(Finding::new(Severity::Warning, "waiting", message))
    }
}

pub(super) async fn variables(link: &Link, statement: &'static str) -> Result<HashMap<String, String>> {
    attempt(link, |live| async move {
        live.run(move |session| {
            Box::pin(async move {
                let rows = session.read(statement, ()).await?;
                rows.iter().map(|row| Ok((text(row, 0)?, text(row, 1)?))).collect()
            })
        })
        .await
    })
    .await
}

/// Diagnoses the losses when the server's machine crashes.
fn durability(settings: &HashMap<String, String>) -> Finding {
    let of = |name: &str| settings.get(name).map_or("", String::as_str);
    let (flush, binlog) = (of("innodb_flush_log_at_trx_commit"), of("sync_binlog"));
    let has_binlog = of("log_bin") == "ON";
    if flush == "1" && (!has_binlog || binlog == "1") {
        return Finding::new(
            Severity::Ok,
            "durability",
            "acknowledged changes survive a crash of the server",
        );
    }
    let binlog = if has_binlog { format!(", sync_binlog = {binlog}") } else { String::new() };
    let message = format!(
        "innodb_flush_log_at_trx_commit = {flush}{binlog}: a crash may lose the most recent locks; tokens still increase"
    );
    Finding::new(Severity::Warning, "durability", message).leaving(Level::BestEffort)
}

fn replicas(status: &HashMap<String, String>) -> Finding {
    let waits = ["Rpl_semi_sync_master_status", "Rpl_semi_sync_source_status"];
    let waits = waits.iter().any(|name| status.get(*name).is_some_and(|s| s == "ON"));
    match status.get("Slaves_connected").map(String::as_str) {
        _ if waits => Finding::new(
            Severity::Ok,
            "replicas",
            "each commit waits for a replica (semi-synchronous replication)",
        ),
        Some("0") => Finding::new(Severity::Ok, "replicas", "none are connected"),
        None => {
            let message = "the server does not report its replicas; without semi-synchronous replication, a failover may lose locks";
            Finding::new(Severity::Warning, "replicas", message)
        }
        Some(n) => {
            let message = format!(
                "{n} asynchronous: a failover may lose the most recent locks, so that two clients hold the same one; \
                 enable semi-synchronous replication"
            );
            Finding::new(Severity::Warning, "replicas", message).leaving(Level::BestEffort)
        }
    }
}
