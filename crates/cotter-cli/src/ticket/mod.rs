//! Locks for scripts that cannot run under `cotter run`: `acquire`, `renew` and `release`.
//!
//! | file | concept |
//! |---|---|
//! | `acquire`, `renew`, `release` | the commands |
//! | `wait` | waiting for the lock |
//! | `text` | the two kinds of tickets as text |
//! | `keeper`, `binding` | a process that keeps a lock for another one; the process that it is bound to |
//! | `kept` | asking a keeper |

mod acquire;
mod binding;
mod keeper;
mod kept;
mod release;
mod renew;
mod text;
mod wait;

pub(crate) use acquire::{Acquire, fail_in_shell, run as acquire};
pub(crate) use release::{Release, run as release};
pub(crate) use renew::{Renew, run as renew};
