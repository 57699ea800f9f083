//! The logs of the servers that run in this process. A test that fails shows what they wrote last.

use std::fs::{self, File};
use std::io;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, SystemTime};

/// What was written earlier is about something else: servers are shared by many tests.
const RECENTLY: Duration = Duration::from_secs(15);

/// Of each log.
const LAST_LINES: usize = 8;

static LOGS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Opens a log for a server to write to.
pub(super) fn open(path: &Path) -> io::Result<File> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            before(info);
            show();
        }));
    });
    let mut logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner);
    if !logs.iter().any(|log| log == path) {
        logs.push(path.to_path_buf());
    }
    File::options().append(true).create(true).open(path)
}

/// Part of what the test prints, which is shown if it fails.
#[expect(clippy::print_stderr, reason = "only the macros are captured by the test program")]
fn show() {
    // Who panics while a log is opened has other troubles.
    let Ok(mut logs) = LOGS.try_lock() else { return };
    logs.retain(|log| log.exists());
    for log in logs.iter().filter(|log| is_recent(log)) {
        let text = fs::read(log).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n  ");
        eprintln!("log of a server, {}:\n  {last}", log.display());
    }
}

fn is_recent(log: &Path) -> bool {
    let written = fs::metadata(log).and_then(|about| about.modified());
    written.is_ok_and(|at| at + RECENTLY > SystemTime::now())
}

#[cfg(test)]
mod tests {
    use super::{open, show};
    use std::io::Write;

    #[test]
    fn a_log_that_is_gone_hurts_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        writeln!(open(&path).expect("a log"), "hello").expect("it can be written");
        show();
        drop(folder);
        show();
        assert!(open(&path).is_err(), "its folder is gone");
    }
}
