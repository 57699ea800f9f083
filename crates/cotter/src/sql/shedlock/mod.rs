//! ShedLock's table, whatever the database.
//!
//! | file | concept |
//! |---|---|
//! | `holder` | what `locked_by` says |
//! | `rules` | what the table and the protocol allow |

mod holder;
mod rules;

pub(crate) use holder::{mark, parse, text};
pub(crate) use rules::{BATCH, RETRY, STEP, check, digest, info, record};
