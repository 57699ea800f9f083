//! Translating errors of SQLite.

use super::SCHEME;
use crate::error::config;
use crate::{Error, ErrorKind};
use rusqlite::ffi::ErrorCode;
use rustix::fs::{Access, access};
use std::io;
use std::path::Path;

/// Turns an error of a statement into one of this crate. A statement that fails has changed nothing, unless the disk failed.
pub(super) fn explain(e: rusqlite::Error) -> Error {
    let code = e.sqlite_error_code();
    let error = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::new(
            ErrorKind::Unavailable,
            "the database is locked by another process, possibly one that is stopped inside a transaction",
        ),
        Some(
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied,
        ) => {
            let why = "no permission to write to the database; the user also needs write permission for its directory";
            Error::new(ErrorKind::Denied, format!("{why} ({e})"))
        }
        Some(ErrorCode::NotADatabase) => Error::new(ErrorKind::Config, "the file is not an SQLite database"),
        Some(ErrorCode::DatabaseCorrupt) => {
            let why = format!("the database is damaged ({e}); check it with PRAGMA integrity_check");
            Error::new(ErrorKind::Unavailable, why).with_retryable(false)
        }
        Some(ErrorCode::DiskFull) => {
            let why = "no space left for the database; free some on its file system";
            // Nothing was written, and there may be space again soon: holders go on meanwhile.
            Error::new(ErrorKind::Unavailable, why)
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::FileLockingProtocolFailed) => {
            Error::new(ErrorKind::Unavailable, e.to_string()).with_outcome_unknown()
        }
        _ if e.to_string().contains("no such table") => {
            config(format!("{e}; create the tables with `cotter migrate`"))
        }
        _ => Error::new(ErrorKind::Protocol, e.to_string()),
    };
    error.with_backend(SCHEME).with_source(e)
}

/// The same, for opening, and for creating if there is no database.
pub(super) fn explain_open(e: rusqlite::Error, path: &Path, creates: bool) -> Error {
    if e.sqlite_error_code() != Some(ErrorCode::CannotOpen) {
        return explain(e);
    }
    let shown = path.display();
    let error = match std::fs::metadata(path) {
        // All that the cause would add is that the database cannot be opened.
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return missing(path, creates).with_backend(SCHEME);
        }
        Err(e) => Error::new(ErrorKind::Denied, format!("{shown} cannot be opened: {e}")),
        Ok(_) => {
            let why = obstacle(path).unwrap_or_else(|| e.to_string());
            Error::new(ErrorKind::Denied, format!("{shown} cannot be opened: {why}"))
        }
    };
    error.with_backend(SCHEME).with_source(e)
}

/// What keeps this user from writing to the database or beside it, which SQLite does not say. The file is not opened for that:
/// closing it would drop the locks of other connections of this process.
fn obstacle(path: &Path) -> Option<String> {
    let directory = path.parent()?;
    let refused = |path, needs| access(path, needs).err();
    let (at, errno) = match refused(path, Access::READ_OK | Access::WRITE_OK) {
        Some(errno) => (path, errno),
        None => (directory, refused(directory, Access::WRITE_OK | Access::EXEC_OK)?),
    };
    let advice = "the user has to write to the database and to its directory";
    Some(format!("{}: {}; {advice}", at.display(), io::Error::from(errno)))
}

fn missing(path: &Path, creates: bool) -> Error {
    let shown = path.display();
    let Some(directory) = path.parent().filter(|directory| directory.is_dir()) else {
        return config(format!("the directory of {shown} does not exist; make it first"));
    };
    if creates {
        let why = format!("{shown} cannot be created; let this user write to {}", directory.display());
        return Error::new(ErrorKind::Denied, why);
    }
    config(format!("there is no database at {shown}; create it with `cotter migrate`"))
}

/// The error for a database that must not be used from here.
pub(super) fn refused(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Denied, format!("{} {why}", path.display())).with_backend(SCHEME)
}

/// Another file is at the path: who connects now uses that one.
pub(super) fn replaced(path: &Path) -> Error {
    let why =
        format!("the database at {} was deleted or replaced since this client connected", path.display());
    Error::new(ErrorKind::Unavailable, format!("{why}; connect again"))
        .with_backend(SCHEME)
        .with_retryable(false)
}

pub(super) fn ended() -> Error {
    Error::new(ErrorKind::Misuse, "the connection to the database is closed").with_backend(SCHEME)
}

pub(super) fn no_thread(e: &io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot start a thread for the database: {e}"))
        .with_backend(SCHEME)
}

/// The error in a fork of a process that has connections.
pub(super) fn forked() -> Error {
    let why = "SQLite cannot be used in a fork of a process that has a connection of it; connect after the fork, or let the child exec";
    Error::new(ErrorKind::Misuse, why).with_backend(SCHEME)
}

pub(super) fn no_boot_id() -> Error {
    let why =
        "this system has no boot id, so a lease could outlive a restart; use file: or a database server";
    Error::new(ErrorKind::Unsupported, why).with_backend(SCHEME)
}
