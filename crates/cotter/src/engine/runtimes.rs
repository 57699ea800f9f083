//! The connection of one runtime: made in the background, in a task that lives as long as the runtime does.

use crate::Moment;
use crate::backend::{Backend, Connect, Host};
use crate::engine::route::Runtimes;
use crate::engine::timing::RECONNECT_PAUSE;
use crate::sync::lock;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;

/// A runtime that makes calls.
pub(super) struct Entry {
    runtime: Id,
    requests: AtomicU32,
    backend: OnceLock<Arc<dyn Backend>>,
    state: Mutex<State>,
}

enum State {
    /// Not connected; no attempt is made before that moment.
    Apart(Moment),
    /// A task on that runtime is connecting or has connected. It ends when the sender is dropped.
    Tied(#[allow(dead_code, reason = "its end is what counts")] oneshot::Sender<()>),
    /// That runtime has no timers, or no sockets.
    Unfit,
}

/// The number of requests after which a runtime gets a connection: a single lock and release is not worth one.
const WORTH_IT: u32 = 3;

impl Entry {
    pub(super) fn new(runtime: Id) -> Self {
        Self {
            runtime,
            requests: AtomicU32::new(0),
            backend: OnceLock::new(),
            state: Mutex::new(State::Apart(Moment::ZERO)),
        }
    }

    pub(super) fn is_of(&self, runtime: Id) -> bool {
        self.runtime == runtime
    }

    pub(super) fn backend(&self) -> Option<Arc<dyn Backend>> {
        self.backend.get().cloned()
    }

    /// Returns true if the end of the runtime will be noticed.
    pub(super) fn is_tied(&self) -> bool {
        matches!(*self.state(), State::Tied(_))
    }

    /// Counts a request. Returns true when it is time to connect.
    pub(super) fn wants_one(&self, now: Moment) -> bool {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1 >= WORTH_IT
            && matches!(*self.state(), State::Apart(until) if now >= until)
    }

    /// Starts to connect, unless another task has started.
    pub(super) fn connect(
        entry: &Arc<Self>,
        all: &Arc<Runtimes>,
        runtime: &Handle,
        store: &Arc<dyn Connect>,
        host: &Host,
    ) {
        let (tied, untied) = oneshot::channel();
        {
            let mut state = entry.state();
            if !matches!(*state, State::Apart(_)) {
                return;
            }
            *state = State::Tied(tied);
        }
        let tie = Tie { entry: Arc::downgrade(entry), all: Arc::downgrade(all) };
        let (store, host, runtime) = (store.clone(), host.clone(), runtime.clone());
        let begin = move || {
            if !is_fit(&runtime) {
                return tie.let_go(State::Unfit);
            }
            runtime.spawn(async move {
                match store.connect(&host).await {
                    Ok(backend) => tie.made(backend),
                    Err(_) => return tie.let_go(State::Apart(host.clock().now() + RECONNECT_PAUSE)),
                }
                // The entry ends with its client, and this task with its runtime.
                let _ = untied.await;
            });
        };
        // A separate thread, because a runtime reports missing features by panicking, and that panic must not hit a
        // caller. If no thread can be started, the entry is removed, and later requests try again.
        let _ = thread::Builder::new().name("cotter-probe".into()).spawn(begin);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Returns true if a driver can live in this runtime. tokio has no API for this.
fn is_fit(runtime: &Handle) -> bool {
    let _inside = runtime.enter();
    catch_unwind(|| {
        drop(tokio::time::sleep(Duration::ZERO));
        crate::sys::register_a_socket();
    })
    .is_ok()
}

/// The work of the task on a runtime. Dropped with the runtime, it removes the entry.
struct Tie {
    entry: Weak<Entry>,
    all: Weak<Runtimes>,
}

impl Tie {
    fn made(&self, backend: Arc<dyn Backend>) {
        if let Some(entry) = self.entry.upgrade() {
            let _ = entry.backend.set(backend);
        }
    }

    /// Gives up the connection for now; the runtime continues.
    fn let_go(mut self, state: State) {
        if let Some(entry) = std::mem::take(&mut self.entry).upgrade() {
            *entry.state() = state;
        }
    }
}

impl Drop for Tie {
    fn drop(&mut self) {
        let (Some(entry), Some(all)) = (self.entry.upgrade(), self.all.upgrade()) else { return };
        if thread::panicking() {
            *entry.state() = State::Unfit;
            return;
        }
        let mut entries = all.write().unwrap_or_else(PoisonError::into_inner);
        let gone = entries.iter().position(|e| Arc::ptr_eq(e, &entry)).map(|at| entries.swap_remove(at));
        // Not under the lock: this may drop a connection.
        drop(entries);
        drop(gone);
    }
}
