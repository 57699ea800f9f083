//! Distributed locks for Rust: one API over several stores, an embedded default that needs no server, and one property
//! on all of them: **every guard carries a fencing token and reports, in time, that it is no longer valid.**
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
//! # Which type
//! | task | type |
//! |---|---|
//! | connect to a store | [`Client`]; [`Builder`] for a label, a default lease, a clock; [`LazyClient`] to start while the store is away |
//! | log in with tokens that expire, or with secrets that are no files | `with_password_from` and `with_tls` of each store with a server |
//! | one at a time | [`Mutex`] |
//! | many readers or one writer | [`RwLock`] |
//! | a limited number at a time | [`Semaphore`] |
//! | several locks together, all or none | [`multi`] |
//! | start when others have finished | [`Latch`] |
//! | one leader, known to all | [`Election`] |
//! | choose how long a lock stays held without a sign of life from its holder | [`Lease`] |
//! | stop when the lock is lost | [`Guard::scope`], [`Guard::check`], [`Guard::lost`], [`Guard::expiring`] |
//! | be sure at the end that the lock was held throughout | [`Guard::finish`] |
//! | reject a holder that is not aware of its loss | [`FencingToken`] in a database, [`Fence`] in a process |
//! | re-enter a lock further down the call tree | [`Owner`] |
//! | leave data for the next holder, or for observers | [`Guard::put_note`], [`Client::note`], [`Client::note_changed`] |
//! | hand a lock over to another process | [`Guard::into_ticket`], [`Client::resume`] |
//! | see who holds what, or take a lock away | [`Admin::list`], [`Client::holder`], [`Admin::evict`] |
//! | create the tables of a store, or check how it is set up | [`Builder::migrate`], [`Admin::diagnose`] |
//! | delete the files of names that are no longer used | [`Admin::prune`] |
//! | see in metrics and logs what happens to the locks | [`Builder::observe`], [`Event`] |
//! | write your own store | [`backend`] |
//!
//! # When not to use it
//! - All of the work happens in one database: its transactions and row locks are stronger and cheaper.
//! - The work must never be done twice under any circumstances: no lock with a lease can promise that. Pass the
//!   [fencing token](FencingToken) to the resource and let it reject stale holders ([`Fence`]).
//! - All contenders are tasks of one process: use `tokio::sync::Mutex`.
//!
//! What every store guarantees is in [guarantees.md]. Each store has a page, listed in [stores.md]: its options, what it promises
//! and under which assumptions, and its limits.
//!
//! # Runtimes and threads
//! Every operation is an [`Op`]: a future that any executor can poll, and that a thread without a runtime can
//! [`wait`](Op::wait) for. Renewals, deadlines and clean-up run on one thread per process, `cotter-engine`, however
//! many clients there are, so a busy runtime delays no renewal. A client may be used from several runtimes, and guards
//! may outlive them. A client with its own [clock](Builder::clock) has its own thread.
//!
//! A forked child must connect again: in the child, the guards of its parent are [lost](LossCause::Forked). With `sqlite:`,
//! fork before you connect, and with `file:` and `flock:` before you lock, or let the child `exec`; see [guarantees.md].
//!
//! # Errors
//! There is one error type, [`Error`], with an [`ErrorKind`]. A busy lock is not an error but `None`. A loss is
//! reported as [`Lost`] by the guard, and as [`ErrorKind::Lost`] by operations. [`Error::is_retryable`] tells whether
//! the same call may succeed later, and [`Error::outcome_unknown`] whether the store may have carried it out. Errors
//! never contain passwords.
//!
//! # What can be seen
//! An [observer](Builder::observe) is told of every lock that is acquired, busy, renewed, lost or released, and of outages of the
//! store. Losses and outages are also `tracing` warnings, acquisitions and releases debug events, and renewals are traced, under
//! the target `cotter`; `cotter.acquire` is a debug span around each acquisition. [observability.md] has their fields, the
//! metrics of the feature `metrics`, and alerts.
//!
//! # Testing
//! `memory:` is a complete store. With a [`ManualClock`], a test moves time itself; with [`Builder::in_this_runtime`],
//! tokio's paused time moves it. Clients on clones of one [`memory::Store`] behave like processes that share a store, which
//! [`memory::Faults`] takes away and [`memory::Store::forget`] makes forget a lock. A program that is generic over its locks can construct [`Lost`] and [`Error`] itself.
//!
//! # Features
//! | feature | default | what it adds |
//! |---|---|---|
//! | `file` | yes | locks in a directory of this host: `file:`, `flock:`; not on Windows |
//! | `mysql` | | locks in a MySQL or MariaDB database |
//! | `postgres` | | locks in a PostgreSQL database |
//! | `redis` | | locks in a Redis or Valkey server, or in a majority of several |
//! | `etcd` | | locks in an etcd cluster |
//! | `zookeeper` | | locks in a ZooKeeper ensemble |
//! | `sqlite` | | locks in an SQLite database of this host; Linux only |
//! | `metrics` | | [an observer](Builder::observe) that records metrics, for any exporter of the `metrics` crates |
//! | `serde` | | `Serialize` and `Deserialize` for tokens, names, records, losses and error kinds |
//! | `stream` | | `into_stream` of a [watch](LeaderWatch), of [records](Records) and of a [pruning](Pruning) |
//! | `conformance` | | the test cases that every backend must pass |
//!
//! [observability.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/observability.md
//! [guarantees.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/guarantees.md
//! [stores.md]: https://github.com/cotter-rs/cotter/blob/v0.1.0/docs/stores.md
#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod engine;
mod error;
mod event;
mod join;
mod loss;
mod name;
mod random;
#[cfg(feature = "serde")]
mod serialize;
mod stores;
mod sync;
mod sys;
mod token;

pub mod backend;
pub mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "metrics")]
pub mod metrics;

#[cfg(feature = "etcd")]
pub use stores::etcd;
#[cfg(feature = "file")]
pub use stores::file;
#[cfg(feature = "mysql")]
pub use stores::mysql;
#[cfg(feature = "postgres")]
pub use stores::postgres;
#[cfg(feature = "redis")]
pub use stores::redis;
#[cfg(feature = "server")]
pub use stores::shared::net::Tls;
#[cfg(all(feature = "sqlite", unix))]
pub use stores::sqlite;
#[cfg(feature = "zookeeper")]
pub use stores::zookeeper;
pub use stores::{memory, quorum};

pub use api::admin::Admin;
pub use api::builder::Builder;
pub use api::client::Client;
pub use api::election::{Election, Leader, LeaderState, LeaderWatch, Leadership};
pub use api::fence::{Fence, Stale};
pub use api::guard::{Guard, Released};
pub use api::latch::{Latch, LatchEnd, LatchState};
pub use api::lazy::LazyClient;
pub use api::lease::Lease;
pub use api::listing::Records;
pub use api::multi::{Multi, MultiGuard, multi};
pub use api::mutex::Mutex;
pub use api::op::Op;
pub use api::owner::Owner;
pub use api::pruning::Pruning;
pub use api::rwlock::{ReadGuard, RwLock, WriteGuard};
pub use api::semaphore::{Permit, Semaphore};
pub use api::signal::{Expiring, ExpirySignal, LossSignal};
pub use api::ticket::Ticket;
pub use backend::{
    EvictOrder, Eviction, Filter, Finding, Holder, Info, Level, Mode, Note, PruneOrder, PruneOutcome, Pruned,
    Record, Severity, Votes,
};
pub use clock::ManualClock;
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, EventKind, ReleasedTo};
pub use loss::{LossCause, Lost};
pub use name::Name;
pub use token::FencingToken;

// For short paths inside the crate; users find these in their modules.
pub(crate) use clock::{Clock, Moment, Sleep};
