//! The protocol of clients, and cotter's own client.
//!
//! | file | concept |
//! |---|---|
//! | `words` | the lines of the protocol |
//! | `own` | a process that holds cotter's locks |
//! | `foreign` | a process that becomes another program |

mod foreign;
mod own;
mod words;

pub(crate) use foreign::{Foreign, become_foreign};
pub(crate) use own::{Holder, acquire, hold};
pub(crate) use words::{Answer, ask};

use cotter_console::{Exit, Failure};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::env;

/// The number of the process that starts clients.
const PARENT: &str = "COTTER_VERIFY_PARENT";

/// What a client is told about the process that starts it.
pub(crate) fn parent() -> (String, String) {
    (PARENT.to_owned(), getpid().as_raw_nonzero().to_string())
}

/// Ends this process with the one that started it, however that ends.
pub(crate) fn end_with_parent() -> Result<(), Failure> {
    let failure =
        |why: &str| Failure::new(Exit::System, format!("cannot end with the parent process: {why}"));
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| failure(&e.to_string()))?;
    // It may have ended before it could be asked for.
    let now = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    match env::var(PARENT).is_ok_and(|parent| now != Some(parent)) {
        true => Err(failure("it has ended already")),
        false => Ok(()),
    }
}
