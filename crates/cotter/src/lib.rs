//! Distributed locks for Rust: one API over the stores that teams already run, an embedded default that needs no
//! server, and one property everywhere: **every guard carries a fencing token and says, on time, when it is no longer
//! valid.**
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> cotter::Result<()> {
//! let client = cotter::Client::connect("memory:").await?;
//! let guard = client.mutex("orders:cleanup").lock().await?;
//! tokio::select! {
//!     lost = guard.lost() => eprintln!("stop: {lost}"),
//!     () = clean_up(guard.token()) => {}
//! }
//! guard.finish().await?; // fails if the lock was lost on the way
//! # Ok(()) }
//! # async fn clean_up(_: cotter::FencingToken) {}
//! ```
//!
//! # When not to use it
//! - The work happens in one database anyway: use its transactions and row locks.
//! - The work must never be done twice, whatever happens: no lock with a lease can promise that. Give the
//!   [fencing token](FencingToken) to the resource and let it refuse stale holders ([`Fence`]).
//! - All contenders are tasks of one process: use `tokio::sync::Mutex`.
//!
//! What each store promises, and what that assumes, stands in `docs/guarantees.md`.
//!
//! # Features
//! `file` (default): locks in a directory of this host. `redis`: locks in a Redis or Valkey server. `conformance`: the cases that every backend must pass.

mod builder;
mod client;
mod clock;
mod engine;
mod error;
mod fence;
mod guard;
mod lease;
mod listing;
mod loss;
mod mutex;
mod name;
mod notes;
mod op;
mod owner;
mod request;
mod rwlock;
mod signal;
mod sync;
mod sys;
mod token;
mod url;

pub mod backend;
pub mod memory;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(all(feature = "file", unix))]
pub mod file;
#[cfg(all(feature = "file", not(unix)))]
#[path = "file/unsupported.rs"]
pub mod file;
#[cfg(feature = "redis")]
pub mod redis;

pub use backend::{
    ClaimId, EvictOrder, Eviction, Filter, Finding, Holder, Info, Level, Mode, Note, Record, Session,
    Severity,
};
pub use builder::Builder;
pub use client::Client;
pub use clock::{Clock, Idle, ManualClock, Moment, Sleep};
pub use error::{Error, ErrorKind, Result};
pub use fence::{Fence, Stale};
pub use guard::{Guard, Released};
pub use lease::Lease;
pub use listing::Records;
pub use loss::{LossCause, Lost};
pub use mutex::Mutex;
pub use name::Name;
pub use op::Op;
pub use owner::Owner;
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use signal::{Expiring, ExpirySignal, LossSignal};
pub use token::FencingToken;
