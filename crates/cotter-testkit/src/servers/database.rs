//! Common to all database servers.

use cotter::Client;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A database server that crashes and comes back, and whose sessions can be ended.
pub trait Database: Debug {
    /// Has it crash, and starts it again, in the same folder, on the same port.
    ///
    /// # Panics
    /// When it does not start.
    fn restart(&mut self);

    /// Ends every session of the user `app`, and says how many there were.
    ///
    /// # Panics
    /// When the server does not answer.
    fn end_sessions(&self) -> usize;

    /// Ends a session of the user `app`, any of them; false if there is none.
    ///
    /// # Panics
    /// When the server does not answer.
    fn end_one_session(&self) -> bool;
}

/// A server that the tests of this process share as long as one of them uses it.
pub(super) struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    /// The one that is in use, or a new one.
    pub(super) fn get(&self, start: impl FnOnce() -> T) -> Arc<T> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(start());
        *shared = Arc::downgrade(&server);
        server
    }
}

/// Creates the tables of a store.
pub(super) fn migrate(url: String) {
    // In a thread of its own, because the caller may be in a runtime already.
    let migrate = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(Client::builder().migrate(url)).expect("the owner may create tables");
    };
    std::thread::scope(|scope| scope.spawn(migrate).join().expect("no panic"));
}
