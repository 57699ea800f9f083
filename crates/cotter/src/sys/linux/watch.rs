//! Events of the file system for tasks that wait for a note: one inotify instance per client, made for the first of them
//! and read by one task.
//!
//! Events only make it faster. Without inotify (a user may have few instances) a task that waits looks every 50 ms.

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;

/// The tasks to wake, by watch number. The system gives a directory the same number however often it is watched.
type Table = HashMap<i32, Vec<Arc<Notify>>>;

/// The inotify instance of one client.
#[derive(Debug)]
pub(crate) struct Watcher {
    fd: OwnedFd,
    table: Mutex<Table>,
    ended: Arc<Notify>,
}

impl Watcher {
    /// Its events are read on the runtime of the caller.
    pub(crate) fn start() -> std::io::Result<Arc<Self>> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let receiver = Receiver::from_owned_fd_unchecked(fd.try_clone()?)?;
        let watcher = Arc::new(Self { fd, table: Mutex::default(), ended: Arc::default() });
        tokio::spawn(read(receiver, Arc::downgrade(&watcher), watcher.ended.clone()));
        Ok(watcher)
    }

    /// Notifies `woken` when a file is moved to this directory. `None` when the system refuses, or there is no directory.
    pub(crate) fn watch(self: &Arc<Self>, directory: &Path, woken: &Arc<Notify>) -> Option<Watch> {
        self.watch_for(WatchFlags::MOVED_TO, directory, woken)
    }

    /// Notifies `woken` when a file in this directory is written to. Not for a directory that is watched for moves as well.
    #[cfg(feature = "sqlite")]
    pub(crate) fn watch_writes(self: &Arc<Self>, directory: &Path, woken: &Arc<Notify>) -> Option<Watch> {
        self.watch_for(WatchFlags::MODIFY, directory, woken)
    }

    fn watch_for(
        self: &Arc<Self>,
        events: WatchFlags,
        directory: &Path,
        woken: &Arc<Notify>,
    ) -> Option<Watch> {
        let mut table = self.lock();
        let events = events | WatchFlags::DONT_FOLLOW;
        let number = inotify::add_watch(&self.fd, directory, events).ok()?;
        table.entry(number).or_default().push(woken.clone());
        Some(Watch { watcher: self.clone(), number, woken: woken.clone() })
    }

    /// No more events.
    pub(crate) fn end(&self) {
        self.ended.notify_one();
    }

    fn handle(&self, number: i32, what: ReadFlags) {
        let mut table = self.lock();
        if what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return table.values().flatten().for_each(|woken| woken.notify_one());
        }
        let gone = what.contains(ReadFlags::IGNORED);
        let told = if gone { table.remove(&number) } else { table.get(&number).cloned() };
        told.into_iter().flatten().for_each(|woken| woken.notify_one());
    }

    fn forget(&self, number: i32, woken: &Arc<Notify>) {
        let mut table = self.lock();
        let Some(listeners) = table.get_mut(&number) else { return };
        if let Some(at) = listeners.iter().position(|w| Arc::ptr_eq(w, woken)) {
            listeners.swap_remove(at);
        }
        if listeners.is_empty() {
            table.remove(&number);
            // It may have gone with its file.
            let _ = inotify::remove_watch(&self.fd, number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        crate::sync::lock(&self.table)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end();
    }
}

/// One watched directory, until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    watcher: Arc<Watcher>,
    number: i32,
    woken: Arc<Notify>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watcher.forget(self.number, &self.woken);
    }
}

/// Room for a few hundred events.
const BUFFER: usize = 16 * 1024;

/// The wake-up channel. It does not keep its watcher alive.
///
/// An inotify descriptor reads like a pipe, and the pipe's end is the reactor's safe way to take a descriptor over.
async fn read(receiver: Receiver, watcher: Weak<Watcher>, ended: Arc<Notify>) {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    loop {
        let ready = tokio::select! {
            ready = receiver.readable() => ready,
            () = ended.notified() => return,
        };
        if ready.is_err() {
            return;
        }
        let mut reader = Reader::new(&receiver, &mut buffer);
        while let Ok((number, what)) = receiver.try_io(|| next(&mut reader)) {
            let Some(watcher) = watcher.upgrade() else { return };
            watcher.handle(number, what);
        }
    }
}

fn next(reader: &mut Reader<'_, &Receiver>) -> std::io::Result<(i32, ReadFlags)> {
    let event = reader.next()?;
    Ok((event.wd(), event.events()))
}
