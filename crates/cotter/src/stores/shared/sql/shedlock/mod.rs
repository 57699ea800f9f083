//! ShedLock's table, whatever the database.
//!
//! | file | concept |
//! |---|---|
//! | `holder` | the text of a holder in `locked_by` |
//! | `requests` | the parts of the contract that do not depend on the database |
//! | `rules` | the limits of the table and the protocol |

mod holder;
mod requests;
mod rules;

pub(crate) use holder::{is_evicted, mark, parse, text};
pub(crate) use requests::{acquire, extend, released};
pub(crate) use rules::{STEP, digest, info, record};
