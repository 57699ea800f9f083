//! Many processes on one store, paused and killed.
//!
//! | module | concept |
//! |---|---|
//! | `timed` | runs whose history is judged to the tenth of a second: they need the machine |
//! | `fleet_runs` | runs that mostly wait, for minutes: `scripts/test` starts them beside the other tests, by this name |
//! | `setup` | what they share |

mod fleet_runs;
mod setup;
mod timed;
