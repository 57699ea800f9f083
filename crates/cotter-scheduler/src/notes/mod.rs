//! The notes in the store.
//!
//! | note | of | written by | file |
//! |---|---|---|---|
//! | `""` | each job's lock | its holder, before a slot starts and after it ends | `state` |
//! | `history-0` … | each job's lock | its holder, after several runs | `history` |
//! | `output-0` … `output-15` | each job's lock | its holder, after a run that failed | `history` |
//! | `group` | the group's name | operators, compare-and-set | `control` |
//! | `control-00` … `control-ff` | the group's name | operators, compare-and-set | `control` |
//! | `one-shots-00` … `one-shots-3f` | the group's name | operators and runners, compare-and-set | `one_shots` |
//! | `jobs-00` … `jobs-ff` | the group's name | runners at their start, compare-and-set | `roster` |
//! | `standby-00` … `standby-ff` | the group's name | runners that stand by, compare-and-set | `standby` |
//! | `hosts-0` … `hosts-f` | the group's name | runners, compare-and-set | `hosts` |
//! | `waits-00` … `waits-0f` | the group's name | runners whose jobs wait, compare-and-set | `waits` |
//! | `log-00` … `log-0f` | the group's name | operators, compare-and-set | `log` |
//!
//! | file | concept |
//! |---|---|
//! | `state`, `run`, `written` | the state of a job; its current or last run; writing it as the holder of its lock |
//! | `history`, `history/read` | the runs of a job that have ended, and the output of failed ones; reading those of several jobs |
//! | `control`, `one_shots` | what operators have asked for; runs that were added for once |
//! | `log` | the last requests, by whom they were made |
//! | `roster` | the jobs that have ever been started |
//! | `standby`, `hosts`, `waits` | the hosts that stand by; the schedulers that run; the jobs that wait for others |
//! | `shown`, `said` | notes that are only shown; those of them that list what is said of jobs |
//! | `shard`, `swap` | the notes over which names are spread; changing a note by compare-and-set |
//! | `changes` | which of several notes have changed |
//! | `instant` | serializing instants |

mod changes;
mod control;
pub(crate) mod history;
pub(crate) mod hosts;
mod instant;
pub(crate) mod log;
pub(crate) mod one_shots;
pub(crate) mod roster;
mod run;
mod said;
mod shard;
mod shown;
pub(crate) mod standby;
mod state;
mod swap;
pub(crate) mod waits;
mod written;

use changes::Changes;
pub(crate) use control::{
    Arguments, Control, GROUP, GroupControl, JobControl, Loaded, Pause, StopRun, edit_group, edit_job,
    load as load_control, load_changed, tell_one_shots,
};
pub use history::Entry;
pub(crate) use one_shots::{Added, OneShotKey};
pub(crate) use run::LastRun;
pub(crate) use state::State;

use crate::{Error, ErrorKind};

/// The error for a note that cannot be parsed.
fn foreign(what: &str, error: &serde_json::Error) -> Error {
    let why = format!(
        "the note with the {what} cannot be parsed ({error}); was it written by another program or version?"
    );
    Error::new(ErrorKind::ForeignNote, why)
}
