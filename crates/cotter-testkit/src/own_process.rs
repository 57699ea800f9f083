//! A test in a process of its own.

use std::process::Command;

/// Set in that process.
const MARK: &str = "COTTER_TEST_OWN_PROCESS";

/// Runs the body of a test in a process of its own, which is this test program once more with that test alone: for what a
/// process has only one of, like its resource limits or its global `tracing` subscriber.
///
/// `test` is the full name of the calling test. `prepare` may set variables of the process; what it returns is dropped
/// after the process has ended.
///
/// # Panics
/// When the test fails there.
pub fn in_own_process<T>(test: &str, prepare: impl FnOnce(&mut Command) -> T, body: impl FnOnce()) {
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--exact", "--include-ignored", "--nocapture", test]).env(MARK, "1");
    let kept = prepare(&mut command);
    let output = command.output().expect("this program can be started again");
    drop(kept);
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", output.status);
}
