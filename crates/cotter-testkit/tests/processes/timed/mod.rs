//! Runs whose history is judged to the tenth of a second; one after the other.

mod crowd;
mod file;
mod quorum;
#[cfg(not(cotter_portable))]
mod sqlite;
