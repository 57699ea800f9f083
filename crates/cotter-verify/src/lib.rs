//! `cotter verify`: holder processes that contend for locks on a deployment, faults, and the judge of what they believed.
//!
//! The command is arguments for clap, with a `run` of its own. It starts further processes of the program that it is a part of,
//! with hidden arguments: a program that has it has to offer it as `verify`, together with `--quiet`, and to take the
//! store from `COTTER_URL`.
//!
//! | module | concept |
//! |---|---|
//! | `args` | the arguments |
//! | `run/` | a run: processes, what they do, and what is done to them |
//! | `client/` | the protocol of clients, and cotter's own client |
//! | `history/` | what happened |
//! | `judge/` | whether it was right |
//! | `report` | the judgement for people and programs |
//! | `check` | a history from elsewhere |
//! | `plot` | the history as a picture |
//! | `clock` | the clock that all processes share |

mod args;
mod check;
mod client;
mod clock;
pub mod history;
pub mod judge;
mod plot;
mod report;
mod run;

pub use args::{Store, Verify};
