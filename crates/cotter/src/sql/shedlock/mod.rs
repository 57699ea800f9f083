//! ShedLock's table, whatever the database.
//!
//! | file | concept |
//! |---|---|
//! | `holder` | what `locked_by` says |
//! | `requests` | the parts of the contract that do not depend on the database |
//! | `rules` | what the table and the protocol allow |

mod holder;
mod requests;
mod rules;

pub(crate) use holder::{mark, parse, text};
pub(crate) use requests::{acquire, extend, released};
pub(crate) use rules::{STEP, digest, info, record};
