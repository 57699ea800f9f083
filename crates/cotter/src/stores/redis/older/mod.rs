//! The older protocols, `plain` and `getset`: the server has no queue and no counter, so clients poll and make the tokens.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the contract for both, and the steps in which they differ |
//! | `issued` | the tokens and values that this process has issued |
//! | `plain` | `SET NX PX`, compare-and-delete |
//! | `getset`, `expiries` | `SETNX` and `GETSET` of an expiry; renewing expiries |
//! | `member` | being a member of a quorum, in `plain` |
//! | `admin` | listing and evicting |

mod admin;
mod backend;
mod expiries;
mod getset;
mod issued;
mod member;
mod plain;

pub(super) use backend::{Older, millis};
pub(super) use getset::{GetSet, warn as warn_of_getset};
pub(super) use issued::{Holding, Issued};
pub(super) use plain::Plain;
