//! Many processes on one store, paused and killed: runs that need the whole machine, because the history checker also
//! judges how long things took. A program of its own, in which they run one after the other.
//!
//! | module | concept |
//! |---|---|
//! | `file` | the file store |
//! | `storm` | a Redis server in trouble |
//! | `replicas` | replicas of a scheduler |
//! | `setup` | what they share |

mod file;
mod replicas;
mod setup;
mod storm;
