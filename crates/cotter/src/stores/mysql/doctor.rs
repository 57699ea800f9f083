//! Diagnosing a server for `doctor`.

use super::attempt::attempt;
use super::backend::Lease;
use super::connector::{Link, Servers};
use super::errors::unexpected;
use super::notes;
use super::replicas::{self, SEMI_SYNC, STATUS};
use super::rows::{text, value};
use super::schema::{CLOCK, on_primary};
use super::state;
use crate::Result;
use crate::backend::Finding;
use crate::stores::shared::lock_state::Now;
use crate::stores::shared::net::of_addresses;
use crate::stores::shared::sql::reads;
use std::collections::HashMap;
use std::sync::Arc;

/// The settings that a guarantee depends on.
const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'innodb_flush_log_at_trx_commit', \
    'log_bin', 'sync_binlog')";

/// The clock of the server.
pub(super) async fn server_time(link: &Link) -> Result<Now> {
    attempt(link, |live| async move {
        live.ask(|session| {
            Box::pin(async move {
                let rows = session.read(&on_primary(&format!("SELECT {CLOCK} AS clock")), ()).await?;
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
    let settings = variables(link, SETTINGS).await?;
    let version = settings.get("version").cloned().unwrap_or_default();
    findings.push(Finding::ok("version", version));
    findings.push(durability(&settings));
    let (semi_sync, status) = (variables(link, SEMI_SYNC).await?, variables(link, STATUS).await?);
    findings.push(replicas::finding(&semi_sync, &status));
    findings.extend(of_addresses(&link.connector.survey().await));
    Ok(findings)
}

/// Whether what was written is read back over new connections.
pub(super) async fn reads(link: &Link, servers: &Arc<Servers>) -> Finding {
    let (connector, clock) = (&link.connector, link.clock());
    let read = || async move {
        let fresh = Link::open(connector.clone(), clock).await?;
        let note = notes::load(&fresh, servers, reads::NAME, reads::KEY).await;
        fresh.close();
        note
    };
    let write = |seen, bytes: Vec<u8>| async move {
        notes::swap(link, servers, reads::NAME, (reads::KEY, seen), &bytes).await
    };
    reads::check(read, write).await
}

impl Lease {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = of_server(&self.link).await?;
        findings.push(reads(&self.link, &self.shared.servers).await);
        findings.push(self.waiting().await?);
        Ok(findings)
    }

    async fn waiting(&self) -> Result<Finding> {
        let asked = self.attempt(&self.link, |live| async move {
            live.ask(|session| Box::pin(async move { session.has_own_number().await })).await
        });
        if asked.await? {
            return Ok(Finding::ok("waiting", "waiters are woken by GET_LOCK"));
        }
        let message =
            "connected through a proxy, so GET_LOCK cannot wake waiters: they poll every 25 to 700 ms";
        Ok(Finding::limits("waiting", message))
    }
}

pub(super) async fn variables(link: &Link, statement: &'static str) -> Result<HashMap<String, String>> {
    attempt(link, |live| async move {
        live.ask(move |session| {
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
        return Finding::ok("durability", "acknowledged changes survive a crash of the server");
    }
    let binlog = if has_binlog { format!(", sync_binlog = {binlog}") } else { String::new() };
    let message = format!(
        "innodb_flush_log_at_trx_commit = {flush}{binlog}: a crash may lose the most recent locks; tokens still increase"
    );
    Finding::weakens("durability", message)
}
