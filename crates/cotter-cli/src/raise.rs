//! Ending by a signal, where an exit code is not enough.
//!
//! A shell that runs a script gives up at Ctrl-C only if the program that it waits for has died of the signal: one that
//! exits, with 130 too, has dealt with it.

use crate::exit::{Exit, Share};
use rustix::process::{DumpableBehavior, Signal, getpid, kill_current_process_group, set_dumpable_behavior};

/// Does not come back when this process has to end by a signal.
pub(crate) fn where_it_is_looked_at(exit: Exit) {
    let (signal, share) = match exit {
        Exit::Signalled { signal, share } => (signal, share),
        Exit::Interrupted(signal) => (signal, Share::Cotter),
        _ => return,
    };
    let Some(signal) = typed(signal) else { return };
    // The first process of a container cannot die of a signal of its own.
    if share == Share::Nobody || getpid().is_init() {
        return;
    }
    if share == Share::Group {
        // This process still hears it, so that nothing happens here.
        let _ = kill_current_process_group(signal);
    }
    // QUIT is about the command: nobody wants a core of cotter.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
}

/// Those that a terminal sends to stop what runs.
pub(crate) fn typed(signal: u8) -> Option<Signal> {
    [Signal::INT, Signal::QUIT].into_iter().find(|typed| typed.as_raw() == i32::from(signal))
}
