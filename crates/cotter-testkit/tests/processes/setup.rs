//! What the tests with processes share.

use cotter::Client;
use cotter_testkit::Actor;
use cotter_testkit::history::{Kind, Recorder, demand};
use cotter_testkit::processes::{Report, Run};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs that measure times must not be in anybody's way.
static RUNS: RwLock<()> = RwLock::new(());

/// Nobody reads the guard: it is there to be dropped.
enum Turn {
    Alone { _turn: RwLockWriteGuard<'static, ()> },
    BesideOthers { _turn: RwLockReadGuard<'static, ()> },
}

impl Turn {
    fn alone() -> Self {
        Self::Alone { _turn: RUNS.write().unwrap_or_else(PoisonError::into_inner) }
    }

    fn beside_others() -> Self {
        Self::BesideOthers { _turn: RUNS.read().unwrap_or_else(PoisonError::into_inner) }
    }
}

/// What a run needs for as long as it lasts.
pub(crate) struct Place {
    folder: TempDir,
    _turn: Turn,
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
    cotter::Client::builder().migrate(&run.orders.url).wait().expect("the tables are made");
    (place, run)
}

/// A run on this store, alone.
pub(crate) fn on(url: &str) -> (Place, Run) {
    place_of(url, Turn::alone())
}

/// A run on this store that mostly waits, beside others that do.
pub(crate) fn beside_others_on(url: &str) -> (Place, Run) {
    place_of(url, Turn::beside_others())
}

fn place_of(url: &str, turn: Turn) -> (Place, Run) {
    let folder = private_folder();
    let run = Run::new(env!("CARGO_BIN_EXE_cotter-holder"), &folder.path().join("run"), url);
    (Place { folder, _turn: turn }, run)
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

/// All processes are dead: within this time, in which their leases end, all of every name is free.
pub(crate) fn demand_all_back(run: &Run, within: Duration) {
    let client = Client::builder().connect(&run.orders.url).wait().expect("a store");
    let last = Actor::new(client, &Recorder::in_memory(), 0);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let late = Instant::now() + within;
    for (which, name) in run.orders.names.iter().enumerate() {
        let all = run.orders.usage_of(which).all();
        let is_free =
            || runtime.block_on(last.try_acquire(name, all)).expect("it is used in one way").is_some();
        let mut free = is_free();
        while !free && Instant::now() < late {
            std::thread::sleep(Duration::from_millis(10));
            free = is_free();
        }
        demand(free, Kind::LeftBehind, format!("{name:?} is not free {within:?} after the run"));
    }
}
