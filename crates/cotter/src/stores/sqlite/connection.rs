//! The connection to a database, and the thread that owns it. SQLite blocks, at a busy database for up to the timeout:
//! neither a user's runtime nor the engine may wait for it.

use super::errors::{self, explain};
use super::files::{self, Files};
use super::options::Options;
use super::presence::Presence;
use crate::sync::lock;
use crate::{Error, Result, random};
use rusqlite::OpenFlags;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio::sync::oneshot;

/// Whether the database may be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Existing,
    OrCreate,
}

type Job = Box<dyn FnOnce(&rusqlite::Connection) + Send>;

/// An open database. Its jobs are run one after the other, in the order of the calls.
pub(super) struct Connection {
    jobs: Mutex<Option<Sender<Job>>>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
    path: PathBuf,
    files: Files,
}

impl Connection {
    pub(super) async fn open(options: &Options, open: Open) -> Result<Self> {
        let presence = Presence::begin()?;
        let real = files::locate(&options.path, files::file_system)?;
        let (jobs, queue) = channel();
        let (opened, answer) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let own = Options { path: real.clone(), ..options.clone() };
        let thread = std::thread::Builder::new().name("cotter-sqlite".into()).spawn(move || {
            let connection = connect(&own, open);
            work(connection, opened, &queue);
            drop((presence, end));
        });
        thread.map_err(|e| errors::no_thread(&e))?;
        let has_log = answer.await.map_err(|_| errors::ended())??;
        let path = options.path.clone();
        let files = Files::of(&path, &real, has_log).ok_or_else(|| errors::replaced(&path))?;
        let (jobs, ended) = (Mutex::new(Some(jobs)), Mutex::new(Some(ended)));
        Ok(Self { jobs, ended, path, files })
    }

    /// Runs `job` on the thread. It runs to its end even if the future is dropped, once that was polled.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&rusqlite::Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| _ = done.send(job(connection)));
        let sent = lock(&self.jobs).as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            return Err(errors::ended());
        }
        let done = answer.await.unwrap_or_else(|_| Err(errors::ended()));
        // Nobody else would see what was done.
        if self.is_replaced() { Err(errors::replaced(&self.path)) } else { done }
    }

    /// Whether another file has taken the place of the database, of its log or of the index of the log, or none is there: new
    /// processes would use that one.
    ///
    /// Another process deletes the log when it believes to be the last one. It does so as well if this process has closed the
    /// database by other means than SQLite, since the kernel then drops the locks of this process. The index may go alone: it is
    /// only mapped, so on some file systems its times never change, and who deletes old files takes it for unused.
    pub(super) fn is_replaced(&self) -> bool {
        !self.files.are_there()
    }

    /// Where SQLite writes the files of the database.
    pub(super) fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Closes the database when all jobs have ended.
    pub(super) async fn close(&self) {
        drop(lock(&self.jobs).take());
        let ended = lock(&self.ended).take();
        if let Some(ended) = ended {
            let _ = ended.await;
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Runs jobs until nobody can send any more.
fn work(
    connection: Result<(rusqlite::Connection, bool)>,
    opened: oneshot::Sender<Result<bool, Error>>,
    queue: &Receiver<Job>,
) {
    match connection {
        Err(e) => _ = opened.send(Err(e)),
        Ok((connection, has_log)) => {
            if opened.send(Ok(has_log)).is_ok() {
                queue.iter().for_each(|job| job(&connection));
            }
        }
    }
}

/// Opens the database, and says whether its last changes are in a log beside it.
fn connect(options: &Options, open: Open) -> Result<(rusqlite::Connection, bool)> {
    let path: &Path = &options.path;
    // The thread is the only one that uses it.
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if open == Open::OrCreate {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let at = |e| errors::explain_open(e, path, open == Open::OrCreate);
    #[allow(unused_mut, reason = "later versions of rusqlite want it")]
    let mut connection = rusqlite::Connection::open_with_flags(path, flags).map_err(at)?;
    connection.busy_handler(Some(wait_a_little)).map_err(explain)?;
    let tries = options.timeout.as_micros() / AVERAGE_PAUSE.as_micros();
    TRIES.set(i32::try_from(tries).unwrap_or(i32::MAX).max(1));
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(at)?;
    // In WAL mode only a power failure can lose the last commits, and no lock survives that. Elsewhere it could damage
    // the database.
    let level = if mode == "wal" || open == Open::OrCreate { "NORMAL" } else { "FULL" };
    connection.execute_batch(&format!("PRAGMA synchronous = {level}")).map_err(explain)?;
    // Whoever reads first creates the log.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).map_err(at)?;
    Ok((connection, mode == "wal"))
}

const AVERAGE_PAUSE: Duration = Duration::from_micros(500);

thread_local! {
    /// How often the connection of this thread asks again at a busy database.
    static TRIES: std::cell::Cell<i32> = const { std::cell::Cell::new(1) };
}

/// SQLite's own handler waits longer each time: whoever has waited longest loses against newcomers.
fn wait_a_little(tries: i32) -> bool {
    let pause = random::bits() as u32 % (2 * AVERAGE_PAUSE.as_micros() as u32);
    std::thread::sleep(Duration::from_micros(pause.into()));
    tries < TRIES.get()
}
