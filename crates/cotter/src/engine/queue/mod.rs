//! The steps of a task until it has the lock.
//!
//! | file | concept |
//! |---|---|
//! | `acquire`, `entry` | an acquisition, from the first look to the guard; that look |
//! | `attempt` | an acquisition, as observers see it |
//! | `first_try` | the first request, in the caller's task |
//! | `joined` | what that request left in the store, if it got no grant |
//! | `waiting` | the wait of a task in the line |
//! | `ask_store`, `trouble` | waiting for the store, on the engine, and what those that wait are told when it fails |
//! | `resize` | a change of the limit of a semaphore |
//! | `recall` | passing on what is with a task that sleeps |

pub(crate) mod acquire;
pub(crate) mod ask_store;
pub(crate) mod attempt;
mod entry;
pub(crate) mod first_try;
pub(crate) mod joined;
pub(crate) mod recall;
pub(crate) mod resize;
mod trouble;
mod waiting;
