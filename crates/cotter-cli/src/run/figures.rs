//! `--metrics`: figures of the run for Prometheus, in a file that node_exporter collects.

use super::report::{Report, outcome};
use super::sink;
use crate::prometheus::{Page, series};
use cotter_console::{Console, Exit, Failure, clean};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const SUCCESS: &str = "cotter_run_last_success_timestamp_seconds";
/// Nothing that was written here is longer, even with the longest name.
const MAX_BYTES: u64 = 64 * 1024;

/// Replaces the file. A failure is only a warning.
pub(super) fn write(path: &Path, report: &Report, result: &Result<Exit, Failure>, console: &Console) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    let success = match exit.code() {
        0 => Some(now),
        _ => before(path, report.name(), now),
    };
    if let Err(error) = sink::write_to(path, &text(report, exit, now, success)) {
        let path = clean(&path.to_string_lossy());
        console.warning(&format!("the metrics {path} were not written: {error}"));
    }
}

/// The last success that an earlier run has written there, unless it is of another lock, or in the future.
fn before(path: &Path, name: &str, now: f64) -> Option<f64> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    let series = series(SUCCESS, &[("lock", name)]);
    let value = text.lines().find_map(|line| line.strip_prefix(&series)?.strip_prefix(' '))?;
    value.parse().ok().filter(|at| (0.0..=now).contains(at))
}

fn text(report: &Report, exit: Exit, now: f64, success: Option<f64>) -> String {
    let (mut page, of) = (Page::default(), [("lock", report.name())]);
    let mut gauge = |name: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            page.metric(name, "gauge", help);
            page.sample(name, &of, value);
        }
    };
    gauge("cotter_run_end_timestamp_seconds", "When the last run ended.", Some(now));
    gauge(SUCCESS, "When a run last ended with the exit code 0.", success);
    gauge("cotter_run_exit_code", "The exit code of the last run.", Some(f64::from(exit.code())));
    let waited = "How long the last run waited for the lock.";
    gauge("cotter_run_wait_seconds", waited, Some(report.waited().as_secs_f64()));
    let held = "How long the last run held the lock.";
    gauge("cotter_run_hold_seconds", held, report.held_for().map(|held| held.as_secs_f64()));
    page.metric("cotter_run_outcome", "gauge", "How the last run ended.");
    page.sample("cotter_run_outcome", &[of[0], ("outcome", outcome(exit))], 1);
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_success_is_believed_only_if_it_can_be_true() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            before(file.path(), "a\"b", 100.0)
        };
        let of = |value: &str| format!("# TYPE {SUCCESS} gauge\n{SUCCESS}{{lock=\"a\\\"b\"}} {value}\n");
        assert_eq!(found(&of("17.5")), Some(17.5));
        for text in [of("100.5"), of("-1"), of("NaN"), of("x"), of("1").replace("a\\", "c\\"), String::new()]
        {
            assert_eq!(found(&text), None, "{text}");
        }
        assert_eq!(before(Path::new("/dev/null"), "a\"b", 100.0), None);
    }
}
