//! Locks under faults, and the history checker that judges them, as one program: linking one is much faster than linking
//! one per file.
//!
//! | module | concept |
//! |---|---|
//! | `checker` | the history checker, on histories made by hand |
//! | `faults`, `random` | `memory` behind a faulty wrapper: fault by fault, and at random |
//! | `tokens`, `waiters` | tokens and the queue, where nothing fails |
//! | `permits` | semaphores on `memory` and `file:`, and a change of the limit in a rolling deployment |
//! | `quorum` | a majority of stores in memory |
//! | `sleepers` | tasks that stop polling, and stores that stop answering |
//! | `sessions` | stores whose grants live with a session |
//! | `latches`, `elections` | latches whose answers are lost; leaders that are cut off |
//! | `cancel` | every public future, dropped after every poll |
//! | `timing` | the stopwatch that allows for a busy machine |
//! | `file_faults`, `redis_rules` | the rules of one store, each provoked |
//!
//! `../processes` has the runs that need the whole machine.

mod cancel;
mod checker;
mod elections;
mod faults;
mod file_faults;
mod latches;
mod permits;
mod quorum;
mod random;
mod redis_rules;
mod sessions;
mod sleepers;
mod timing;
mod tokens;
mod waiters;
