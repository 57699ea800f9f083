//! Waiting in the kernel's own queue for a lock, beside whoever else waits there.
//!
//! Only a call that blocks stands in that queue, so a thread makes it, and wakes the one it waits for. Nothing but the lock
//! ends the call: who does not want it any more leaves the thread there. It gives the lock back as soon as it has it, or
//! serves the next one of this client who waits for the same file; its place is a good one by then. Neither the end of the
//! process waits for such a thread, nor does a process that is stopped or frozen stand in the kernel's queue.

use super::lock::{Opened, Way};
use crate::sys::FileId;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use tokio::sync::Notify;

/// Waiting threads of one client. Who finds no room has to look for itself.
const MOST: usize = 64;
/// The thread makes one call and wakes a task.
const STACK: usize = 128 * 1024;

/// The threads of one client.
#[derive(Debug, Clone)]
pub(super) struct Sleepers {
    beds: Arc<Mutex<Vec<Arc<Bed>>>>,
    most: usize,
}

impl Default for Sleepers {
    fn default() -> Self {
        Self::at_most(MOST)
    }
}

#[derive(Debug)]
struct Bed {
    file: FileId,
    way: Way,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Asleep(Arc<Notify>),
    /// Nobody wants it any more.
    Left,
    Awake(rustix::io::Result<Opened>),
    Over,
}

impl Sleepers {
    pub(super) fn at_most(most: usize) -> Self {
        Self { beds: Arc::default(), most }
    }

    /// Has a thread wait for the lock and wake us. `None` where there is no room for one more.
    pub(super) fn start(&self, opened: Opened, way: Way, woken: &Arc<Notify>) -> Option<Sleeper> {
        let mut beds = self.lock();
        let left = beds.iter().find(|bed| bed.is_for(opened.file, way) && bed.take_over(woken));
        if let Some(bed) = left {
            return Some(Sleeper(bed.clone()));
        }
        if beds.len() >= self.most {
            return None;
        }
        let bed = Arc::new(Bed { file: opened.file, way, state: Mutex::new(State::Asleep(woken.clone())) });
        let (all, ours) = (self.clone(), bed.clone());
        let sleep = move || {
            ours.wake_up(opened.wait(way).map(|()| opened));
            all.lock().retain(|bed| !Arc::ptr_eq(bed, &ours));
        };
        Builder::new().name("cotter-wait".into()).stack_size(STACK).spawn(sleep).ok()?;
        beds.push(bed.clone());
        Some(Sleeper(bed))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Bed>>> {
        self.beds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many threads of this process wait for nobody, by the number of their file. Some files share a count.
static LEFT: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

fn left(file: FileId) -> &'static AtomicUsize {
    &LEFT[(file.ino % LEFT.len() as u64) as usize]
}

/// Whether a thread that nobody needs any more may wait for this file, and have it for a moment.
pub(super) fn has_left(file: FileId) -> bool {
    left(file).load(Ordering::Acquire) > 0
}

impl Bed {
    fn is_for(&self, file: FileId, way: Way) -> bool {
        self.file == file && self.way == way
    }

    fn take_over(&self, woken: &Arc<Notify>) -> bool {
        let mut state = self.lock();
        let left = matches!(*state, State::Left);
        if left {
            *state = State::Asleep(woken.clone());
            self::left(self.file).fetch_sub(1, Ordering::AcqRel);
        }
        left
    }

    fn wake_up(&self, got: rustix::io::Result<Opened>) {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Asleep(woken) => {
                *state = State::Awake(got);
                drop(state);
                woken.notify_one();
            }
            was => {
                give_back(got);
                let left = usize::from(matches!(was, State::Left));
                self::left(self.file).fetch_sub(left, Ordering::AcqRel);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give_back(got: rustix::io::Result<Opened>) {
    if let Ok(opened) = got {
        opened.free();
    }
}

/// One place in the kernel's queue. Dropped, it frees what it has got and did not tell.
#[derive(Debug)]
pub(super) struct Sleeper(Arc<Bed>);

impl Sleeper {
    /// Which file it waits for.
    pub(super) fn file(&self) -> FileId {
        self.0.file
    }

    /// The lock, once it is there.
    pub(super) fn outcome(&self) -> Option<rustix::io::Result<Opened>> {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Awake(got) => Some(got),
            other => {
                *state = other;
                None
            }
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        match std::mem::replace(&mut *state, State::Over) {
            State::Asleep(_) => {
                *state = State::Left;
                left(self.0.file).fetch_add(1, Ordering::AcqRel);
            }
            State::Awake(got) => give_back(got),
            State::Left | State::Over => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::{Duration, Instant};

    struct Scene {
        path: tempfile::TempPath,
        sleepers: Sleepers,
        woken: Arc<Notify>,
    }

    impl Scene {
        fn new() -> Self {
            let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
            Self { path, sleepers: Sleepers::default(), woken: Arc::default() }
        }

        fn opened(&self) -> Opened {
            Opened::of(File::open(&self.path).unwrap().into()).unwrap()
        }

        fn held(&self) -> Opened {
            let opened = self.opened();
            assert!(opened.attempt(Way::Alone).unwrap());
            opened
        }

        fn start(&self) -> Sleeper {
            self.sleepers.start(self.opened(), Way::Alone, &self.woken).expect("room for one more")
        }

        fn threads(&self) -> usize {
            self.sleepers.lock().len()
        }
    }

    fn until(what: &str, mut happened: impl FnMut() -> bool) {
        let start = Instant::now();
        while !happened() {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn it_wakes_with_the_lock() {
        let scene = Scene::new();
        let holder = scene.held();
        let sleeper = scene.start();
        assert!(sleeper.outcome().is_none());
        holder.free();
        scene.woken.notified().await;
        let got = sleeper.outcome().expect("awake").unwrap();
        assert!(!scene.opened().attempt(Way::Alone).unwrap(), "it has the lock");
        assert!(sleeper.outcome().is_none());
        drop(sleeper);
        assert!(!scene.opened().attempt(Way::Alone).unwrap(), "what was told is not taken back");
        got.free();
    }

    #[test]
    fn what_nobody_wants_any_more_is_given_back() {
        let scene = Scene::new();
        let holder = scene.held();
        drop(scene.start());
        holder.free();
        until("the thread ends", || scene.threads() == 0);
        until("it is free", || scene.opened().attempt(Way::Alone).unwrap());
    }

    #[test]
    fn what_came_and_was_not_asked_for_is_given_back() {
        let scene = Scene::new();
        let holder = scene.held();
        let sleeper = scene.start();
        holder.free();
        until("the thread ends", || scene.threads() == 0);
        drop(sleeper);
        until("it is free", || scene.opened().attempt(Way::Alone).unwrap());
    }

    #[tokio::test]
    async fn the_next_one_takes_over_a_place_that_was_left() {
        let scene = Scene::new();
        let holder = scene.held();
        for _ in 0..100 {
            drop(scene.start());
        }
        let sleeper = scene.start();
        assert_eq!(scene.threads(), 1);
        holder.free();
        scene.woken.notified().await;
        assert!(sleeper.outcome().is_some());
    }

    #[test]
    fn there_is_an_end_to_the_threads() {
        let scene = Scene::new();
        let holder = scene.held();
        let all: Vec<_> = (0..MOST).map(|_| scene.start()).collect();
        assert!(scene.sleepers.start(scene.opened(), Way::Alone, &scene.woken).is_none());
        drop(all);
        holder.free();
        until("they end", || scene.threads() == 0);
    }
}
