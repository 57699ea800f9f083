//! A command under a guard: it runs in a shim, and nothing of it outlives the lock.
//!
//! | file | concept |
//! |---|---|
//! | `launch` | the command and what it gets; starting its shim |
//! | `child` | the running command, by way of its shim |
//! | `shim/` | the process that runs the command and ends it when this one cannot |
//! | `shims` | all shims of this process, and the orphans of those that were killed |
//! | `wire`, `words` | what cotter and a shim say to each other; the command's words |
//! | `watch`, `end` | until the command has ended or has to; how it came to that |
//! | `grace` | how much time it gets |
//! | `ending`, `group`, `proc`, `boot` | ending all that came of it |
//! | `terminal`, `signals` | who reads from the terminal; signals that are passed on |
//!
//! One process can run several commands at once, each under a guard of its own.

pub(crate) mod boot;
mod child;
mod end;
mod ending;
mod grace;
mod group;
mod launch;
pub(crate) mod proc;
pub(crate) mod shim;
mod shims;
pub(crate) mod signals;
pub(crate) mod terminal;
mod watch;
mod wire;
mod words;

pub(crate) use child::Child;
pub(crate) use end::{End, stop};
pub(crate) use grace::Grace;
pub(crate) use launch::Launch;
pub(crate) use shims::reap_as_init;
pub(crate) use watch::{Step, Watch, make_whole};
