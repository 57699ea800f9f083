//! Ending by a signal, where an exit code is not sufficient.
//!
//! A shell that runs a script stops at Ctrl-C only if the program that it waits for died of the signal: a program that
//! exits, even with 130, has handled it.

use cotter_console::{Exit, Share};
use rustix::process::{DumpableBehavior, Signal, getpid, kill_current_process_group, set_dumpable_behavior};

/// Ends this process by a signal if its parent depends on that; otherwise returns.
pub(crate) fn if_parent_expects_it(exit: Exit) {
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
        // This process still has a handler for the signal and is not affected.
        let _ = kill_current_process_group(signal);
    }
    // QUIT was meant for the command: no core dump of cotter.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = signal_hook::low_level::emulate_default_handler(signal.as_raw());
}

/// The signals that a terminal sends to end the foreground group.
pub(crate) fn typed(signal: u8) -> Option<Signal> {
    [Signal::INT, Signal::QUIT].into_iter().find(|typed| typed.as_raw() == i32::from(signal))
}
