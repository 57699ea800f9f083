//! Waiting in the kernel's own queue for a lock, among all processes that wait there.
//!
//! Only a blocking call waits in that queue, so a thread makes it and wakes the task that it waits for. Nothing but the
//! lock ends the call. A thread whose task does not want the lock any more is therefore abandoned: it serves the next task
//! of this client that waits for the same file, whose place in the queue is then a good one, or gives the lock back as
//! soon as it has it. The end of the process does not wait for such a thread, and a process that is stopped or frozen does
//! not keep its place in the kernel's queue.

use super::lock::{LockFile, LockKind};
use crate::sys::FileId;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::Builder;
use tokio::sync::Notify;

/// Waiting threads of one client. Waits beyond that have to poll.
const MAX_THREADS: usize = 64;
/// The thread makes one call and wakes a task.
const STACK_SIZE: usize = 128 * 1024;

/// The waiting threads of one client.
#[derive(Debug, Clone)]
pub(super) struct WaitThreads {
    all: Arc<Mutex<Vec<Arc<WaitThread>>>>,
    limit: usize,
}

impl Default for WaitThreads {
    fn default() -> Self {
        Self::at_most(MAX_THREADS)
    }
}

#[derive(Debug)]
struct WaitThread {
    file: FileId,
    kind: LockKind,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Waiting(Arc<Notify>),
    /// Its wait was dropped.
    Abandoned,
    /// The call has returned, and its task has not looked yet.
    Returned(rustix::io::Result<LockFile>),
    Over,
}

impl WaitThreads {
    pub(super) fn at_most(limit: usize) -> Self {
        Self { all: Arc::default(), limit }
    }

    /// Has a thread wait for the lock and then notify `woken`. `None` where there is no room for another thread.
    pub(super) fn start(&self, opened: LockFile, kind: LockKind, woken: &Arc<Notify>) -> Option<QueuedWait> {
        let mut all = self.lock();
        let abandoned = all.iter().find(|thread| thread.is_for(opened.id, kind) && thread.take_over(woken));
        if let Some(thread) = abandoned {
            return Some(QueuedWait(thread.clone()));
        }
        if all.len() >= self.limit {
            return None;
        }
        let state = Mutex::new(State::Waiting(woken.clone()));
        let thread = Arc::new(WaitThread { file: opened.id, kind, state });
        let (threads, ours) = (self.clone(), thread.clone());
        let run = move || {
            ours.finish(opened.wait(kind).map(|()| opened));
            threads.lock().retain(|thread| !Arc::ptr_eq(thread, &ours));
        };
        Builder::new().name("cotter-wait".into()).stack_size(STACK_SIZE).spawn(run).ok()?;
        all.push(thread.clone());
        Some(QueuedWait(thread))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<WaitThread>>> {
        crate::sync::lock(&self.all)
    }
}

/// The number of abandoned threads of this process, by the number of their file. Some files share a counter.
static ABANDONED: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

fn abandoned(file: FileId) -> &'static AtomicUsize {
    &ABANDONED[(file.ino % ABANDONED.len() as u64) as usize]
}

/// Whether an abandoned thread may wait for this file, and have its lock for a moment.
pub(super) fn has_abandoned(file: FileId) -> bool {
    abandoned(file).load(Ordering::Acquire) > 0
}

impl WaitThread {
    fn is_for(&self, file: FileId, kind: LockKind) -> bool {
        self.file == file && self.kind == kind
    }

    fn take_over(&self, woken: &Arc<Notify>) -> bool {
        let mut state = self.lock();
        let is_abandoned = matches!(*state, State::Abandoned);
        if is_abandoned {
            *state = State::Waiting(woken.clone());
            abandoned(self.file).fetch_sub(1, Ordering::AcqRel);
        }
        is_abandoned
    }

    fn finish(&self, outcome: rustix::io::Result<LockFile>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Waiting(woken) => {
                *state = State::Returned(outcome);
                drop(state);
                woken.notify_one();
            }
            was => {
                give_back(outcome);
                let count = usize::from(matches!(was, State::Abandoned));
                abandoned(self.file).fetch_sub(count, Ordering::AcqRel);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::sync::lock(&self.state)
    }
}

fn give_back(outcome: rustix::io::Result<LockFile>) {
    if let Ok(locked) = outcome {
        locked.free();
    }
}

/// A place in the kernel's queue. Dropped, it gives back a lock that nobody took.
#[derive(Debug)]
pub(super) struct QueuedWait(Arc<WaitThread>);

impl QueuedWait {
    /// The file that it waits for.
    pub(super) fn file(&self) -> FileId {
        self.0.file
    }

    /// Takes the locked file, once it is locked.
    pub(super) fn outcome(&self) -> Option<rustix::io::Result<LockFile>> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Returned(outcome) => Some(outcome),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Drop for QueuedWait {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Waiting(_) => {
                *state = State::Abandoned;
                abandoned(self.0.file).fetch_add(1, Ordering::AcqRel);
            }
            State::Returned(outcome) => give_back(outcome),
            State::Abandoned | State::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotter_testkit::timing::until;
    use std::fs::File;

    struct Scene {
        path: tempfile::TempPath,
        threads: WaitThreads,
        woken: Arc<Notify>,
    }

    impl Scene {
        fn new() -> Self {
            let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            Self { path, threads: WaitThreads::default(), woken: Arc::default() }
        }

        fn opened(&self) -> LockFile {
            LockFile::from_fd(File::open(&self.path).unwrap().into()).unwrap()
        }

        fn held(&self) -> LockFile {
            let opened = self.opened();
            assert!(opened.attempt(LockKind::Exclusive).unwrap());
            opened
        }

        fn start(&self) -> QueuedWait {
            self.threads.start(self.opened(), LockKind::Exclusive, &self.woken).expect("room for one more")
        }

        fn running(&self) -> usize {
            self.threads.lock().len()
        }
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_lock() {
        let scene = Scene::new();
        let holder = scene.held();
        let wait = scene.start();
        assert!(wait.outcome().is_none());
        holder.free();
        scene.woken.notified().await;
        let got = wait.outcome().expect("awake").unwrap();
        assert!(!scene.opened().attempt(LockKind::Exclusive).unwrap(), "it has the lock");
        assert!(wait.outcome().is_none());
        drop(wait);
        assert!(!scene.opened().attempt(LockKind::Exclusive).unwrap(), "a lock that was taken is kept");
        got.free();
    }

    #[test]
    fn a_dropped_wait_gives_the_lock_back() {
        let scene = Scene::new();
        let holder = scene.held();
        drop(scene.start());
        holder.free();
        until("the thread ends", || scene.running() == 0);
        until("it is free", || scene.opened().attempt(LockKind::Exclusive).unwrap());
    }

    #[test]
    fn a_lock_that_nobody_took_is_given_back() {
        let scene = Scene::new();
        let holder = scene.held();
        let wait = scene.start();
        holder.free();
        until("the thread ends", || scene.running() == 0);
        drop(wait);
        until("it is free", || scene.opened().attempt(LockKind::Exclusive).unwrap());
    }

    #[tokio::test]
    async fn the_next_wait_takes_over_an_abandoned_thread() {
        let scene = Scene::new();
        let holder = scene.held();
        for _ in 0..100 {
            drop(scene.start());
        }
        let wait = scene.start();
        assert_eq!(scene.running(), 1);
        holder.free();
        scene.woken.notified().await;
        assert!(wait.outcome().is_some());
    }

    #[test]
    fn the_number_of_threads_is_limited() {
        let scene = Scene::new();
        let holder = scene.held();
        let all: Vec<_> = (0..MAX_THREADS).map(|_| scene.start()).collect();
        assert!(scene.threads.start(scene.opened(), LockKind::Exclusive, &scene.woken).is_none());
        drop(all);
        holder.free();
        until("they end", || scene.running() == 0);
    }
}
