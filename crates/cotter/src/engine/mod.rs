//! Everything that waits, retries, renews and cleans up: once, for all stores.
//!
//! | file | concept |
//! |---|---|
//! | `thread` | the engine's own thread and runtime |
//! | `core` | what all handles of one client share |
//! | `queue/` | what a task of this process goes through until it has the lock |
//! | `grant/` | what becomes of a grant: renewal, loss, release |
//! | `route`, `runtimes` | which connection carries a request; the connection of a runtime |
//! | `tasks` | what backends run on the engine |
//! | `pulse` | whether the store answers |
//! | `report` | tracing events, told from another thread |
//! | `timing` | every length of time |
//! | `block` | waiting on threads |

mod block;
mod core;
mod grant;
mod pulse;
mod queue;
mod report;
mod route;
mod runtimes;
mod tasks;
mod thread;
pub(crate) mod timing;

pub(crate) use self::core::{Core, Drift, Settings};
pub(crate) use block::{block_on, may_block};
pub(crate) use grant::downgrade::downgrade;
pub(crate) use grant::hold::Hold;
pub(crate) use grant::release::{Returned, give_back};
pub(crate) use grant::undo::in_background;
pub(crate) use queue::acquire::{Handle, Request, Wait, acquire};
pub(crate) use route::crashed;
#[cfg(feature = "conformance")]
pub(crate) use tasks::Tasks;
pub(crate) use thread::Engine;
