//! Throw-away sketches of backends, as an outside crate.
pub mod advisory;
pub mod etcd;
