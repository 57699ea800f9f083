//! Many processes on one store, paused and killed: minutes of runs that mostly wait. A program of its own, which
//! `scripts/test` starts beside the other tests: by the name of the module, which those skip.

mod fleet_runs;
