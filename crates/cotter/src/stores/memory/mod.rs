//! Locks in the memory of this process: the reference implementation of the contract, and the store of most tests.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the contract, and waiting |
//! | `notes` | notes beside names |
//! | `admin` | listing and evicting |
//! | `member` | being a member of a quorum |
//! | `acceptor` | being a member whose notes are swapped |
//! | `faults` | failing when a test wants it to |

mod acceptor;
mod admin;
mod backend;
mod faults;
mod member;
mod notes;

use crate::backend::{Backend, Connect, Host};
use crate::stores::shared::lock_state::{self, Now, Waiter};
use crate::sync::lock;
use crate::{Clock, Moment, Name, Result};
use async_trait::async_trait;
pub use faults::Faults;
use notes::NoteTable;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;

/// A store in the memory of this process.
///
/// Clients that are built on clones of one store see the same locks, each as if it were a separate process. The store
/// supports every operation of the contract, serves waiters in order of arrival, and its tokens never go back. It uses
/// the clock of the client that connects first.
///
/// ```
/// # use cotter::{memory, Client};
/// # fn main() -> cotter::Result<()> {
/// let store = memory::Store::new();
/// let one = Client::builder().connect_to(store.clone()).wait()?;
/// let other = Client::builder().connect_to(store).wait()?;
/// let _guard = one.mutex("orders").lock().wait()?;
/// assert!(other.mutex("orders").try_lock().wait()?.is_none());
/// # Ok(()) }
/// ```
///
/// How a program behaves when its store is away, when answers are lost, and when a lock is, can be tested with
/// [`Faults`] and [`forget`](Self::forget).
#[derive(Debug, Clone)]
pub struct Store {
    shared: Arc<Shared>,
    faults: Option<Faults>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// Creates an empty store.
    pub fn new() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(1);
        let number = STORES.fetch_add(1, Ordering::Relaxed);
        let (time, locks, notes, freed) = (OnceLock::new(), Mutex::default(), Arc::default(), Arc::default());
        let shared = Arc::new(Shared { number, time, locks, notes, freed, quorum: OnceLock::new() });
        Self { shared, faults: None }
    }

    /// Creates an empty store that fails when it is told to. It cannot be a member of a quorum.
    pub fn with_faults(faults: &Faults) -> Self {
        Self { faults: Some(faults.clone()), ..Self::new() }
    }

    /// Forgets who holds a name, as a server does that has lost its data. The holders learn of it at their next renewal
    /// ([`LossCause::Gone`](crate::LossCause::Gone)), and until then others may hold the name too.
    pub fn forget(&self, name: &Name) {
        if self.shared.time.get().is_some() {
            self.shared.with(name, |lock, _| lock.holders.clear());
        }
    }
}

#[async_trait]
impl Connect for Store {
    async fn connect(&self, host: &Host) -> Result<Arc<dyn Backend>> {
        let clock = host.clock();
        self.shared.time.get_or_init(|| Time::starting(clock.clone()));
        let memory = backend::Memory::new(self.shared.clone(), clock.clone());
        let Some(faults) = &self.faults else { return Ok(Arc::new(memory)) };
        faults.pass()?;
        Ok(Arc::new(faults::Unreliable::new(memory, faults.clone())))
    }
}

/// The state that all clients of one store share.
#[derive(Debug)]
struct Shared {
    /// Tells it from the other stores of this process.
    number: u64,
    time: OnceLock<Time>,
    locks: Mutex<HashMap<Name, Lock>>,
    notes: Arc<NoteTable>,
    /// Notified when a name is released.
    freed: Arc<Notify>,
    /// The number of members of the quorum that it belongs to.
    quorum: OnceLock<usize>,
}

/// The store's own time: the time of day when the first client connected, advanced by that client's clock.
#[derive(Debug)]
struct Time {
    clock: Arc<dyn Clock>,
    origin: Moment,
    wall: SystemTime,
}

impl Time {
    fn starting(clock: Arc<dyn Clock>) -> Self {
        let (origin, wall) = (clock.now(), clock.wall());
        Self { clock, origin, wall }
    }

    fn wall_at(&self, now: Moment) -> SystemTime {
        self.wall + now.since(self.origin)
    }
}

type Lock = lock_state::Lock<Arc<Notify>>;

impl Waiter for Arc<Notify> {
    const IS_SERVED: bool = true;

    fn wake(&self) {
        self.notify_one();
    }

    /// It leaves the queue when it is dropped.
    fn is_listening(&self, _: Moment) -> bool {
        true
    }
}

impl Shared {
    fn time(&self) -> &Time {
        self.time.get().expect("set by the first connect")
    }

    fn now(&self) -> Now {
        let at = self.time().clock.now();
        Now { at, micros: crate::clock::unix_micros(self.time().wall_at(at)) }
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<Name, Lock>> {
        lock(&self.locks)
    }

    /// Runs `work` on the lock of a name, and forgets the name when nothing is left to remember.
    fn with<T>(&self, name: &Name, work: impl FnOnce(&mut Lock, Now) -> T) -> T {
        let mut locks = self.locks();
        // Only now: a thread that read the clock before it had to wait could give a smaller token than others have given, of
        // whom nothing is remembered any more.
        let now = self.now();
        if let Some(known) = locks.get_mut(name) {
            let believed = known.next_end();
            known.advance(now);
            let done = work(known, now);
            // Waiters sleep until the end of the lease that they knew of.
            if known.next_end() < believed {
                known.wake_first();
            }
            if known.is_forgettable(now) {
                locks.remove(name);
            }
            return done;
        }
        let mut new = Lock::default();
        let done = work(&mut new, now);
        if !new.is_forgettable(now) {
            locks.insert(name.clone(), new);
        }
        done
    }
}

/// A shorter lease could end before its holder has read the answer.
const MIN_TTL: Duration = Duration::from_millis(1);
