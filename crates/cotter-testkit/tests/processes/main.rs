//! Many processes on one store, paused and killed.
//!
//! | module | concept |
//! |---|---|
//! | `timed` | runs whose history is judged to the tenth of a second: they need the machine |
//! | `fleet_runs` | runs of minutes: `scripts/test` starts the replicas beside the other tests, and the storm after them |
//! | `enough` | when a run is over |
//! | `setup` | what they share |

mod enough;
mod fleet_runs;
mod setup;
mod timed;
