//! Diagnosing a server for `doctor`.

use super::admin::time;
use super::backend::{Lease, one, value};
use super::connector::{Connector, Link};
use super::notes;
use super::standbys::{STANDBYS, Standbys};
use super::statements::Statements;
use crate::backend::Finding;
use crate::stores::shared::net::{Surveyed, ask_all, of_addresses};
use crate::stores::shared::sql::reads;
use crate::{Moment, Result};
use std::time::SystemTime;
use tokio_postgres::Row;

/// The settings that a guarantee depends on.
const SETTINGS: &str = "select current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), \
    pg_is_in_recovery()";
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
    let standbys = one(link.live().await?.rows(STANDBYS, &[]).await?)?;
    findings.push(Standbys::of(&standbys)?.finding());
    findings.extend(of_addresses(&link.connector.survey().await));
    Ok(findings)
}

/// Whether what was written is read back over new connections.
pub(super) async fn reads(link: &Link, statements: &Statements) -> Finding {
    let (connector, clock) = (&link.connector, link.clock());
    let read = || async move {
        let fresh = Link::open(connector.clone(), clock).await?;
        let note = notes::load(&fresh, statements, reads::NAME, reads::KEY).await;
        fresh.close();
        note
    };
    let write = |seen, bytes: Vec<u8>| async move {
        notes::swap(link, statements, reads::NAME, (reads::KEY, seen), &bytes).await
    };
    reads::check(read, write).await
}

impl Connector {
    /// Which server each address of the URL leads to, if there are several.
    async fn survey(&self) -> Vec<Surveyed> {
        let mut places = Vec::new();
        for endpoint in &self.params.endpoints {
            let host = endpoint.to_string();
            match self.places(endpoint).await {
                Ok(found) => places
                    .extend(found.into_iter().map(|place| (host.clone(), Ok((place.to_string(), place))))),
                Err(e) => places.push((host, Err(e))),
            }
        }
        let who_is_at = async |place| Ok(self.primary_at(&place, &self.visit(true).await?).await?.1);
        ask_all(places, who_is_at).await
    }
}

impl Lease {
    /// Everything that voids or limits a guarantee.
    pub(super) async fn findings(&self) -> Result<Vec<Finding>> {
        let mut findings = of_server(&self.link).await?;
        findings.push(reads(&self.link, &self.shared.statements).await);
        findings.push(self.notifications().await);
        Ok(findings)
    }

    async fn notifications(&self) -> Finding {
        if self.subscription.wait_until_open().await {
            return Finding::ok("notifications", "waiters are woken by NOTIFY");
        }
        let message =
            "do not arrive, as behind a pooler in transaction mode: waiters poll every 25 to 500 ms";
        Finding::limits("notifications", message)
    }
}

fn version(version: &str) -> Finding {
    let major = version.split(|c: char| !c.is_ascii_digit()).next().and_then(|v| v.parse::<i32>().ok());
    match major {
        Some(major) if major < VERSION => {
            let message = format!("{version}; the functions require version {VERSION} or later");
            Finding::breaks("version", message)
        }
        _ => Finding::ok("version", version),
    }
}

/// Diagnoses the losses when the server's machine crashes.
fn durability(row: &Row) -> Result<Finding> {
    let (fsync, commit): (String, String) = (value(row, 1)?, value(row, 2)?);
    if fsync == "on" && commit != "off" {
        return Ok(Finding::ok("durability", "acknowledged changes survive a crash of the server"));
    }
    let message = format!(
        "fsync = {fsync}, synchronous_commit = {commit}: a crash may lose the most recent locks; tokens still increase"
    );
    Ok(Finding::weakens("durability", message))
}
