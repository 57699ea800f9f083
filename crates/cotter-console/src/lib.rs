//! What the commands of `cotter` share: how they end, and how they talk to people and to programs.
//!
//! This is a part of the `cotter` command (`cotter-cli`), of its workbench (`cotter-demo`) and of `cotter-verify`, and changes with
//! them. Programs use the library `cotter`.

pub mod boot_clock;
pub mod duration;
mod encoded;
pub mod eviction;
mod exit;
pub mod job;
mod journal;
pub mod lock;
mod output;
pub mod promise;
pub mod requests;
pub mod run;
mod status_line;
mod stop_signals;
pub mod svg;

pub use encoded::encoded;
pub use exit::{Exit, Share};
pub use output::{Console, Failure, chain, clean, created};
pub use status_line::StatusLine;
pub use stop_signals::StopSignals;
