//! What the commands of `cotter` share: how they end, and how they talk to people and to programs.
//!
//! This is a part of the `cotter` command (`cotter-cli`) and of its workbench (`cotter-demo`), and changes with them. Programs
//! use the library `cotter`.

pub mod boot_clock;
pub mod duration;
mod encoded;
mod exit;
mod journal;
mod output;
mod status_line;

pub use encoded::encoded;
pub use exit::{Exit, Share};
pub use output::{Console, Failure, chain, clean};
pub use status_line::StatusLine;
