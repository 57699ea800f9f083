//! A command under a guard: it runs in a shim, and none of its processes outlives the lock.
//!
//! | file | concept |
//! |---|---|
//! | `launch` | the command to run and its environment; starting its shim |
//! | `child` | the running command, through its shim |
//! | `alone` | a command without a lock |
//! | `shim/` | the process that runs the command, and ends it if this one cannot |
//! | `shims` | all shims of this process, and the orphans of those that were killed |
//! | `wire`, `argv` | the protocol between cotter and a shim; the arguments of the command |
//! | `watch`, `outcome` | waiting until the command has ended or has to be stopped; the outcome |
//! | `grace` | the grace period |
//! | `termination`, `group`, `proc` | ending all processes of the command |
//! | `terminal`, `signals` | the foreground group; signals that are forwarded |
//!
//! One process can run several commands at once, each under its own guard.

mod alone;
mod argv;
mod child;
mod grace;
mod group;
mod launch;
mod outcome;
pub(crate) mod proc;
pub(crate) mod shim;
mod shims;
pub(crate) mod signals;
pub(crate) mod terminal;
mod termination;
mod watch;
mod wire;

pub(crate) use alone::run_alone;
pub(crate) use child::Child;
pub(crate) use grace::Grace;
pub(crate) use launch::{Launch, Streams};
pub(crate) use outcome::{OVERDUE, Outcome, stop};
pub(crate) use shims::reap_as_init;
pub(crate) use watch::{Step, Watch, restore_lease};
