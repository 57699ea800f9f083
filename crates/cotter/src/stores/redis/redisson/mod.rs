//! Redisson's locks: the same keys, fields, channels and messages as those of the library for Java, so that both exclude and wake
//! each other.
//!
//! | file | concept |
//! |---|---|
//! | `recipe` | which of Redisson's locks a name is |
//! | `names` | the keys, channels and owners that Redisson expects |
//! | `backend` | the contract |
//! | `acquire`, `renewal`, `release` | acquire requests; extending grants; releasing |
//! | `waiting` | waiting for the message of a release |
//! | `fair` | the line of a fair lock |
//! | `permits` | the permits of a semaphore |
//! | `look`, `admin` | what is in a lock's key; listing and evicting |
//! | `lua/` | the atomic steps |

mod acquire;
mod admin;
mod backend;
mod fair;
mod look;
mod names;
mod permits;
mod recipe;
mod release;
mod renewal;
mod waiting;

pub(super) use backend::Redisson;
pub(super) use names::Uuid;
pub use recipe::Recipe;
