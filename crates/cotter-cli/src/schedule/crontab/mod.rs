//! `--from-crontab`: a job file with the lines of a crontab.
//!
//! | file | concept |
//! |---|---|
//! | `line` | the lines of a crontab, as cron(8) of Debian reads them |
//! | `shell` | the command of a line: what cron does to it, and what the shell gets |
//! | `flock` | a wrapper that the lock of a job makes needless |
//! | `name` | the name of a job |
//! | `draft` | the job file |

mod draft;
mod flock;
mod line;
mod name;
mod shell;

use super::file::{self, Mistake};
use cotter_console::{Console, Exit, Failure};
use draft::Draft;
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;

/// Where the lines have a column for the user.
const SYSTEM: [&str; 2] = ["/etc/crontab", "/etc/cron.d"];

/// The mistakes of a crontab, or that its job file was printed.
pub(super) fn print(
    path: &Path,
    has_users: bool,
    console: &Console,
) -> Result<Result<Exit, Vec<Mistake>>, Failure> {
    let text = read(path)?;
    let has_users = has_users || SYSTEM.iter().any(|system| path.starts_with(system));
    let lines = match line::parse(&text, has_users) {
        Ok(lines) => lines,
        Err(mistakes) => return Ok(Err(mistakes)),
    };
    let draft = Draft::of(&lines);
    let file = draft.text(path, zone().as_deref());
    if console.json {
        let object = json!({ "crontab": path.to_string_lossy(), "jobs": draft.jobs(), "file": file });
        writeln!(console.out(), "{object}")?;
    } else {
        write!(console.out(), "{file}")?;
    }
    draft.doubts(has_users).iter().for_each(|doubt| console.warning(doubt));
    Ok(Ok(Exit::Done))
}

fn read(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() != "-" {
        return file::text(path);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|e| Failure::config(format!("standard input cannot be read: {e}")))?;
    Ok(text)
}

/// The time zone of this host, by which cron goes; `None` if it has no name.
fn zone() -> Option<String> {
    jiff::tz::TimeZone::system().iana_name().map(str::to_owned)
}
