//! Linux.

pub(crate) mod alarm;
pub(crate) mod clock;
pub(crate) mod identity;

#[cfg(feature = "file")]
pub(crate) mod gate;
#[cfg(feature = "file")]
pub(crate) mod holders;
#[cfg(feature = "file")]
pub(crate) mod process;
#[cfg(feature = "file")]
pub(crate) mod ticket;
#[cfg(feature = "file")]
pub(crate) mod watch;
