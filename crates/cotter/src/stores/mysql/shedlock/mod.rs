//! ShedLock's table and columns: for the names of schedulers in Java that use ShedLock on the same database.
//!
//! A name is free when it has no row, or its `lock_until` has passed by the clock of the server. Rows are never deleted: a process
//! of ShedLock remembers those that it has inserted, and only updates them. `locked_by` is all that a release or an extension compares,
//! so each claim has its own. The server has no queue: waiters ask again and again.
//!
//! The columns may be `TIMESTAMP`. ShedLock stores a reading of UTC there as if it were one of the session's time zone, so that a
//! session in another zone reads another time. No session changes its zone here, because then it would be another one than that of
//! the sessions of ShedLock.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the contract |
//! | `statements` | the statements |
//! | `steps` | running them |
//! | `admin`, `doctor` | listing and evicting; diagnosing the table |

mod admin;
mod backend;
mod doctor;
mod statements;
mod steps;

pub(super) use backend::ShedLock;
