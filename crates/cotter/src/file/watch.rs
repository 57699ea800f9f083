//! Events of the file system: one inotify instance per client, read by one task.
//!
//! Events only make things faster. Without inotify (its instances are few) all who wait look every 50 ms, and a lost
//! lock file is noticed at the next renewal.

use super::holds::Holds;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::HashMap;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Where somebody waits for events.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) woken: Arc<Notify>,
    events: AtomicU64,
}

impl Signal {
    /// How many events there were.
    pub(super) fn events(&self) -> u64 {
        self.events.load(Ordering::Acquire)
    }

    fn raise(&self) {
        self.events.fetch_add(1, Ordering::AcqRel);
        self.woken.notify_one();
    }
}

/// The inotify instance of one client.
#[derive(Debug)]
pub(super) struct Watcher {
    fd: OwnedFd,
    directory: PathBuf,
    holds: Arc<Holds>,
    table: Mutex<Table>,
    /// The directory was moved, deleted or unmounted.
    astray: AtomicBool,
    /// Watches that the system refused.
    refused: AtomicU64,
    ended: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Table {
    root: i32,
    /// A file has one number however often it is watched.
    listeners: HashMap<i32, Vec<Arc<Signal>>>,
}

/// What tells that a lock file does not stand in its place any more.
const LOSS: WatchFlags = WatchFlags::DELETE
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// What concerns the directory as a whole.
const ASTRAY: ReadFlags =
    ReadFlags::DELETE_SELF.union(ReadFlags::MOVE_SELF).union(ReadFlags::UNMOUNT).union(ReadFlags::IGNORED);

impl Watcher {
    /// Starts to watch the directory, on the runtime that calls.
    pub(super) fn start(directory: &Path, holds: &Arc<Holds>) -> std::io::Result<Arc<Self>> {
        let fd = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let receiver = Receiver::from_owned_fd_unchecked(fd.try_clone()?)?;
        let watcher = Arc::new(Self {
            fd,
            directory: directory.to_owned(),
            holds: holds.clone(),
            table: Mutex::default(),
            astray: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            ended: Arc::default(),
        });
        tokio::spawn(read(receiver, Arc::downgrade(&watcher), watcher.ended.clone()));
        Ok(watcher)
    }

    /// Tells `signal` of these events at `path`. All who watch one file must want the same events. `None` when the
    /// system refuses, or nothing is there.
    pub(super) fn watch(
        self: &Arc<Self>,
        path: &Path,
        events: WatchFlags,
        signal: &Arc<Signal>,
    ) -> Option<Watch> {
        let mut table = self.lock();
        match inotify::add_watch(&self.fd, path, events | WatchFlags::DONT_FOLLOW) {
            Ok(number) => {
                table.listeners.entry(number).or_default().push(signal.clone());
                Some(Watch { watcher: self.clone(), number, signal: signal.clone() })
            }
            Err(e) => {
                let gone = e == rustix::io::Errno::NOENT;
                self.refused.fetch_add(u64::from(!gone), Ordering::Relaxed);
                None
            }
        }
    }

    /// Watches the directory from now on, and looks once at what may have happened before.
    fn attend(&self) {
        let watched = self.watch_root();
        self.refused.fetch_add(u64::from(watched.is_err()), Ordering::Relaxed);
        // Not known to be the one that was checked.
        self.astray.store(true, Ordering::Release);
        self.holds.check_all();
    }

    /// Whether the directory went away since it was checked.
    pub(super) fn is_astray(&self) -> bool {
        self.astray.load(Ordering::Acquire)
    }

    /// Watches the directory that stands at the path now.
    pub(super) fn come_back(&self) -> std::io::Result<()> {
        self.watch_root()?;
        self.astray.store(false, Ordering::Release);
        Ok(())
    }

    /// How many watches the system refused.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// No more events.
    pub(super) fn end(&self) {
        self.ended.notify_one();
    }

    fn watch_root(&self) -> rustix::io::Result<()> {
        let mut table = self.lock();
        table.root = inotify::add_watch(&self.fd, &self.directory, LOSS)?;
        Ok(())
    }

    fn handle(&self, event: &Event) {
        if event.what.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.all_may_have_happened();
        }
        let told = {
            let mut table = self.lock();
            if event.number == table.root {
                drop(table);
                return self.root_event(event);
            }
            if event.what.contains(ReadFlags::IGNORED) {
                table.listeners.remove(&event.number)
            } else {
                table.listeners.get(&event.number).cloned()
            }
        };
        told.into_iter().flatten().for_each(|s| s.raise());
    }

    fn root_event(&self, event: &Event) {
        if event.what.intersects(ASTRAY) {
            self.astray.store(true, Ordering::Release);
            // Another one may stand there by now, with locks in it that were taken before this was known.
            let _ = self.watch_root();
            self.holds.check_all();
        } else if let Some(file) = &event.file {
            self.holds.check(file.to_bytes());
        }
    }

    fn all_may_have_happened(&self) {
        let told: Vec<_> = self.lock().listeners.values().flatten().cloned().collect();
        told.iter().for_each(|s| s.raise());
        self.holds.check_all();
    }

    fn forget(&self, number: i32, signal: &Arc<Signal>) {
        let mut table = self.lock();
        let Some(listeners) = table.listeners.get_mut(&number) else { return };
        if let Some(at) = listeners.iter().position(|s| Arc::ptr_eq(s, signal)) {
            listeners.swap_remove(at);
        }
        if listeners.is_empty() {
            table.listeners.remove(&number);
            // It may have gone with its file.
            let _ = inotify::remove_watch(&self.fd, number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end();
    }
}

/// Interest in one file; ends when it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    watcher: Arc<Watcher>,
    number: i32,
    signal: Arc<Signal>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watcher.forget(self.number, &self.signal);
    }
}

struct Event {
    number: i32,
    what: ReadFlags,
    file: Option<CString>,
}

/// Room for a few hundred events.
const BUFFER: usize = 16 * 1024;

/// To close an instance that watches something takes the kernel 5-12 ms (it waits for all readers of its list), and so
/// does the end of the process. Who is done before this, like most commands, never pays for it.
const ATTEND: Duration = Duration::from_millis(100);

/// The wake-up channel. It does not keep its watcher alive.
///
/// An inotify descriptor reads like a pipe, and the pipe's end is the reactor's safe way to take a descriptor over.
async fn read(receiver: Receiver, watcher: Weak<Watcher>, ended: Arc<Notify>) {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
    let mut attend = pin!(sleep(ATTEND));
    let mut attends = false;
    loop {
        let ready = tokio::select! {
            ready = receiver.readable() => ready,
            () = ended.notified() => return,
            () = &mut attend, if !attends => {
                attends = true;
                let Some(watcher) = watcher.upgrade() else { return };
                watcher.attend();
                continue;
            }
        };
        if ready.is_err() {
            return;
        }
        let mut reader = Reader::new(&receiver, &mut buffer);
        while let Ok(event) = receiver.try_io(|| next(&mut reader)) {
            let Some(watcher) = watcher.upgrade() else { return };
            watcher.handle(&event);
        }
    }
}

fn next(reader: &mut Reader<'_, &Receiver>) -> std::io::Result<Event> {
    let event = reader.next()?;
    Ok(Event { number: event.wd(), what: event.events(), file: event.file_name().map(Into::into) })
}
