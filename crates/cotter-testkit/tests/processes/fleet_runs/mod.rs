//! Runs of a fleet. Those whose history is also judged by how long things took run one after the other.
//!
//! | file | concept |
//! |---|---|
//! | `file` | the file store |
//! | `storm` | a Redis server in trouble |
//! | `replicas` | replicas of a scheduler |
//! | `setup` | what they share |

mod file;
mod replicas;
mod setup;
mod storm;
