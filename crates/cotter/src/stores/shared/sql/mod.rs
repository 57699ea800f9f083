//! The components that the stores in databases share.
//!
//! | file | concept |
//! |---|---|
//! | `created` | what the statements of a schema create |
//! | `identifier` | names of schemas and tables |
//! | `mode` | the options `mode`, `table` and `column` |
//! | `options` | the options that all stores with a database server have |
//! | `missing` | the error for missing tables |
//! | `reads` | whether what was written is read back at once |
//! | `boot` | from which boot of a machine the moments in a row count |
//! | `row` | the row of a name: it is read, worked out, and replaced unless it has changed |
//! | `text` | a lock as the text of a row |
//! | `shedlock` | ShedLock's table |
//! | `sessions` | locks that live with a session |

#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
mod boot;
#[cfg(any(feature = "postgres", feature = "mysql", all(feature = "sqlite", unix)))]
mod created;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod identifier;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod missing;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod mode;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod options;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod reads;
#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
mod row;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod sessions;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) mod shedlock;
#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
mod text;

#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
pub(crate) use boot::Boot;
#[cfg(any(feature = "postgres", feature = "mysql", all(feature = "sqlite", unix)))]
pub(crate) use created::created;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use identifier::identifier;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use missing::missing;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use mode::{Mode, Table, quoted};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use options::Options;
#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
pub(crate) use row::{FORGET_PERIOD, REMEMBERED, Row, TRIES, contended, grant, record};
#[cfg(feature = "mysql")]
pub(crate) use text::{ALONE, alone, write};
#[cfg(any(feature = "mysql", all(feature = "sqlite", unix)))]
pub(crate) use text::{AskText, Asks, keeps_place};
