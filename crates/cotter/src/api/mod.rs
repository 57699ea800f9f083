//! What users see: clients, locks, guards and what is made of them.
//!
//! | module | concept |
//! |---|---|
//! | `client`, `lazy`, `builder`, `url` | connecting to a store |
//! | `op`, `request` | an operation as a future |
//! | `mutex`, `rwlock/`, `semaphore/` | locks, each with its guards |
//! | `guard/` | what all guards can do |
//! | `lease`, `signal`, `fence` | how long a lock lasts, its loss, and who rejects a stale holder |
//! | `owner`, `ticket`, `multi/` | re-entry, hand-over, several locks together |
//! | `latch/`, `election/`, `notes` | made of locks and notes |
//! | `admin`, `listing`, `pages`, `pruning`, `trial` | for operators |
//! | `stream` | sequences as streams, with the feature of this name |
//! | `shapes` | which types are `Send`, in tests |

pub(crate) mod admin;
pub(crate) mod builder;
pub(crate) mod client;
pub(crate) mod election;
pub(crate) mod fence;
pub(crate) mod guard;
pub(crate) mod latch;
pub(crate) mod lazy;
pub(crate) mod lease;
pub(crate) mod listing;
pub(crate) mod multi;
pub(crate) mod mutex;
pub(crate) mod notes;
pub(crate) mod op;
pub(crate) mod owner;
pub(crate) mod pages;
pub(crate) mod pruning;
pub(crate) mod request;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod signal;
#[cfg(feature = "stream")]
pub(crate) mod stream;
pub(crate) mod ticket;
pub(crate) mod trial;
pub(crate) mod url;

#[cfg(test)]
mod shapes;
