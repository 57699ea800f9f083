//! Many holder processes, paused and killed by plan.
//!
//! | file | concept |
//! |---|---|
//! | `run` | one run, from start to report |
//! | `fleet` | the processes that are alive |
//! | `injector` | what is done to them, and whether it really was |
//! | `trouble` | what is done to the store meanwhile |
//! | `report` | what came of it |

mod fleet;
mod injector;
mod report;
mod run;
mod trouble;

pub use report::{Percentiles, Report};
pub use run::{Injections, Run};
pub use trouble::{NoTrouble, Outcome, Trouble};
