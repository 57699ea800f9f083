//! The Redis queue protocol, and in `quorum` the quorum, checked: with every rule in force no path breaks a promise, and for
//! each rule left out the checker finds a path that does.

mod bounds;
mod broken;
mod check;
mod faults;
mod kept;
mod limits;
mod model;
mod process;
mod quorum;
mod reached;
mod rules;
mod server;
mod state;
mod watch;
