//! ShedLock's table and columns: for the names of schedulers in Java that use ShedLock on the same database.
//!
//! A name is free when it has no row, or its `lock_until` has passed by the clock of the database. Rows are never deleted: a process
//! of ShedLock remembers those that it has inserted, and only updates them. `locked_by` is all that a release or an extension compares,
//! so each claim has its own. The server has no queue: waiters ask again and again.
//!
//! | file | concept |
//! |---|---|
//! | `backend` | the contract |
//! | `statements` | the statements |
//! | `admin` | listing and evicting |
//! | `columns` | the types of the columns |

mod admin;
mod backend;
mod columns;
mod statements;

pub(super) use backend::ShedLock;
pub(super) use columns::check;
