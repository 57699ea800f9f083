//! A ZooKeeper server in memory: deterministic, on any clock.
//!
//! It has what cotter uses of ZooKeeper 3.8, and answers as that does, errors included: random requests and whole runs of the
//! simulation are compared with a real server, message by message (`tests/zookeeper_in_memory/`). What it lacks ends in the code
//! of `Unimplemented`, and so does an access list that is not open to everybody.
//!
//! | file | concept |
//! |---|---|
//! | `server` | a server, and what may happen to it |
//! | `state` | what it has, and how a request is carried out |
//! | `connection` | one connection to it |
//! | `requests`, `changes` | the requests in what was received; those that change something |
//! | `jute` | writing and reading records |
//! | `tree`, `paths` | nodes, and how they change; which paths there can be |
//! | `watches` | who is told of a change |
//! | `sessions` | sessions, and when they end |
//! | `steps` | what has happened, step by step |

mod changes;
mod connection;
mod jute;
mod paths;
mod requests;
mod server;
mod sessions;
mod state;
mod steps;
mod tree;
mod watches;

pub use connection::Connection;
pub use jute::{Reader, Writer};
pub use server::{Outgoing, Server};
pub use sessions::Leader;
pub use steps::{Happened, Step};
