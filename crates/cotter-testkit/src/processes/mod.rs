//! Many holder processes, paused and killed by plan.
//!
//! | file | concept |
//! |---|---|
//! | `run` | one run, from start to report |
//! | `fleet` | the processes that are alive |
//! | `injector` | what is done to them, and whether it really was |
//! | `trouble` | what is done to the store meanwhile |
//! | `enough` | whether it may be over |
//! | `report` | what came of it |

mod enough;
mod fleet;
mod injector;
mod report;
mod run;
mod trouble;

pub use report::{Percentiles, Report};
pub use run::{Injections, Run};
pub use trouble::{NoTrouble, Outcome, Trouble};
