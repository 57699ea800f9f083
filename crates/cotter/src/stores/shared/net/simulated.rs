//! A network that a simulation puts in the place of the system's, for the connections of its thread.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::DuplexStream;

/// A network of servers that are simulated.
pub trait Network: fmt::Debug + Send + Sync {
    /// Connects to what has this address.
    fn connect(&self, host: &str, port: u16) -> Connecting;
}

/// A connection that is being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<DuplexStream>> + Send>>;

thread_local! {
    static NETWORK: RefCell<Option<Arc<dyn Network>>> = const { RefCell::new(None) };
}

/// From now on, connections without TLS that this thread opens lead into this network; into the system's again after `None`.
pub fn connect_through(network: Option<Arc<dyn Network>>) {
    NETWORK.with_borrow_mut(|current| *current = network);
}

/// Whether there is one.
pub(crate) fn is_simulated() -> bool {
    NETWORK.with_borrow(Option::is_some)
}

/// The connection to this address, if there is one.
pub(crate) fn connect(host: &str, port: u16) -> Option<Connecting> {
    NETWORK.with_borrow(|network| Some(network.as_ref()?.connect(host, port)))
}
