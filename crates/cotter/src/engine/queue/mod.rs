//! The steps of a task until it has the lock.
//!
//! | file | concept |
//! |---|---|
//! | `acquire` | an acquisition, from the first look to the guard |
//! | `first_try` | the first request, in the caller's task |
//! | `joined` | the claim of that request, if it has joined the store's queue |
//! | `line` | the local queue of one name |
//! | `waiter` | a task in the local queue |
//! | `ask_store` | waiting for the store, on the engine |
//! | `resize` | a change of the limit of a semaphore |
//! | `recall` | passing on a grant that a sleeping task does not take |

pub(crate) mod acquire;
pub(crate) mod ask_store;
pub(crate) mod first_try;
pub(crate) mod joined;
pub(crate) mod line;
pub(crate) mod recall;
pub(crate) mod resize;
pub(crate) mod waiter;
