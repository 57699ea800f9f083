//! What the tests with processes share.

use cotter_testkit::processes::{Report, Run};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Runs that measure times must not be in each other's way.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a run needs for as long as it lasts.
pub(crate) struct Place {
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    /// The database of a run on SQLite.
    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("locks.db")
    }
}

/// The history of a run that went wrong is kept, to be read.
impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            let mut out = std::io::stderr().lock();
            let _ = writeln!(out, "the history is kept in {}", self.folder.path().display());
        }
    }
}

/// A run on a `file:` store of its own, and alone. The folder goes when the place is dropped.
pub(crate) fn on_files() -> (Place, Run) {
    let (place, mut run) = on("");
    run.orders.url = format!("file://{}", place.folder.path().join("store").display());
    (place, run)
}

/// A run on an SQLite database of its own, and alone.
#[cfg(not(cotter_portable))]
pub(crate) fn on_sqlite() -> (Place, Run) {
    let (place, mut run) = on("");
    run.orders.url = format!("sqlite://{}", place.database().display());
    cotter::Client::builder().url(&run.orders.url).migrate().wait().expect("the tables are made");
    (place, run)
}

/// A run on this store, alone.
pub(crate) fn on(url: &str) -> (Place, Run) {
    let alone = alone();
    let folder = private_folder();
    let run = Run::new(env!("CARGO_BIN_EXE_cotter-holder"), &folder.path().join("run"), url);
    (Place { folder, _alone: alone }, run)
}

/// Not below a directory that everybody may write to: the store refuses that.
pub(crate) fn private_folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the run")
}

/// Shows counts and percentiles beside the test's name.
pub(crate) fn show(test: &str, report: &Report) {
    let mut out = std::io::stderr().lock();
    writeln!(out, "{test}: {report}").expect("stderr takes text");
}
