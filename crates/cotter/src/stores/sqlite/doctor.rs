//! Diagnosing a database for `doctor`.

use super::files;
use super::rows::pragma;
use crate::Result;
use crate::backend::Finding;
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Everything that limits a guarantee or costs much.
pub(super) fn diagnose(connection: &Connection, path: &Path, boot: &str) -> Result<Vec<Finding>> {
    let scope = "only processes of this host that can write to the database share these locks";
    let mut findings = vec![Finding::ok("scope", scope)];
    findings.push(journal(pragma(connection, "journal_mode")?.unwrap_or_default().as_str()));
    findings.extend(place(path));
    findings.extend(access(path));
    findings.extend(boot.is_empty().then(foreign_boot));
    Ok(findings)
}

fn foreign_boot() -> Finding {
    let what = "this container has a boot id of its own, so the boot clock tells whether the machine was started again; \
                a lock that was held when that happened may stay taken until its lease ends";
    Finding::ok("boot", what)
}

fn journal(mode: &str) -> Finding {
    if mode == "wal" {
        return Finding::ok("journal", "WAL: a step does not wait for the disk");
    }
    let what = format!(
        "journal_mode is {mode}: each step waits for the disk, and readers and writers block each other; \
         run `cotter migrate`, which sets it to WAL"
    );
    Finding::limits("journal", what)
}

fn place(path: &Path) -> Option<Finding> {
    let found = files::file_system(path).ok()?;
    Some(Finding::ok("file system", format!("{} is on {}", path.display(), found.name)))
}

fn access(path: &Path) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.permissions().mode();
    if mode & 0o002 == 0 {
        return None;
    }
    let what = format!(
        "every user of this host can write to {}, and therefore acquire or release any lock",
        path.display()
    );
    Some(Finding::limits("permissions", what))
}
