//! Every other system, with the least that they have in common.

pub(crate) mod alarm;
pub(crate) mod clock;
pub(crate) mod identity;

#[cfg(all(feature = "file", unix))]
pub(crate) mod gate;
#[cfg(all(feature = "file", unix))]
pub(crate) mod holders;
#[cfg(all(feature = "file", unix))]
pub(crate) mod process;
#[cfg(all(feature = "file", unix))]
pub(crate) mod ticket;
#[cfg(all(feature = "file", unix))]
pub(crate) mod watch;
