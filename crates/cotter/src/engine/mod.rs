//! Everything that waits, retries, renews and cleans up: once, for all stores.
//!
//! | file | concept |
//! |---|---|
//! | `thread` | the engine's own thread and runtime |
//! | `core` | what all handles of one client share |
//! | `hold` | one grant as this process believes in it |
//! | `turns` | the local queue of one name |
//! | `slot` | one place in it |
//! | `acquire` | what a newcomer finds, and its place in the queue |
//! | `asking` | the first attempt, in the caller's task |
//! | `joined` | its claim, if it stands in the store's queue |
//! | `place`, `runtimes` | which connection carries a request; the connection of a runtime |
//! | `pulse` | whether the store answers |
//! | `serve` | waiting for the store, on the engine |
//! | `release` | giving back, and passing on inside the process |
//! | `recall` | passing on what a sleeping task does not take |
//! | `downgrade` | from writer to reader |
//! | `renew` | the agenda: renewal and loss, in order of deadline |
//! | `undo` | unknown outcomes and other work in the background |
//! | `report` | tracing events, told from another thread |
//! | `block` | waiting on threads |

mod acquire;
mod asking;
mod block;
mod core;
mod downgrade;
mod hold;
mod joined;
mod place;
mod pulse;
mod recall;
mod release;
mod renew;
mod report;
mod runtimes;
mod serve;
mod slot;
mod thread;
mod turns;
mod undo;

pub(crate) use self::core::{Core, Drift, Settings};
pub(crate) use acquire::{Handle, Wait, Want, acquire};
pub(crate) use block::{block_on, may_block};
pub(crate) use downgrade::downgrade;
pub(crate) use hold::Hold;
pub(crate) use place::crashed;
pub(crate) use release::{Returned, give_back};
pub(crate) use thread::{Engine, IdleState};
pub(crate) use undo::in_background;
